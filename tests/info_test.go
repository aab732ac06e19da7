package tests

import (
	"testing"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
)

// opened starts a worker whose workflow opens a block, takes its Info and closes
// it, and returns that.
func (b *bundle) opened(options worker.Options, server session.Server) (info toolset.Info, session, operation *recorded) {
	b.Helper()
	b.worker(options, func(ctx workflow.Context) (info toolset.Info, err error) {
		err = toolset.With(ctx, toolset.Options{Server: server.Name}, func(_ workflow.Context, ts *toolset.Toolset) error {
			info = ts.Info()
			return nil
		})
		return info, err
	}, server)
	run := b.start()
	if err := run.Get(b.ctx, &info); err != nil {
		b.Fatal(err)
	}
	sessions := b.activities(run, "mcp."+server.Name+".session")
	operations := b.activities(run, "mcp."+server.Name+".session-info")
	if len(sessions) != 1 || len(operations) != 1 {
		b.Fatalf("the history has %d session activities and %d questions for them", len(sessions), len(operations))
	}
	return info, sessions[0], operations[0]
}

// Info tells what was negotiated and who holds the session: the version that has
// sessions, the server's own name, the identity under which the worker shows up
// in the history. A server over stdio has no session id.
func TestInfoTellsOfTheSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	info, opener, operation := b.opened(worker.Options{}, stdio("counter"))
	if info.Server != "counter" || info.Instance == "" || info.HasSessionID {
		t.Errorf("server %q, instance %q, has a session id: %v", info.Server, info.Instance, info.HasSessionID)
	}
	if got := operation.GetTaskQueue().GetName(); info.TaskQueue != got {
		t.Errorf("Info names the task queue %q, the operations went to %q", info.TaskQueue, got)
	}
	if got := opener.started.GetIdentity(); info.Host != got {
		t.Errorf("Info names the host %q, the history %q", info.Host, got)
	}
	initialize := info.Initialize
	if initialize == nil || initialize.ServerInfo == nil || initialize.Capabilities == nil {
		t.Fatalf("the server's answer to the handshake is missing: %+v", initialize)
	}
	if initialize.ProtocolVersion != "2025-11-25" || initialize.ServerInfo.Name != "fixture" || initialize.ServerInfo.Version != "1" {
		t.Errorf("negotiated %s with %s %s", initialize.ProtocolVersion, initialize.ServerInfo.Name, initialize.ServerInfo.Version)
	}
	if initialize.Capabilities.Tools == nil {
		t.Error("the server's capabilities are missing")
	}
}

// A worker's own identity is the host's name, and that of its dedicated workers.
func TestInfoNamesTheWorkersIdentity(t *testing.T) {
	t.Parallel()
	b := setup(t)
	info, opener, operation := b.opened(worker.Options{Identity: "host-seven"}, stdio("counter"))
	for _, got := range []string{info.Host, opener.started.GetIdentity(), operation.started.GetIdentity()} {
		if got != "host-seven" {
			t.Errorf("the host is called %q", got)
		}
	}
}

// So is a client's own identity where the worker has none.
func TestInfoNamesTheClientsIdentity(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.client = b.dial(func(o *client.Options) { o.Identity = "fleet-nine" })
	info, opener, operation := b.opened(worker.Options{}, stdio("counter"))
	for _, got := range []string{info.Host, opener.started.GetIdentity(), operation.started.GetIdentity()} {
		if got != "fleet-nine" {
			t.Errorf("the host is called %q", got)
		}
	}
}
