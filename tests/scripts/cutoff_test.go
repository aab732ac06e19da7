package scripts

import (
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/tests/link"
	"github.com/mcpsession/mcpsession/toolset"
)

// Once a script's context has ended nothing that the script asks for reaches the
// server, whatever context it gives.
func TestCallsAfterTheContext(t *testing.T) {
	t.Parallel()
	for _, where := range places {
		t.Run(string(where), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker(b.stdio())
			s := b.run(where, toolset.ScriptOptions{Timeout: time.Second}, scriptAct, b.act("persist")).Result()
			b.want(s, failure.TypeCall, failure.ReasonCallTimeout, failure.RanUnknown)
			b.wantLines("began", 0)
			err, _ := late.Load(b.File("begun"))
			if d, ok := failure.Call(err.(error)); !ok || d.Reason != failure.ReasonCallTimeout || d.ToolRan != failure.RanNo {
				t.Errorf("a late call failed with %v", err)
			}
		})
	}
}

// A host that is cut off from the Temporal server while it reaches its MCP server as
// ever ends its script before anybody else may begin it: the heartbeats that get no
// answer tell it, and nobody else does.
func TestHostIsCutOff(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		where      place
		repeatable bool
	}{"own session": {where: own}, "repeatable": {where: own, repeatable: true}, "in a block": {where: inBlock}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker()
			l := b.hostFar(b.stdio())
			options := toolset.ScriptOptions{TaskQueue: b.Hosts(), Activity: patient, Repeatable: test.repeatable}
			// Polls of the host that is cut off take attempts with them.
			options.Activity.RetryPolicy = unlimited
			run := b.run(test.where, options, scriptAct, b.act("go on"))
			b.awaitLines("began", 10)
			cut := time.Now()
			l.Cut()
			if test.repeatable {
				b.Host(session.Options{Servers: []session.Server{b.stdio()}})
				b.awaitLines("begun", 2)
				b.Eventually("there is one server", func() bool { return len(b.Processes()) <= 1 })
				if d := time.Since(cut); d > time.Minute {
					t.Errorf("two servers ran until %v after the cut", d)
				}
				if err := b.Client.CancelWorkflow(b.Ctx, run.GetID(), run.GetRunID()); err != nil {
					t.Fatal(err)
				}
				if s := run.Result(); !s.Canceled {
					t.Errorf("the workflow saw %+v", s)
				}
				return
			}
			s := run.Result()
			if s.Details.Reason != failure.ReasonHostLost || s.Ran != failure.RanUnknown {
				t.Errorf("the workflow saw %+v", s)
			}
			if len(b.Processes()) > 0 {
				b.Eventually("the server is gone, with nobody telling", func() bool { return len(b.Processes()) == 0 })
			}
			if d := time.Since(cut); d > time.Minute {
				t.Errorf("the server was gone after %v", d)
			}
			b.wantLines("begun", 1)
		})
	}
}

// hostFar starts a host behind a link.
func (b *bundle) hostFar(of session.Server) *link.Link {
	b.Helper()
	l, err := link.Start(server.Address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(l.Close)
	c := fixture.Dial(b, b.Ctx, server, func(o *client.Options) { o.HostPort = l.Address() })
	w := worker.New(c, b.Hosts(), worker.Options{
		Plugins: []worker.Plugin{b.Plugin(session.Options{Servers: []session.Server{of}})}, DisableWorkflowWorker: true,
	})
	if err := w.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(w.Stop)
	b.Cleanup(l.Mend) // before the worker stops
	return l
}
