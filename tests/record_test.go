package tests

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/replaytests/workflows"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

var record = flag.Bool("record", false, "record the histories of replaytests again")

// The workflows of replaytests run as they are recorded; with -record their
// histories replace the recorded ones.
func TestRecordHistories(t *testing.T) {
	b := setup(t)
	b.client = recorder(b)
	// By a bare name, so that no recorded failure has the path of a machine.
	programs := t.TempDir()
	if err := os.Symlink(executable(t), filepath.Join(programs, "counter")); err != nil {
		t.Fatal(err)
	}
	w := b.worker(worker.Options{Identity: "recorder"}, nil, session.Server{
		Name: workflows.Server,
		Connect: transport.CommandWithOptions(transport.CommandOptions{
			Env: []string{roleVariable + "=mcp", "PATH=" + programs},
		}, "counter"),
	})
	workflows.Register(w)
	for _, recorded := range workflows.All {
		run, err := b.client.ExecuteWorkflow(b.ctx, client.StartWorkflowOptions{
			TaskQueue: b.taskQueue, ID: "replaytests-" + recorded.Name,
		}, recorded.Name)
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Get(b.ctx, nil); err != nil {
			t.Fatalf("%s: %v", recorded.Name, err)
		}
		if *record {
			writeHistory(b, run, recorded.Name)
		}
	}
}

// recorder is a client whose identity is the same on every machine.
func recorder(b *bundle) client.Client {
	b.Helper()
	options, err := server.ClientOptions()
	if err != nil {
		b.Fatal(err)
	}
	options.Identity, options.Logger = "recorder", quiet{}
	c, err := client.DialContext(b.ctx, options)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	return c
}

func executable(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func writeHistory(b *bundle, run client.WorkflowRun, name string) {
	b.Helper()
	var history historypb.History
	events := b.client.GetWorkflowHistory(b.ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			b.Fatal(err)
		}
		history.Events = append(history.Events, event)
	}
	raw, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(&history)
	if err != nil {
		b.Fatal(err)
	}
	// Indented, so that a new recording gives a diff that can be read.
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		b.Fatal(err)
	}
	indented, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("..", "replaytests", "histories", name+".json"), append(indented, '\n'), 0o644); err != nil {
		b.Fatal(err)
	}
}
