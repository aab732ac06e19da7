package main

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A worker with a file, and each command against it.
func TestWorkerListCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.fixture(`, "second": {"command": "x"}`))

	if diff := cmp.Diff("fixture\nsecond\n", b.run("list").want(t, 0).out); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
	tools := b.run("list", "fixture").want(t, 0, "echo", "Says its arguments.", "hold")
	if strings.Contains(tools.out, "As they came") {
		t.Errorf("the list has more than the first line of a description:\n%s", tools.out)
	}
	b.run("list", "fixture", "--prompts").want(t, 0, "greet", "A greeting.")
	b.run("list", "fixture", "--resources").want(t, 0, "file:///notes", "file:///{name}")
	var lists struct {
		Tools []struct {
			Name        string
			InputSchema struct{ Type string }
		}
	}
	if err := json.Unmarshal([]byte(b.run("list", "fixture", "--output", "json").want(t, 0).out), &lists); err != nil || len(lists.Tools) < 5 || lists.Tools[0].InputSchema.Type != "object" {
		t.Errorf("the list as JSON: %v, %+v", err, lists)
	}

	// Digits that no float64 has arrive as they are.
	const arguments = `{"n":90071992547409931234567890,"f":1.10}`
	if got := b.run("call", "fixture", "echo", arguments).want(t, 0).out; got != arguments+"\n" {
		t.Errorf("echo gave %s", got)
	}
	if got := b.run("call", "fixture", "echo").want(t, 0).out; got != "{}\n" {
		t.Errorf("echo without arguments gave %s", got)
	}
	file := b.config(arguments)
	if got := b.run("call", "fixture", "echo", "@"+file).want(t, 0).out; got != arguments+"\n" {
		t.Errorf("echo of a file gave %s", got)
	}
	b.run("call", "fixture", "mixed").want(t, 0, "a picture:\n[image, image/png, 5 bytes]\n[resource file:///a]\n")
	b.run("call", "fixture", "structured").want(t, 0, `{"tea":`)
	var result struct {
		Content []struct{ Type, Data string }
	}
	if err := json.Unmarshal([]byte(b.run("call", "fixture", "mixed", "-o", "json").want(t, 0).out), &result); err != nil ||
		len(result.Content) != 3 || result.Content[1].Data != "MTIzNDU=" {
		t.Errorf("the result as JSON: %v, %+v", err, result)
	}
	b.wantNoServers()
}

// The arguments come from stdin, too, and so does the configuration.
func TestStdin(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config, err := os.Open(b.fixture(""))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = config.Close() }()
	serving := setup(t)
	serving.taskQueue = b.taskQueue
	w := serving.startWith(config, "worker", "--config", "-")
	w.says("serving fixture")
	if got := b.startWith(strings.NewReader(`{"a": [1]}`), "call", "fixture", "echo", "-").wait().want(t, 0).out; got != `{"a":[1]}`+"\n" && got != `{"a": [1]}`+"\n" {
		t.Errorf("echo of stdin gave %s", got)
	}
}

