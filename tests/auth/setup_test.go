package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// testTimeout bounds every test: a hang is a failure, told by name.
const testTimeout = 3 * time.Minute

// A bundle is what one test has to itself.
type bundle struct{ *fixture.Bundle }

func setup(t *testing.T) *bundle { t.Helper(); return setupWith(t, nil) }

func setupWith(t *testing.T, change func(*client.Options)) *bundle {
	t.Helper()
	return &bundle{fixture.Setup(t, server, testTimeout, change)}
}

// host starts a worker that serves the servers, and no workflows, so that it can end
// without them.
func (b *bundle) host(servers ...session.Server) worker.Worker {
	b.Helper()
	return b.Host(session.Options{Servers: servers})
}

// A driver is a run of a workflow that does what its test tells it, an update a step.
type driver struct {
	*bundle
	run client.WorkflowRun
}

// A step is the input of an update.
type step struct {
	Server, Tool string
	Arguments    any
	Calls        int           // at once; zero is one
	Timeout      time.Duration // of the calls of a block that is opened
	Attempts     int32         // to open it; zero is the default
}

func (b *bundle) drive() *driver {
	b.Helper()
	return b.driveOn(b.Hosts())
}

// driveOn is drive with the sessions on a task queue.
func (b *bundle) driveOn(hosts string) *driver {
	b.Helper()
	w := worker.New(b.Client, b.TaskQueue, worker.Options{DeadlockDetectionTimeout: testTimeout})
	w.RegisterWorkflowWithOptions(driven, workflow.RegisterOptions{Name: "test"})
	b.StartWorker(w)
	run, err := b.Client.ExecuteWorkflow(b.Ctx, client.StartWorkflowOptions{
		TaskQueue: b.TaskQueue, ID: b.TaskQueue, WorkflowExecutionTimeout: testTimeout,
	}, "test", hosts)
	if err != nil {
		b.Fatal(err)
	}
	return &driver{b, run}
}

func driven(ctx workflow.Context, hosts string) error {
	blocks := make(map[string]*toolset.Toolset)
	on := workflow.ActivityOptions{TaskQueue: hosts, HeartbeatTimeout: 10 * time.Second}
	handlers := map[string]any{
		"open": func(ctx workflow.Context, s step) error {
			on := on
			if s.Attempts > 0 {
				on.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: s.Attempts}
			}
			ts, err := toolset.Open(ctx, toolset.Options{Server: s.Server, Session: on, CallTimeout: s.Timeout})
			blocks[s.Server] = ts
			return err
		},
		"list": func(ctx workflow.Context, s step) error {
			_, err := blocks[s.Server].ListTools(ctx)
			return err
		},
		"call": func(ctx workflow.Context, s step) (string, error) {
			result, err := blocks[s.Server].CallTool(ctx, s.Tool, s.Arguments)
			return fixture.Text(result), err
		},
		"calls": func(ctx workflow.Context, s step) (failed int, first error) {
			var futures []workflow.Future
			for range s.Calls {
				futures = append(futures, blocks[s.Server].CallToolAsync(ctx, s.Tool, s.Arguments))
			}
			for _, f := range futures {
				if err := f.Get(ctx, nil); err != nil {
					failed++
				}
			}
			return failed, nil
		},
		"stateless": func(ctx workflow.Context, s step) (string, error) {
			c, err := stateless.New(ctx, stateless.Options{
				Server: s.Server, TaskQueue: hosts, Operation: workflow.ActivityOptions{RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 2}},
			})
			if err != nil {
				return "", err
			}
			result, err := c.CallTool(ctx, s.Tool, s.Arguments)
			return fixture.Text(result), err
		},
	}
	handlers["script"] = func(ctx workflow.Context, s step) (string, error) {
		return toolset.RunScript[string](ctx, toolset.ScriptOptions{Server: s.Server, TaskQueue: hosts}, relay, s.Tool)
	}
	handlers["script in block"] = func(ctx workflow.Context, s step) (out string, err error) {
		err = blocks[s.Server].Run(ctx, relay, s.Tool, &out)
		return out, err
	}
	var texts []string
	handlers["close"] = func(ctx workflow.Context, s step) error {
		err := blocks[s.Server].Close(ctx)
		texts = append(texts, textsOf(err))
		return err
	}
	handlers["texts"] = func(workflow.Context, step) (string, error) { return strings.Join(texts, "\n"), nil }
	for _, name := range []string{"open", "list"} {
		inner := handlers[name].(func(workflow.Context, step) error)
		handlers[name] = func(ctx workflow.Context, s step) error {
			err := inner(ctx, s)
			texts = append(texts, textsOf(err))
			return err
		}
	}
	for _, name := range []string{"call", "stateless", "script", "script in block"} {
		inner := handlers[name].(func(workflow.Context, step) (string, error))
		handlers[name] = func(ctx workflow.Context, s step) (string, error) {
			text, err := inner(ctx, s)
			texts = append(texts, textsOf(err))
			return text, err
		}
	}
	for _, name := range workflow.DeterministicKeys(handlers) {
		if err := workflow.SetUpdateHandler(ctx, name, handlers[name]); err != nil {
			return err
		}
	}
	var how string
	workflow.GetSignalChannel(ctx, "end").Receive(ctx, &how)
	if how != "" {
		return errors.New(how)
	}
	return nil
}

