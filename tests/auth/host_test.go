package auth

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// configVariable names the file that configures a process in the role "host".
const configVariable = "MCPSESSION_AUTH_HOST"

// A hostConfig is what a host process is told, in a file: it holds secrets.
type hostConfig struct {
	TaskQueue, Owner string
	Written          string // the directory for what it writes
	Kept             string // the directory of its secrets: static tokens, and a grant
	Sites            map[string]string
	Header, Env      string            // secrets
	Loaded           map[string]string // variables with secrets, which a configuration file names
	PanicHolds       string            // what a function panics with
}

// The servers of a host process, each with its secrets. Servers with other ways to
// hold a secret come here.
var hostServers = []struct {
	name    string
	connect func(hostConfig) (transport.Connector, error)
	warm    int
}{
	{name: "header", connect: func(c hostConfig) (transport.Connector, error) {
		return transport.HTTP(c.Sites["header"], transport.WithHeaders(func(context.Context) (http.Header, error) {
			if c.has("panic-headers") {
				panic("cannot read " + c.PanicHolds)
			}
			return http.Header{"X-Api-Key": {c.Header}}, nil
		})), nil
	}},
	{name: "bearer", connect: func(c hostConfig) (transport.Connector, error) {
		return transport.HTTP(c.Sites["bearer"], transport.WithBearer(func(context.Context) (string, error) {
			token, err := os.ReadFile(filepath.Join(c.Kept, "token"))
			switch {
			case c.has("panic-bearer"):
				panic(errors.New("cannot read " + c.PanicHolds))
			case c.has("fail-bearer"):
				return string(token), fmt.Errorf("the token %s has expired", token)
			}
			return string(token), err
		})), nil
	}},
	{name: "oauth", connect: func(c hostConfig) (transport.Connector, error) {
		handler, err := transport.AuthorizationCode(loginConfig(nil), talkativeStore{transport.FileTokenStore(filepath.Join(c.Kept, "grant")), c})
		return transport.HTTP(c.Sites["oauth"], transport.WithOAuth(handler)), err
	}},
	{name: "login", connect: func(c hostConfig) (transport.Connector, error) {
		handler, err := transport.AuthorizationCode(loginConfig(browser), nil)
		return transport.HTTP(c.Sites["login"], transport.WithOAuth(handler)), err
	}},
	{name: "service", connect: func(c hostConfig) (transport.Connector, error) {
		handler, err := newCredentials()
		return transport.HTTP(c.Sites["service"], transport.WithOAuth(handler)), err
	}},
	{name: "stdio", connect: func(c hostConfig) (transport.Connector, error) {
		return func(ctx context.Context, arg transport.Argument) (mcp.Transport, error) {
			env := c.environment()
			if c.has("die") {
				env = append(env, "MCPSESSION_AUTH_DIE=1")
			}
			return transport.CommandWithOptions(transport.CommandOptions{Env: env}, os.Args[0])(ctx, arg)
		}, nil
	}},
	{name: "warm", warm: 1, connect: func(c hostConfig) (transport.Connector, error) {
		env := append(c.environment(), warmVariable+"="+c.Owner)
		return transport.CommandWithOptions(transport.CommandOptions{Env: env}, os.Args[0]), nil
	}},
	{name: "loaded", connect: func(c hostConfig) (transport.Connector, error) { return c.load("loaded") }},
	{name: "loaded-stdio", connect: func(c hostConfig) (transport.Connector, error) { return c.load("loaded-stdio") }},
}

// A talkativeStore tells the grant in its errors.
type talkativeStore struct {
	transport.TokenStore
	config hostConfig
}

func (s talkativeStore) Load(ctx context.Context) (*transport.Grant, error) {
	grant, err := s.TokenStore.Load(ctx)
	if err == nil && s.config.has("fail-load") {
		return nil, fmt.Errorf("cannot load %s of %s", grant.RefreshToken, grant.ClientSecret)
	}
	return grant, err
}

func (s talkativeStore) Save(ctx context.Context, grant *transport.Grant) error {
	if s.config.has("fail-save") {
		slog.Info("saving", "grant", grant, "copy", *grant)
		return fmt.Errorf("cannot save %s, %s of %s", grant.AccessToken, grant.RefreshToken, grant.ClientSecret)
	}
	return s.TokenStore.Save(ctx, grant)
}

