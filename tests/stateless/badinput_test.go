package stateless

import (
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// What makes no sense is an error that names it, before anything is scheduled.
func TestBadInput(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(session.Options{})
	for name, test := range map[string]struct {
		options stateless.Options
		use     func(workflow.Context, *stateless.Client) error
		want    string
	}{
		"a server's name":    {options: stateless.Options{Server: "a b"}, want: "' '"},
		"TaskQueue":          {options: stateless.Options{Operation: workflow.ActivityOptions{TaskQueue: "q"}}, want: "Options.Operation.TaskQueue"},
		"a tool's TaskQueue": {options: stateless.Options{Tools: map[string]workflow.ActivityOptions{"x": {TaskQueue: "q"}}}, want: `Options.Tools["x"].TaskQueue`},
		"ActivityID":         {options: stateless.Options{Operation: workflow.ActivityOptions{ActivityID: "a"}}, want: "ActivityID"},
		"CallTimeout":        {options: stateless.Options{CallTimeout: -1}, want: "CallTimeout"},
		"ToolTimeouts":       {options: stateless.Options{ToolTimeouts: map[string]time.Duration{"x": -1}}, want: "ToolTimeouts"},
		"StartToClose":       {options: stateless.Options{Operation: workflow.ActivityOptions{StartToCloseTimeout: time.Second}}, want: "below the call timeout"},
		"HeartbeatTimeout":   {options: stateless.Options{Operation: workflow.ActivityOptions{HeartbeatTimeout: time.Millisecond}}, want: "HeartbeatTimeout"},
		"RetryPolicy":        {options: stateless.Options{Operation: workflow.ActivityOptions{RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: -1}}}, want: "MaximumAttempts"},
		"Argument":           {options: stateless.Options{Argument: make(chan int)}, want: "chan int"},
		"a large Argument":   {options: stateless.Options{Argument: strings.Repeat("x", 3<<20)}, want: "Options.Argument has"},
		"no tool": {use: func(ctx workflow.Context, c *stateless.Client) error {
			_, err := c.CallTool(ctx, "", nil)
			return err
		}, want: "name is empty"},
		"arguments": {use: func(ctx workflow.Context, c *stateless.Client) error {
			return c.CallToolAsync(ctx, "x", []int{1}).Get(ctx, nil)
		}, want: "not to a JSON object"},
		"large arguments": {use: func(ctx workflow.Context, c *stateless.Client) error {
			_, err := c.CallTool(ctx, "x", map[string]any{"x": strings.Repeat("x", 3<<20)})
			return err
		}, want: "at most"},
		"no prompt": {use: func(ctx workflow.Context, c *stateless.Client) error {
			_, err := c.GetPrompt(ctx, "", nil)
			return err
		}, want: "prompt's name is empty"},
		"no URI": {use: func(ctx workflow.Context, c *stateless.Client) error {
			_, err := c.ReadResource(ctx, "")
			return err
		}, want: "URI is empty"},
		"no Ref": {use: func(ctx workflow.Context, c *stateless.Client) error {
			_, err := c.Complete(ctx, &mcp.CompleteParams{})
			return err
		}, want: "Ref"},
		"a query": {use: func(ctx workflow.Context, c *stateless.Client) error {
			var err error
			workflow.SideEffect(ctx, func(ctx workflow.Context) any {
				_, err = c.CallTool(ctx, "x", nil)
				return nil
			})
			return err
		}, want: "side effect"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := fixture.Begin(b.Bundle, func(ctx workflow.Context) (string, error) {
				options := test.options
				if options.Server == "" {
					options.Server = "server"
				}
				c, err := stateless.New(ctx, options)
				if err == nil && test.use != nil {
					err = test.use(ctx, c)
				}
				if err == nil {
					return "no error", nil
				}
				return err.Error(), nil
			})
			if got := run.Result(); !strings.Contains(got, test.want) || !strings.Contains(got, "stateless: ") {
				t.Errorf("the error is %q, want one with %q", got, test.want)
			}
			if a := b.Activities(run); len(a) != 0 {
				t.Errorf("activities were scheduled: %+v", a)
			}
		})
	}
}

// A worker that does not know the server, and a queue that no worker polls, are told
// as what they are; no tool ran.
func TestNobodyServes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(session.Options{})
	b.want(do(b, stateless.Options{}, once(fixture.Get, nil)), failure.TypeOpen, failure.ReasonUnknownServer, failure.RanNo)
	b.want(do(b, stateless.Options{TaskQueue: b.Hosts(), Operation: workflow.ActivityOptions{ScheduleToStartTimeout: time.Second}}, once(fixture.Get, nil)),
		failure.TypeOpen, failure.ReasonNoHost, failure.RanNo)
}