// Each class of failure has its exit code, and says what to do; as JSON, too.
func TestExitCodes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.fixture(`, "missing": {"command": "no-such-program-anywhere"}`))
	for name, test := range map[string]struct {
		args []string
		code int
		says []string
	}{
		"the tool's own error":   {[]string{"call", "fixture", "fail"}, 1, []string{"there is no tea"}},
		"a JSON-RPC error":       {[]string{"call", "fixture", "refuse"}, 3, []string{"-32602", "no such leaf"}},
		"no such tool":           {[]string{"call", "fixture", "brew"}, 3, []string{"brew"}},
		"a timeout":              {[]string{"call", "fixture", "hold", "--timeout", "300ms"}, 3, []string{"tool ran: unknown"}},
		"a loss":                 {[]string{"call", "fixture", "exit"}, 3, []string{"server-gone", "status 3"}},
		"a program that is not":  {[]string{"call", "missing", "echo"}, 4, []string{"executable-not-found", "no-such-program-anywhere"}},
		"a server that is not":   {[]string{"list", "nobody"}, 4, []string{"unknown-server", "nobody", "mcpsession list --task-queue"}},
		"no such command":        {[]string{"brew"}, 2, []string{"brew"}},
		"no such flag":           {[]string{"list", "--brew"}, 2, []string{"--brew", "mcpsession list --help"}},
		"too few arguments":      {[]string{"call", "fixture"}, 2, []string{"accepts between 2 and 3", "SERVER TOOL"}},
		"arguments of no JSON":   {[]string{"call", "fixture", "echo", "{planted"}, 2, []string{"no JSON", "byte 2"}},
		"arguments without end":  {[]string{"call", "fixture", "echo", "@/dev/zero"}, 2, []string{"more than"}},
		"arguments of no object": {[]string{"call", "fixture", "echo", "[1]"}, 2, []string{"no JSON object"}},
		"a file that is not":     {[]string{"call", "fixture", "echo", "@/no/such/file"}, 2, []string{"/no/such/file"}},
		"a bad server name":      {[]string{"list", "a b"}, 2, []string{"use letters, digits"}},
		"a bad timeout":          {[]string{"list", "fixture", "--timeout", "-1s"}, 2, []string{"--timeout"}},
		"a bad output":           {[]string{"list", "--output", "xml"}, 2, []string{"text or json"}},
		"a bad query":            {[]string{"sessions", "--query", "Brew = 1"}, 2, []string{"Brew"}},
		"a bad namespace":        {[]string{"list", "--namespace", "no-such-namespace"}, 5, []string{"no-such-namespace"}},
	} {
		t.Run(name, func(t *testing.T) {
			said := b.run(test.args...).want(t, test.code, test.says...)
			if test.code > 1 && said.out != "" {
				t.Errorf("stdout has %q", said.out)
			}
			if strings.Contains(said.err, "planted") {
				t.Errorf("stderr quotes the arguments: %s", said.err)
			}
			if test.code == 1 {
				return
			}
			var report struct {
				Error struct {
					Message  string
					ExitCode int
				}
			}
			if slices.Contains(test.args, "--output") {
				return // it asks for another
			}
			again := b.run(append(test.args, "--output", "json")...).want(t, test.code)
			if err := json.Unmarshal([]byte(again.err), &report); err != nil || report.Error.ExitCode != test.code || report.Error.Message == "" {
				t.Errorf("the error as JSON: %v\n%s", err, again.err)
			}
		})
	}
	b.wantNoServers()
}

// A configuration that can't be used is told before anything is connected to.
func TestBadConfiguration(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for name, test := range map[string]struct {
		args []string
		says []string
	}{
		"none":           {[]string{"worker"}, []string{"--config FILE"}},
		"no such file":   {[]string{"worker", "--config", "/no/such/file"}, []string{"/no/such/file"}},
		"unset":          {[]string{"worker", "--config", b.config(`{"mcpServers": {"a": {"command": "x", "env": {"K": "${NOT_SET_ANYWHERE}"}}}}`)}, []string{`"a"`, "NOT_SET_ANYWHERE is not set", "mcp.json"}},
		"a bad duration": {[]string{"worker", "--config", "x", "--drain-timeout", "-1s"}, []string{"--drain-timeout"}},
	} {
		t.Run(name, func(t *testing.T) {
			b.startAs([]string{"TEMPORAL_ADDRESS=127.0.0.1:1"}, test.args...).wait().want(t, 2, test.says...)
		})
	}
	b.run("worker", "--config", b.config(`{"mcpServers": {"a": {"command": "x", "disabled": true}}}`)).want(t, 2, "no server that is enabled")
}