// environment is that of a server over stdio with a secret.
func (c hostConfig) environment() []string {
	return []string{roleVariable + "=" + roleMCP, ownerVariable + "=" + c.Owner, envVariable + "=" + c.Env, "GORACE=atexit_sleep_ms=0"}
}

// load returns the connector of a server of a configuration file, whose variables are
// set for it alone.
func (c hostConfig) load(name string) (transport.Connector, error) {
	for variable, secret := range c.Loaded {
		if err := os.Setenv(variable, secret); err != nil {
			return nil, err
		}
		defer func() { _ = os.Unsetenv(variable) }()
	}
	file, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"loaded": map[string]any{
			"url":     c.Sites["loaded"] + "/${LOADED_PATH}?key=${LOADED_QUERY}",
			"headers": map[string]string{"X-Api-Key": "key ${LOADED_HEADER}"},
		},
		"loaded-stdio": map[string]any{
			"command": os.Args[0], "args": []string{"--key=${LOADED_ARGUMENT}"},
			"env": map[string]string{roleVariable: roleMCP, ownerVariable: c.Owner, envVariable: "${LOADED_ENV}", "GORACE": "atexit_sleep_ms=0"},
		},
	}})
	if err != nil {
		return nil, err
	}
	servers, err := session.Load(bytes.NewReader(file))
	if err != nil {
		return nil, err
	}
	for _, s := range servers {
		if s.Name == name {
			return s.Connect, nil
		}
	}
	return nil, fmt.Errorf("the file has no %s", name)
}

// relay is a script that calls a tool, and tells how that failed in words of its own.
const relay = "relay"

func (c hostConfig) registerRelay() error {
	return session.RegisterScript(relay, func(ctx context.Context, mcp *session.Conn, tool string) (string, error) {
		if c.has("panic-script") {
			panic(errors.New("cannot read " + c.PanicHolds))
		}
		result, err := mcp.CallTool(ctx, tool, nil)
		switch {
		case err != nil && c.has("plain-script"):
			return "", fmt.Errorf("relayed from %s: %v", mcp.Server(), err)
		case err != nil:
			return "", fmt.Errorf("relayed from %s: %w", mcp.Server(), err)
		}
		return fixture.Text(result), nil
	})
}

// has reports whether a test has told the host to misbehave so.
func (c hostConfig) has(fault string) bool {
	_, err := os.Stat(filepath.Join(c.Kept, fault))
	return err == nil
}

// runHost is the host process: it exits at once when its input ends, and after its
// worker's Stop at a line of input.
func runHost() {
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
	raw, err := os.ReadFile(os.Getenv(configVariable))
	if err != nil {
		fail(err)
	}
	var config hostConfig
	if err := json.Unmarshal(raw, &config); err != nil {
		fail(err)
	}
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		fail(err)
	}
	wire, err := os.OpenFile(filepath.Join(config.Written, "wire"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		fail(err)
	}
	metrics, err := os.OpenFile(filepath.Join(config.Written, "metrics"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		fail(err)
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})))
	options.Logger = sdklog.NewStructuredLogger(slog.Default())
	options.MetricsHandler = written{to: &locked{to: metrics}}
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, tap(&locked{to: wire}))
	c, err := client.Dial(options)
	if err != nil {
		fail(err)
	}
	var servers []session.Server
	for _, s := range hostServers {
		connect, err := s.connect(config)
		if err != nil {
			fail(err)
		}
		servers = append(servers, session.Server{Name: s.name, Connect: connect, Warm: s.warm})
	}
	if err := config.registerRelay(); err != nil {
		fail(err)
	}
	plugin, err := session.NewPlugin(session.Options{Servers: servers})
	if err != nil {
		fail(err)
	}
	w := worker.New(c, config.TaskQueue, worker.Options{Plugins: []worker.Plugin{plugin}, DisableWorkflowWorker: true})
	if err := w.Start(); err != nil {
		fail(err)
	}
	fmt.Println("ready")
	if bufio.NewScanner(os.Stdin).Scan() {
		w.Stop()
	}
	os.Exit(0)
}

// A locked writer writes whole pieces.
type locked struct {
	mu sync.Mutex
	to io.Writer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}

// A hostProcess is a worker in a process of its own.
type hostProcess struct {
	*bundle
	cmd            *exec.Cmd
	stdin          io.WriteCloser
	gone           chan struct{}
	stdout, stderr string // files
}

