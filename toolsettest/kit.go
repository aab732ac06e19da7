package toolsettest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

// Host is the identity of the host of all sessions of a test.
const Host = "toolsettest"

// A Server is an MCP server that the workflows of a test can use, by blocks and by
// stateless calls. One of MCP and Tools is required.
type Server struct {
	// Name is what the workflow calls the server. Required.
	Name string

	// MCP returns the server of one session, or of one connection for stateless calls,
	// which share it. A new server for each keeps what they hold apart, as processes
	// would. The argument is what the workflow passed; it is empty if that is nothing.
	MCP func(transport.Argument) *mcp.Server

	// Tools are the tools of a server that has nothing else, by name. What the
	// functions hold is shared by all sessions.
	Tools map[string]Tool

	// IdleTimeout is that of session.Server, on the workflow's clock: a session of
	// which no operation has come for so long is lost. Zero is never.
	IdleTimeout time.Duration
}

// A Kit serves the sessions and the stateless calls of one test.
type Kit struct {
	t       testing.TB
	env     *testsuite.TestWorkflowEnvironment
	plugin  *session.Plugin
	servers map[string]*server

	mu        sync.Mutex
	blocks    map[string]*block // by task queue
	sessions  []*held
	calls     []*record
	faults    []plan
	mayBeOpen bool                        // at the end of the test
	waking    map[workflow.Execution]bool // and whether once more
}

// A server is a [Server] of the kit, and how often it was opened.
type server struct {
	Server
	kit      *Kit
	sessions int // that were open, for their ordinals
	openings int // attempts to open
}

// New registers what the servers need with the environment, before the workflow runs.
// When the test ends, it fails for sessions that are still open, and for faults that
// were planned and have not happened, and closes all that is left. What makes no
// sense ends the test at once, with an error that names it.
func New(t testing.TB, env *testsuite.TestWorkflowEnvironment, servers ...Server) *Kit {
	t.Helper()
	k := &Kit{t: t, env: env, servers: make(map[string]*server), blocks: make(map[string]*block), waking: make(map[workflow.Execution]bool)}
	if err := k.init(servers); err != nil {
		t.Fatalf("toolsettest: %v", err)
	}
	t.Cleanup(k.finish)
	return k
}

func (k *Kit) init(servers []Server) error {
	if k.env == nil {
		return errors.New("the environment is nil; pass that of WorkflowTestSuite.NewTestWorkflowEnvironment")
	}
	if len(servers) == 0 {
		return errors.New("no server given; name at least one")
	}
	var registered []session.Server
	for _, s := range servers {
		if err := s.check(); err != nil {
			return err
		}
		if k.servers[s.Name] != nil {
			return fmt.Errorf("server %q is given twice; a name has one server", s.Name)
		}
		s.Tools = maps.Clone(s.Tools)
		sv := &server{Server: s, kit: k}
		k.servers[s.Name] = sv
		registered = append(registered, session.Server{Name: s.Name, Connect: sv.connectStateless})
		k.registerSessions(sv)
	}
	return k.registerStateless(registered)
}

func (s Server) check() error {
	if err := queue.ValidateServer(s.Name); err != nil {
		return fmt.Errorf("Server.Name: %w", err)
	}
	switch {
	case s.MCP == nil && s.Tools == nil:
		return fmt.Errorf("server %q has neither MCP nor Tools; set one", s.Name)
	case s.MCP != nil && s.Tools != nil:
		return fmt.Errorf("server %q has both MCP and Tools; add the tools to the *mcp.Server, and set MCP alone", s.Name)
	case s.IdleTimeout < 0:
		return fmt.Errorf("server %q: IdleTimeout is %v; use zero for none", s.Name, s.IdleTimeout)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Tools)) {
		if name == "" || s.Tools[name] == nil {
			return fmt.Errorf("server %q: tool %q has no name, or no function", s.Name, name)
		}
	}
	return nil
}

// registerStateless registers the activities of stateless operations by the plugin
// that a worker has.
func (k *Kit) registerStateless(servers []session.Server) (err error) {
	if k.plugin, err = session.NewPlugin(session.Options{Servers: servers}); err != nil {
		return err
	}
	ctx := context.Background()
	err = k.plugin.ConfigureWorker(ctx, worker.PluginConfigureWorkerOptions{
		WorkerInstanceKey: Host, WorkerOptions: &worker.Options{Identity: Host},
	})
	if err != nil {
		return err
	}
	return k.plugin.StartWorker(ctx, worker.PluginStartWorkerOptions{
		WorkerInstanceKey: Host, WorkerRegistry: statelessRegistry{k.env, k},
	}, func(context.Context, worker.PluginStartWorkerOptions) error { return nil })
}

// A statelessRegistry takes the activities of stateless operations of what a plugin
// registers: those of sessions are the kit's own.
type statelessRegistry struct {
	*testsuite.TestWorkflowEnvironment
	kit *Kit
}

// RegisterActivityWithOptions registers an activity.
func (r statelessRegistry) RegisterActivityWithOptions(a any, options activity.RegisterOptions) {
	if sv := r.kit.serverOf(options.Name); sv != nil {
		r.TestWorkflowEnvironment.RegisterActivityWithOptions(sv.wrapStateless(a), options)
	}
}

// serverOf returns the server whose stateless operation an activity is.
func (k *Kit) serverOf(activityType string) *server {
	for name, sv := range k.servers {
		if strings.HasPrefix(activityType, queue.StatelessActivity(name, "")) {
			return sv
		}
	}
	return nil
}

// finish is the end of the test.
func (k *Kit) finish() {
	k.t.Helper()
	k.checkClosed()
	k.checkHappened()
	k.plugin.StopWorker(context.Background(), worker.PluginStopWorkerOptions{WorkerInstanceKey: Host},
		func(context.Context, worker.PluginStopWorkerOptions) {})
}

// known returns a server, or ends the test.
func (k *Kit) known(name string) *server {
	k.t.Helper()
	sv := k.servers[name]
	if sv == nil {
		k.t.Fatalf("toolsettest: there is no server %q; New was given %s", name, strings.Join(slices.Sorted(maps.Keys(k.servers)), ", "))
	}
	return sv
}