// Who has no Temporal server, or no worker, is told how to get one.
func TestFirstRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config := b.fixture("")
	for _, args := range [][]string{{"list"}, {"call", "fixture", "echo"}, {"sessions"}, {"worker", "--config", config}} {
		b.startAs([]string{"TEMPORAL_ADDRESS=127.0.0.1:1", "TEMPORAL_TLS=false", "TEMPORAL_API_KEY="}, args...).wait().
			want(t, 5, "127.0.0.1:1", "temporal server start-dev", "TEMPORAL_ADDRESS")
	}
	b.run("call", "fixture", "hold").want(t, 5, "no worker polls task queue "+b.taskQueue, "mcpsession worker --config FILE --task-queue "+b.taskQueue)
	// What was given up isn't run by a worker that comes later.
	b.worker(config)
	b.run("call", "fixture", "echo").want(t, 0)
	if lines := held(t, b.holdFile()); len(lines) > 0 {
		t.Errorf("the call that was given up ran: %q", lines)
	}
}

// The open sessions of the namespace are listed with server, run, host, age and calls.
func TestSessions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(b.fixture(""))
	calling := b.start(nil, "call", "fixture", "hold")
	b.eventually("the call runs", func() bool { return len(held(t, b.holdFile())) == 1 })

	var found struct {
		Sessions []struct {
			Server, WorkflowID, RunID, Key, Host, State, Since string
			Calls, Running                                     *int64
			Attempt                                            int
		}
		Workflows int
	}
	query := `TaskQueue = "` + b.taskQueue + `"`
	// Visibility comes late, and the count with the next heartbeat.
	b.eventually("the session is listed with its call", func() bool {
		if err := json.Unmarshal([]byte(b.run("sessions", "--query", query, "--output", "json").want(t, 0).out), &found); err != nil {
			t.Fatal(err)
		}
		return len(found.Sessions) == 1 && found.Sessions[0].Calls != nil && *found.Sessions[0].Calls == 1
	})
	s := found.Sessions[0]
	if s.Server != "fixture" || s.State != "open" || *s.Running != 1 || s.Attempt != 1 || s.Key == "" ||
		!strings.HasPrefix(s.Host, pidOf(w)+"@") || !strings.HasPrefix(s.WorkflowID, "mcpsession.call-") || s.RunID == "" || s.Since == "" {
		t.Errorf("the session is %+v", s)
	}
	b.run("sessions", "--query", query).want(t, 0, "SERVER", "fixture", "open", "1 (1)", s.WorkflowID, s.RunID, s.Key)
	b.run("sessions", "--query", `TaskQueue = "another"`).want(t, 0, "no session is open")

	calling.signal(os.Interrupt)
	calling.wait().want(t, 130, "interrupted")
	if lines := held(t, b.holdFile()); !slices.Equal(lines, []string{holding, cancelled}) {
		t.Errorf("the call wrote %q", lines)
	}
	b.eventually("no session is listed", func() bool {
		return strings.Contains(b.run("sessions", "--query", query).want(t, 0).err, "no session is open")
	})
}

// A worker that is told to end lets the call that runs end, and its workflow with it.
func TestWorkerDrains(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(b.fixture(""), "--drain-timeout", "60s")
	calling := b.start(nil, "call", "fixture", "hold")
	b.eventually("the call runs", func() bool { return len(held(t, b.holdFile())) == 1 })
	w.signal(syscall.SIGTERM)
	w.says("ending;")
	if err := os.WriteFile(b.holdFile()+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	calling.wait().want(t, 0, letGo)
	w.wait().want(t, 0)
	b.wantNoServers()
}

// A session that does not end in time fails, and a second signal waits for nothing.
func TestWorkerStops(t *testing.T) {
	t.Parallel()
	t.Run("after the drain timeout", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		w := b.worker(b.fixture(""), "--drain-timeout", "100ms")
		calling := b.start(nil, "call", "fixture", "hold")
		b.eventually("the call runs", func() bool { return len(held(t, b.holdFile())) == 1 })
		w.signal(syscall.SIGTERM)
		calling.wait().want(t, 3, "worker-stopped")
		w.wait().want(t, 0)
		b.wantNoServers()
	})
	t.Run("at the second signal", func(t *testing.T) {
		t.Parallel()
		b := setup(t)
		w := b.worker(b.fixture(""), "--drain-timeout", "1h")
		b.start(nil, "call", "fixture", "hold")
		b.eventually("the call runs", func() bool { return len(held(t, b.holdFile())) == 1 })
		w.signal(os.Interrupt)
		w.says("ending;")
		w.signal(os.Interrupt)
		w.wait().want(t, 130)
		b.wantNoServers()
	})
	t.Run("when it is killed", func(t *testing.T) {
		t.Parallel()
		if runtime.GOOS != "linux" {
			t.Skip("elsewhere nothing is promised (see package transport)")
		}
		b := setup(t)
		w := b.worker(b.fixture(""))
		b.start(nil, "call", "fixture", "hold")
		b.eventually("the call runs", func() bool { return len(held(t, b.holdFile())) == 1 && len(b.servers()) == 1 })
		w.signal(os.Kill)
		b.wantNoServers()
	})
}

