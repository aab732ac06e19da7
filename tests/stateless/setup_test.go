package stateless

import (
	"testing"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// testTimeout bounds every test: a hang is a failure, told by name.
const testTimeout = 3 * time.Minute

// A bundle is what one test has to itself.
type bundle struct{ *fixture.Bundle }

func setup(t *testing.T) *bundle {
	t.Helper()
	return &bundle{fixture.Setup(t, server, testTimeout, nil)}
}

// worker starts a worker that runs the test's workflows, and serves what the options
// name, if anything.
func (b *bundle) worker(options session.Options) worker.Worker {
	b.Helper()
	var o worker.Options
	if options.Servers != nil {
		o.Plugins = []worker.Plugin{b.Plugin(options)}
	}
	return b.StartWorker(b.NewWorker(o))
}

// begin starts a workflow with a client of these options.
func begin[T any](b *bundle, options stateless.Options, body func(workflow.Context, *stateless.Client) (T, error)) fixture.Running[T] {
	b.Helper()
	if options.Server == "" {
		options.Server = "server"
	}
	return fixture.Begin(b.Bundle, func(ctx workflow.Context) (result T, err error) {
		c, err := stateless.New(ctx, options)
		if err != nil {
			return result, err
		}
		return body(ctx, c)
	})
}

// do runs a workflow and returns what it returned.
func do[T any](b *bundle, options stateless.Options, body func(workflow.Context, *stateless.Client) (T, error)) T {
	b.Helper()
	return begin(b, options, body).Result()
}

// A seen is what a workflow saw of a call.
type seen struct {
	Text    string
	IsError bool
	fixture.Outcome
}

// call calls a tool.
func call(ctx workflow.Context, c *stateless.Client, tool string, arguments any) seen {
	result, err := c.CallTool(ctx, tool, arguments)
	if err != nil {
		return sawFailure(err)
	}
	return seen{Text: fixture.Text(result), IsError: result.IsError, Outcome: fixture.OutcomeOf(nil)}
}

func sawFailure(err error) seen { return seen{Outcome: fixture.OutcomeOf(err)} }

// once is a workflow that makes one call.
func once(tool string, arguments any) func(workflow.Context, *stateless.Client) (seen, error) {
	return func(ctx workflow.Context, c *stateless.Client) (seen, error) {
		return call(ctx, c, tool, arguments), nil
	}
}

// want fails the test unless a failure is of this type, reason and outcome.
func (b *bundle) want(s seen, failureType string, reason failure.Reason, ran failure.ToolRan) {
	b.Helper()
	s.Want(b, failureType, reason, ran)
}