// textsOf returns all that an error tells, whoever asks it.
func textsOf(err error) string {
	if err == nil {
		return ""
	}
	text := fmt.Sprintf("%v\n%+v", err, err)
	for _, details := range []func(error) (failure.Details, bool){failure.Call, failure.Open, failure.DedicatedWorker} {
		if d, ok := details(err); ok {
			text += fmt.Sprintf("\n%+v", d)
		}
	}
	if d, ok := failure.MCPProtocol(err); ok {
		text += fmt.Sprintf("\n%s", d.Data)
	}
	return text
}

// do takes a step.
func (d *driver) do(name string, s step, result any) error {
	d.Helper()
	if s.Server == "" {
		s.Server = "server"
	}
	handle, err := d.Client.UpdateWorkflow(d.Ctx, client.UpdateWorkflowOptions{
		WorkflowID: d.run.GetID(), RunID: d.run.GetRunID(), UpdateName: name, Args: []any{s}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		d.Fatal(err)
	}
	return handle.Get(d.Ctx, result)
}

func (d *driver) must(name string, s step) (text string) {
	d.Helper()
	var result any = &text
	if name == "open" || name == "list" || name == "close" {
		result = nil
	}
	if err := d.do(name, s, result); err != nil {
		d.Fatalf("%s %v: %s", name, s, textsOf(err))
	}
	return text
}

// incr calls the counter.
func (d *driver) incr() error {
	d.Helper()
	return d.do("call", step{Tool: fixture.Incr}, nil)
}

// wantCall fails the test unless a call alone failed, for this reason and before its
// tool ran, and its text has this.
func (b *bundle) wantCall(err error, reason failure.Reason, says string) {
	b.Helper()
	d, ok := failure.Call(err)
	if !ok || d.Reason != reason || d.ToolRan != failure.RanNo {
		b.Errorf("the call failed as %v (%+v), want %s", err, d, reason)
	} else if !strings.Contains(err.Error(), says) {
		b.Errorf("the error is %v; want %q in it", err, says)
	}
}

// A secretSource is where a worker takes a static token from.
type secretSource struct {
	mu    sync.Mutex
	token string
	good  string
	err   error
	asked int
}

// rotate makes a token the one that is given and good.
func (s *secretSource) rotate(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token, s.good, s.err = token, token, nil
}

func (s *secretSource) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// accept makes a token the only good one.
func (s *secretSource) accept(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.good = token
}

func (s *secretSource) get(context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	return s.token, s.err
}

func (s *secretSource) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// verify is an [auth.TokenVerifier].
func (s *secretSource) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if token != s.good {
		return nil, fmt.Errorf("%w: %s", auth.ErrInvalidToken, token)
	}
	return &auth.TokenInfo{Scopes: []string{"mcp"}, UserID: "one", Expiration: time.Now().Add(time.Hour)}, nil
}

// loginConfig is a client that registers itself; without a fetcher nobody can log in.
func loginConfig(fetcher auth.AuthorizationCodeFetcher) *auth.AuthorizationCodeHandlerConfig {
	return &auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "test", RedirectURIs: []string{"http://127.0.0.1:1/callback"}, GrantTypes: []string{"authorization_code", "refresh_token"},
		}},
		AuthorizationCodeFetcher: fetcher,
		Client:                   &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}},
	}
}

// login returns a handler with a store.
func login(t testing.TB, fetcher auth.AuthorizationCodeFetcher, store transport.TokenStore) auth.OAuthHandler {
	t.Helper()
	handler, err := transport.AuthorizationCode(loginConfig(fetcher), store)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// logIn is the program in which a person logs in: it connects once, and what that
// gives is in the store.
func logIn(t testing.TB, s *site, store transport.TokenStore) {
	t.Helper()
	over, err := transport.HTTP(s.endpoint(), transport.WithOAuth(login(t, browser, store)))(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "login", Version: "1"}, nil).Connect(context.Background(), over, nil)
	if err != nil {
		t.Fatalf("log in: %v", err)
	}
	if err := session.Close(); err != nil {
		t.Error(err)
	}
	if err := over.(transport.Watched).Close(); err != nil {
		t.Error(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = nil
}