// What a variable holds reaches the server and nobody else.
func TestSecretsStayOnTheWorker(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const secret = "planted-secret-4711"
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "Cannot "+r.Method+" "+r.URL.Path+" for "+r.Header.Get("Authorization"), http.StatusNotFound)
	}))
	t.Cleanup(refusing.Close)
	config := b.config(`{"mcpServers": {
		"echoing": {"command": "sh", "args": ["-c", "echo $1 $TOKEN >&2; exit 7", "sh", "${PLANTED}"], "env": {"TOKEN": "of-${PLANTED}"}},
		"refusing": {"url": "${REFUSING}/${PLANTED}/mcp", "headers": {"Authorization": "Bearer ${PLANTED}"}},
		"remote": {"url": "http://127.0.0.1:1/${PLANTED}?key=${PLANTED}", "headers": {"Authorization": "Bearer ${PLANTED}"}}}}`)
	w := b.start([]string{"PLANTED=" + secret, "REFUSING=" + refusing.URL}, "worker", "--config", config)
	w.says("serving echoing, refusing, remote")
	for _, said := range []ran{
		b.run("call", "echoing", "x").want(t, 4, "[redacted]"),
		b.run("call", "remote", "x").want(t, 4, "unreachable"),
		b.run("call", "refusing", "x").want(t, 4, "the server said: Cannot POST /[redacted]/mcp for [redacted]"),
	} {
		if strings.Contains(said.out+said.err, secret) {
			t.Errorf("the secret is told: %+v", said)
		}
	}
	if said := w.out.String() + w.err.String(); strings.Contains(said, secret) || !strings.Contains(said, "[redacted]") {
		t.Errorf("the worker logs:\n%s", said)
	}
}

// A command that waits says what for, and ends with its terminal.
func TestWaitingCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.fixture(""))
	calling := b.start(nil, "call", "fixture", "hold")
	calling.says("waiting for the server's answer")
	calling.signal(syscall.SIGHUP)
	calling.wait().want(t, 130, "interrupted")
	if lines := held(t, b.holdFile()); !slices.Equal(lines, []string{holding, cancelled}) {
		t.Errorf("the call wrote %q", lines)
	}
}

// A second interrupt waits for no session to close.
func TestSecondInterrupt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.worker(b.fixture(""))
	calling := b.start(nil, "call", "fixture", "hold")
	b.eventually("the call runs", func() bool { return len(held(t, b.holdFile())) == 1 })
	w.signal(os.Kill) // nobody closes the session
	<-w.ended
	calling.signal(syscall.SIGTERM)
	calling.says("a second signal")
	calling.signal(syscall.SIGTERM)
	if calling.wait(); calling.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("it ended by %v", calling.ProcessState)
	}
}

// A worker that can't reach Temporal yet ends when it is told to.
func TestInterruptedDial(t *testing.T) {
	t.Parallel()
	b := setup(t)
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = deaf.Close() }()
	w := b.start(nil, "worker", "--config", b.fixture(""), "--address", deaf.Addr().String())
	conn, err := deaf.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	w.signal(os.Interrupt)
	w.wait().want(t, 130, "interrupted")
}