func (b *bundle) startHost(config hostConfig) *hostProcess {
	b.Helper()
	raw, err := json.Marshal(config)
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(config.Kept, "config")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		b.Fatal(err)
	}
	h := &hostProcess{bundle: b, gone: make(chan struct{}), stdout: filepath.Join(config.Written, "stdout"), stderr: filepath.Join(config.Written, "stderr")}
	stdout, stderr := b.create(h.stdout), b.create(h.stderr)
	h.cmd = exec.Command(os.Args[0])
	temporary := filepath.Join(config.Written, "tmp")
	if err := os.MkdirAll(temporary, 0o700); err != nil {
		b.Fatal(err)
	}
	h.cmd.Env = append(append(os.Environ(), server.Environ()...), "TMPDIR="+temporary,
		roleVariable+"="+roleHost, configVariable+"="+file, ownerVariable+"="+config.Owner, "GORACE=atexit_sleep_ms=0")
	h.cmd.Stdout, h.cmd.Stderr = stdout, stderr
	if h.stdin, err = h.cmd.StdinPipe(); err != nil {
		b.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		b.Fatal(err)
	}
	go func() {
		_ = h.cmd.Wait()
		_, _ = stdout.Close(), stderr.Close()
		close(h.gone)
	}()
	b.Cleanup(func() {
		h.kill()
		_ = h.stdin.Close()
	})
	b.Eventually("the host is ready", func() bool {
		select {
		case <-h.gone:
			said, _ := os.ReadFile(h.stderr)
			b.Fatalf("the host has exited: %s", said)
		default:
		}
		said, _ := os.ReadFile(h.stdout)
		return strings.Contains(string(said), "ready")
	})
	return h
}

func (b *bundle) create(file string) *os.File {
	b.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	return f
}

// kill ends the process as an out-of-memory killer does.
func (h *hostProcess) kill() {
	_ = h.cmd.Process.Kill()
	<-h.gone
}

// stop makes the process stop its worker and exit.
func (h *hostProcess) stop() {
	_, _ = fmt.Fprintln(h.stdin, "stop")
	<-h.gone
}

// envVariable is the secret of a server over stdio.
const envVariable = "MCPSESSION_AUTH_SECRET"

// warmVariable marks the server that is started before somebody wants it.
const warmVariable = "MCPSESSION_AUTH_WARM"

// The tools of the server over stdio, besides those of the fixture.
const (
	die     = "die"     // tells its secret on stderr, and exits
	grumble = "grumble" // tells its secret on stderr
	blurt   = "blurt"   // tells its secret in a JSON-RPC error
)

func serveStdio() {
	secret := strings.Join(append([]string{os.Getenv(envVariable)}, os.Args[1:]...), " and ")
	if os.Getenv("MCPSESSION_AUTH_DIE") != "" {
		fmt.Fprintln(os.Stderr, "cannot start with", secret)
		os.Exit(3)
	}
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	go func() {
		<-terminated
		fmt.Fprintln(os.Stderr, "terminated with", secret)
		os.Exit(9)
	}()
	s := fixture.New()
	for name, handler := range map[string]func() error{
		die: func() error {
			fmt.Fprintln(os.Stderr, "dying with", secret)
			os.Exit(7)
			return nil
		},
		grumble: func() error {
			fmt.Fprintln(os.Stderr, "unhappy with", secret)
			return nil
		},
		blurt: func() error { return &jsonrpc.Error{Code: -32000, Message: "not with " + secret} },
	} {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return &mcp.CallToolResult{}, handler()
			})
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}

// written is a metrics handler that writes all names and tags.
type written struct {
	to   io.Writer
	tags map[string]string
}

func (w written) WithTags(tags map[string]string) client.MetricsHandler {
	_, _ = fmt.Fprintln(w.to, tags)
	return written{w.to, tags}
}

func (w written) Counter(name string) client.MetricsCounter {
	_, _ = fmt.Fprintln(w.to, name)
	return written{}
}

func (w written) Gauge(name string) client.MetricsGauge {
	_, _ = fmt.Fprintln(w.to, name)
	return gauge{}
}

func (w written) Timer(name string) client.MetricsTimer {
	_, _ = fmt.Fprintln(w.to, name)
	return timer{}
}

func (written) Inc(int64) {}

type (
	gauge struct{}
	timer struct{}
)

func (gauge) Update(float64)       {}
func (timer) Record(time.Duration) {}

func mentions(t testing.TB, text, want string) {
	t.Helper()
	if !strings.Contains(text, want) {
		t.Errorf("%q is not in: %s", want, text)
	}
}
