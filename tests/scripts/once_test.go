package scripts

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// A shout has a wire form of its own, and so has a heard.
type shout struct{ Word string }

func (s shout) EncodeToolArguments() (any, error) {
	if s.Word == "" {
		return nil, errors.New("there is nothing to shout")
	}
	return map[string]any{"word": strings.ToUpper(s.Word)}, nil
}

type heard struct{ Word string }

func (h *heard) DecodeToolResult(result *mcp.CallToolResult) error {
	var wire struct{ Word string }
	err := json.Unmarshal([]byte(failure.Text(result)), &wire)
	h.Word = "heard " + wire.Word
	return err
}

// once begins a workflow that makes a single call.
func once[Out any](b *bundle, options stateless.Options, tool string, in any) fixture.Running[seen] {
	b.Helper()
	options.Server = "server"
	return fixture.Begin(b.Bundle, func(ctx workflow.Context) (seen, error) {
		out, err := stateless.CallOnce[Out](ctx, options, tool, in)
		if err != nil {
			return saw(nil, err), nil
		}
		raw, err := json.Marshal(out)
		return saw(raw, nil), err
	})
}

// A single call opens, calls and closes, in one activity: the next one finds nothing of
// it, whatever the server's version of MCP is. Its types encode and decode themselves.
func TestCallOnce(t *testing.T) {
	t.Parallel()
	for name, connect := range map[string]func(*bundle) transport.Connector{
		"stdio": func(b *bundle) transport.Connector { return overStdio(b.TaskQueue) },
		"HTTP":  func(b *bundle) transport.Connector { return b.overHTTP() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker(b.counted(connect(b)))
			for i := range 2 {
				run := once[int](b, stateless.Options{}, fixture.Incr, nil)
				if s := run.Result(); string(s.Out) != "1" {
					t.Errorf("the call saw %+v", s)
				}
				b.WantAttempts(run, 1)
				b.wantLines("connects", i+1)
			}
			b.Eventually("the servers are gone", func() bool { return len(b.Processes()) == 0 })
			if s := once[heard](b, stateless.Options{}, fixture.Echo, shout{"tea"}).Result(); string(s.Out) != `{"Word":"heard TEA"}` {
				t.Errorf("the call saw %+v", s)
			}
			if s := once[heard](b, stateless.Options{}, fixture.Echo, shout{}).Result(); !strings.Contains(s.Message, "nothing to shout") {
				t.Errorf("the call saw %+v", s)
			}
			b.want(once[string](b, stateless.Options{}, fixture.Fail, nil).Result(), failure.TypeTool, "", failure.RanYes)
			b.wantLines("connects", 4)
		})
	}
}

// A connection that can't be opened is tried again three times; a tool runs at most
// once.
func TestCallOnceOpening(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		failures int32
		err      error
		attempt  int32
		reason   failure.Reason
	}{
		"at the last attempt": {3, errors.New("not yet"), 4, ""},
		"never":               {1000, errors.New("not yet"), 4, failure.ReasonConnect},
		"for good":            {1000, transport.Permanent("no-license", errors.New("the license is over")), 1, "no-license"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker(session.Server{Name: "server", Connect: fixture.Failing(test.failures, test.err, overStdio(b.TaskQueue))})
			run := once[string](b, stateless.Options{}, fixture.Append, fixture.AppendArguments{File: b.File("effects"), Line: "ran"})
			s := run.Result()
			effects := 0
			if test.reason == "" {
				if effects = 1; string(s.Out) != `"ran"` {
					t.Errorf("the call saw %+v", s)
				}
			} else {
				b.want(s, failure.TypeOpen, test.reason, failure.RanNo)
			}
			b.wantLines("effects", effects)
			b.WantAttempts(run, test.attempt)
		})
	}
}

// A tool whose server dies before it answers has run once, and its outcome is unknown.
func TestCallOnceLosesItsAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.stdio())
	run := once[string](b, stateless.Options{}, fixture.Append, fixture.AppendArguments{File: b.File("effects"), Line: "ran", Exit: true})
	b.want(run.Result(), failure.TypeCall, failure.ReasonServerGone, failure.RanUnknown)
	b.wantLines("effects", 1)
	b.WantAttempts(run, 1)
}

// The bounds of a single call: for its connection, in the place of the server's, and
// for its request.
func TestCallOnceTimeouts(t *testing.T) {
	t.Parallel()
	slow := func(b *bundle) transport.Connector {
		connect := overStdio(b.TaskQueue)
		return func(ctx context.Context, argument transport.Argument) (mcp.Transport, error) {
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-time.After(3 * time.Second):
				return connect(ctx, argument)
			}
		}
	}
	for name, test := range map[string]struct {
		servers time.Duration
		options stateless.Options
		tool    string
		kind    string
		reason  failure.Reason
		ran     failure.ToolRan
	}{
		"a shorter one to connect": {time.Minute, stateless.Options{ConnectTimeout: time.Second}, fixture.Get, failure.TypeOpen, failure.ReasonConnectTimeout, failure.RanNo},
		"a longer one to connect":  {time.Second, stateless.Options{ConnectTimeout: time.Minute}, fixture.Get, "", "", failure.RanYes},
		"to call":                  {time.Minute, stateless.Options{CallTimeout: time.Second}, fixture.Block, failure.TypeCall, failure.ReasonCallTimeout, failure.RanUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			s := b.counted(slow(b))
			s.ConnectTimeout = test.servers
			b.worker(s)
			test.options.Operation.RetryPolicy = fast
			b.want(once[string](b, test.options, test.tool, fixture.BlockArguments{}).Result(), test.kind, test.reason, test.ran)
		})
	}
}

// With ConnectTimeout, a call waits no longer than that for a connection that others
// share; its opening goes on for those.
func TestSharedConnectTimeout(t *testing.T) {
	t.Parallel()
	b := setup(t)
	connect := overStdio(b.TaskQueue)
	b.worker(b.counted(func(ctx context.Context, argument transport.Argument) (mcp.Transport, error) {
		b.Eventually("it may connect", func() bool { return len(fixture.Lines(b.File("until"))) > 0 })
		return connect(ctx, argument)
	}))
	call := func(options stateless.Options) fixture.Running[seen] {
		options.Server, options.Operation.RetryPolicy = "server", fast
		return fixture.Begin(b.Bundle, func(ctx workflow.Context) (seen, error) {
			c, err := stateless.New(ctx, options)
			if err != nil {
				return seen{}, err
			}
			_, err = c.CallTool(ctx, fixture.Get, nil)
			return saw(nil, err), nil
		})
	}
	patient := call(stateless.Options{})
	b.awaitLines("connects", 1)
	b.want(call(stateless.Options{ConnectTimeout: time.Second}).Result(), failure.TypeOpen, failure.ReasonConnectTimeout, failure.RanNo)
	b.touch("until")
	b.want(patient.Result(), "", "", failure.RanYes)
	b.wantLines("connects", 1)
}
