package auth

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// A plantation is a host process with secrets in all its connectors, and what is to be
// searched for them.
type plantation struct {
	*bundle
	config        hostConfig
	host          *hostProcess
	authorization *authorizationServer
	source        *secretSource
	sites         map[string]*site
	own           map[string][]string // secrets of ours, by kind
	drivers       []*driver

	wire, log                    kept
	described, errors, arguments bytes.Buffer
}

// A kept writer keeps all.
type kept struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (k *kept) Write(p []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all.Write(p)
}

func (k *kept) bytes() []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	return bytes.Clone(k.all.Bytes())
}

// secrets returns all secrets by kind. What one is comes here, or into the
// authorization server's.
func (p *plantation) secrets() map[string][]string {
	all := p.authorization.planted()
	for kind, values := range p.own {
		all[kind] = append(all[kind], values...)
	}
	for _, s := range p.sites {
		all["session id"] = append(all["session id"], s.sessions()...)
	}
	return all
}

// plant returns a new secret.
func (p *plantation) plant(kind string) string {
	secret := strings.ReplaceAll(kind, " ", "-") + "-" + rand.Text()
	p.own[kind] = append(p.own[kind], secret)
	return secret
}

// tell makes the host misbehave in a way, or stop that.
func (p *plantation) tell(fault string, on bool) {
	p.Helper()
	file := filepath.Join(p.config.Kept, fault)
	if !on {
		_ = os.Remove(file)
	} else if err := os.WriteFile(file, nil, 0o600); err != nil {
		p.Fatal(err)
	}
}

// rotate makes a new static token the only good one; known says whether the host gets
// to know it.
func (p *plantation) rotate(known bool) {
	p.Helper()
	token := p.plant("bearer token")
	p.source.accept(token)
	if !known {
		return
	}
	if err := os.WriteFile(filepath.Join(p.config.Kept, "token"), []byte(token), 0o600); err != nil {
		p.Fatal(err)
	}
}

// fails takes a step that fails, and notes what a client sees.
func (p *plantation) fails(d *driver, name string, s step, is func(error) bool) {
	p.Helper()
	s.Attempts = 1
	err := d.do(name, s, nil)
	if err == nil || !is(err) {
		p.Errorf("%s of %s: %v", name, s.Server, err)
	}
	p.errors.WriteString(textsOf(err) + "\n")
	p.look()
}

// said returns how often the host has logged this.
func (p *plantation) said(what string) int {
	p.Helper()
	return bytes.Count(inFile("stderr")(p), []byte(what))
}

func (p *plantation) texts(name string) (all string) {
	for _, d := range p.drivers {
		var text string
		if err := d.do(name, step{}, &text); err != nil {
			p.Error(err)
		}
		all += text + "\n"
	}
	return all
}

// begin starts a run.
func (p *plantation) begin(name string) *driver {
	p.Helper()
	b := bundle{p.In(p.T)} // with a task queue of its own
	b.TaskQueue = p.TaskQueue + "-" + name
	d := b.driveOn(p.Hosts())
	p.drivers = append(p.drivers, d)
	return d
}

// echo answers with all that it knows of a request, as servers do that were written
// for debugging, and more.
func echo(request *http.Request) string {
	return fmt.Sprintf("session %s not accepted; %s %s %v; Authorization: %s",
		request.Header.Get("Mcp-Session-Id"), request.Method, request.URL, request.Header, request.Header.Get("Authorization"))
}

func echoing(status int, contentType string, body func(*http.Request) string) siteFault {
	return func(w http.ResponseWriter, request *http.Request, method string) bool {
		if method != "tools/call" && (method != "initialize" || status < 400) {
			return false
		}
		said := body(request)
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("X-Echo", "yes")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, said)
		return true
	}
}

// isCall and the like are what a failure is to be.
func isCall(reason failure.Reason) func(error) bool {
	return func(err error) bool { d, ok := failure.Call(err); return ok && d.Reason == reason }
}

func isOpen(err error) bool { return failure.IsOpen(err) }

func isLost(reason failure.Reason) func(error) bool {
	return func(err error) bool { d, ok := failure.DedicatedWorker(err); return ok && d.Reason == reason }
}

// talkative is a fault of an authorization server that says all that it was told, and
// the client's other tokens.
func (p *plantation) talkative(status int, code string) grantFault {
	return func(w http.ResponseWriter, form url.Values) bool {
		said := form.Encode() + fmt.Sprint(p.authorization.secrets) // the server's lock is held
		if code == "" {
			http.Error(w, said, status)
		} else {
			answerJSON(w, status, map[string]any{"error": code, "error_description": said, "error_uri": "https://x.example/?" + said})
		}
		return true
	}
}

// overHTTP are the servers of a host process to which an echo is put.
var overHTTP = []string{"header", "bearer", "oauth", "login", "service", "loaded"}

// A situation is one in which secrets might be told. Other situations come here; each
// has a run of its own.
type situation struct {
	name string
	run  func(*plantation, *driver)
}

var situations = []situation{
	{"all goes well", func(p *plantation, d *driver) {
		for _, s := range hostServers {
			d.must("open", step{Server: s.name})
			d.must("list", step{Server: s.name})
			d.must("call", step{Server: s.name, Tool: fixture.Echo, Arguments: map[string]string{"text": "argument-that-flows"}})
			p.look()
		}
		d.must("call", step{Server: "stdio", Tool: grumble})
		for _, s := range hostServers {
			d.must("close", step{Server: s.name})
		}
	}},
	{"answers that repeat secrets", func(p *plantation, d *driver) {
		for _, name := range overHTTP {
			d.must("open", step{Server: name})
			for _, fault := range []struct {
				siteFault
				is func(error) bool
			}{
				{echoing(401, "text/plain", echo), isCall(failure.ReasonUnauthorized)},
				{echoing(403, "text/plain", echo), isCall(failure.ReasonForbidden)},
				{echoing(422, "text/plain", echo), isCall(failure.ReasonRejected)},
				{echoing(500, "text/plain", echo), isCall(failure.ReasonServerError)},
				{echoing(503, "text/plain", echo), isCall(failure.ReasonUnavailable)},
				{echoing(200, "application/json", echoRPC), failure.IsMCPProtocol},
				{func(w http.ResponseWriter, request *http.Request, method string) bool {
					if method == "tools/call" {
						http.Redirect(w, request, "https://elsewhere.example/?"+url.QueryEscape(echo(request)), http.StatusFound)
					}
					return method == "tools/call"
				}, isCall(failure.ReasonRedirect)},
			} {
				p.sites[name].put(fault.siteFault)
				p.fails(d, "call", step{Server: name, Tool: fixture.Incr}, fault.is)
			}
			p.sites[name].put(echoing(401, "text/plain", echo))
			p.fails(d, "stateless", step{Server: name, Tool: fixture.Incr}, func(err error) bool { return err != nil })
			p.sites[name].put(echoing(404, "text/plain", echo))
			p.fails(d, "call", step{Server: name, Tool: fixture.Incr}, isLost(failure.ReasonServerGone))
			p.fails(d, "open", step{Server: name}, isOpen)
			p.sites[name].put(nil)
		}
	}},
	{"a call that takes too long", func(p *plantation, d *driver) {
		for _, s := range hostServers {
			d.must("open", step{Server: s.name, Timeout: 300 * time.Millisecond})
			p.fails(d, "call", step{Server: s.name, Tool: fixture.Block, Arguments: map[string]string{}}, isCall(failure.ReasonCallTimeout))
			d.must("close", step{Server: s.name})
		}
	}},
	{"a static token that is rotated, and can't be had", func(p *plantation, d *driver) {
		call := step{Server: "bearer", Tool: fixture.Incr}
		d.must("open", step{Server: "bearer"})
		p.rotate(true)
		d.must("call", call)
		p.rotate(false)
		p.fails(d, "call", call, isCall(failure.ReasonUnauthorized))
		for _, fault := range []string{"fail-bearer", "panic-bearer"} {
			p.tell(fault, true)
			p.fails(d, "call", call, isCall(failure.ReasonUnauthorized))
			p.fails(d, "stateless", call, func(err error) bool { return err != nil })
			p.tell(fault, false)
		}
		p.rotate(true)
		p.sites["bearer"].put(echoing(503, "text/plain", func(request *http.Request) string {
			return echo(request) + fmt.Sprint(p.own["bearer token"]) // old ones too
		}))
		p.fails(d, "call", call, isCall(failure.ReasonUnavailable))
		p.sites["bearer"].put(nil)
	}},
	{"functions that panic while a block opens", func(p *plantation, d *driver) {
		for server, fault := range map[string]string{"header": "panic-headers", "bearer": "panic-bearer"} {
			p.tell(fault, true)
			p.fails(d, "open", step{Server: server}, isOpen)
			p.tell(fault, false)
		}
	}},
	{"an authorization server that talks too much", func(p *plantation, d *driver) {
		d.must("open", step{Server: "oauth"})
		d.must("open", step{Server: "service"})
		for _, fault := range []grantFault{p.talkative(503, ""), p.talkative(400, "invalid_request"), p.talkative(200, "temporarily_unavailable"), p.talkative(200, "")} {
			p.authorization.killTokens()
			p.authorization.put(fault)
			for _, server := range []string{"oauth", "service"} {
				p.fails(d, "call", step{Server: server, Tool: fixture.Incr}, isCall(failure.ReasonUnauthorized))
			}
			p.fails(d, "open", step{Server: "login"}, isOpen) // the exchange of the code
		}
		p.authorization.put(nil)
		for _, server := range []string{"oauth", "service"} {
			d.must("call", step{Server: server, Tool: fixture.Incr})
		}
	}},
	{"a token store that tells what it should keep", func(p *plantation, d *driver) {
		call := step{Server: "oauth", Tool: fixture.Incr}
		d.must("open", step{Server: "oauth"})
		p.authorization.killTokens()
		p.tell("fail-load", true)
		p.fails(d, "call", call, isCall(failure.ReasonUnauthorized))
		p.tell("fail-load", false)
		p.tell("fail-save", true)
		d.must("call", call)
		p.Eventually("it is logged", func() bool { return p.said("did not save a grant") > 0 })
		p.tell("fail-save", false)
		d.must("call", call) // saves it
	}},
	{"a login that was revoked", func(p *plantation, d *driver) {
		d.must("open", step{Server: "oauth"})
		p.authorization.revokeLogins()
		p.authorization.put(p.talkative(400, "invalid_grant"))
		p.fails(d, "call", step{Server: "oauth", Tool: fixture.Incr}, isCall(failure.ReasonUnauthorized))
		p.fails(d, "open", step{Server: "oauth"}, isOpen)
		// Of the server that can log in, what is exchanged for tokens is told.
		p.authorization.put(func(w http.ResponseWriter, form url.Values) bool {
			return form.Get("grant_type") == "authorization_code" && p.talkative(503, "")(w, form)
		})
		p.fails(d, "open", step{Server: "login"}, isOpen)
		p.authorization.put(nil)
	}},
	{"a server over stdio that tells its secret", func(p *plantation, d *driver) {
		d.must("open", step{Server: "stdio"})
		p.look()
		p.fails(d, "call", step{Server: "stdio", Tool: blurt}, failure.IsMCPProtocol)
		p.fails(d, "call", step{Server: "stdio", Tool: die}, isLost(failure.ReasonServerGone))
		p.tell("die", true)
		p.fails(d, "open", step{Server: "stdio"}, isOpen)
		p.tell("die", false)
	}},
	{"a loaded server over stdio that tells its secrets", func(p *plantation, d *driver) {
		d.must("open", step{Server: "loaded-stdio"})
		p.look()
		d.must("call", step{Server: "loaded-stdio", Tool: grumble})
		p.fails(d, "call", step{Server: "loaded-stdio", Tool: blurt}, failure.IsMCPProtocol)
		p.fails(d, "stateless", step{Server: "loaded-stdio", Tool: blurt}, failure.IsMCPProtocol)
		p.fails(d, "call", step{Server: "loaded-stdio", Tool: die}, isLost(failure.ReasonServerGone))
	}},
	{"scripts that hand on what they were told, and that panic", func(p *plantation, d *driver) {
		failed := func(err error) bool { return err != nil && !failure.IsScript(err) }
		fails := func(s step, is func(error) bool) {
			p.fails(d, "script", s, is)
			p.fails(d, "script in block", s, is)
		}
		relays := func(s step) {
			fails(s, failed) // as its call did
			p.tell("plain-script", true)
			fails(s, failure.IsScript)
			p.tell("plain-script", false)
		}
		for _, name := range []string{"stdio", "loaded", "bearer"} {
			d.must("open", step{Server: name})
			d.must("script", step{Server: name, Tool: fixture.Incr})
			d.must("script in block", step{Server: name, Tool: fixture.Incr})
		}
		relays(step{Server: "stdio", Tool: blurt})
		for _, name := range []string{"loaded", "bearer"} {
			for _, fault := range []siteFault{
				echoing(200, "application/json", echoRPC), echoing(422, "text/plain", echo), echoing(500, "text/plain", echo),
			} {
				p.sites[name].put(func(w http.ResponseWriter, request *http.Request, method string) bool {
					return method == "tools/call" && fault(w, request, method)
				})
				relays(step{Server: name, Tool: fixture.Incr})
			}
			p.sites[name].put(nil)
		}
		p.tell("panic-script", true)
		fails(step{Server: "loaded", Tool: fixture.Incr}, failure.IsScript)
		p.tell("panic-script", false)
		fails(step{Server: "stdio", Tool: die}, failed)
	}},
	{"a warm session that dies while it waits", func(p *plantation, d *driver) {
		for range 2 { // the second is started in the place of the first
			var waiting []int
			p.Eventually("a warm session waits", func() bool {
				waiting = fixture.Owned(warmVariable, p.config.Owner)
				return len(waiting) == 1
			})
			const death, birth = "a warm session was lost while it waited", "a warm session is ready"
			dead, ready := p.said(death), p.said(birth)
			if err := syscall.Kill(waiting[0], syscall.SIGTERM); err != nil {
				p.Fatal(err)
			}
			p.Eventually("its death is noticed", func() bool { return p.said(death) > dead })
			p.Eventually("there is another", func() bool { return p.said(birth) > ready })
		}
		d.must("open", step{Server: "warm"})
		p.fails(d, "call", step{Server: "warm", Tool: blurt}, failure.IsMCPProtocol)
		p.fails(d, "call", step{Server: "warm", Tool: die}, isLost(failure.ReasonServerGone))
	}},
	{"a host that is lost", func(p *plantation, d *driver) {
		d.must("open", step{Server: "bearer"})
		d.must("open", step{Server: "stdio"})
		p.look()
		p.host.kill()
		p.host = p.startHost(p.config)
		p.fails(d, "call", step{Server: "bearer", Tool: fixture.Incr}, isLost(failure.ReasonHostLost))
		p.fails(d, "call", step{Server: "stdio", Tool: fixture.Incr}, isLost(failure.ReasonHostLost))
	}},
}

// echoRPC is echo as a JSON-RPC error, with data.
func echoRPC(request *http.Request) string {
	id := "null"
	body, _ := io.ReadAll(request.Body)
	if _, after, ok := bytes.Cut(body, []byte(`"id":`)); ok {
		id = string(after[:bytes.IndexAny(after, ",}")])
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":%q,"data":{"said":%[2]q}}}`, id, "no: "+echo(request))
}

// No secret of a connector comes to be written by the library or the SDK, in whatever
// situation: secrets are planted, and looked for in all that is written. What a tool
// returns as its result is the one exception: it is the server's to tell.
func TestPlantedSecrets(t *testing.T) {
	t.Parallel()
	p := plantAll(t)
	for _, s := range situations {
		d := p.begin(fmt.Sprint(len(p.drivers)))
		began := time.Now()
		s.run(p, d)
		t.Logf("%s took %v", s.name, time.Since(began))
		if t.Failed() {
			t.Fatalf("in the situation: %s", s.name)
		}
	}
	p.look()
	p.host.stop()
	p.expectSilence()
}

// plantAll plants secrets and starts a host.
func plantAll(t *testing.T) *plantation {
	t.Helper()
	p := &plantation{own: make(map[string][]string), sites: make(map[string]*site), source: &secretSource{}}
	p.bundle = setupWith(t, func(options *client.Options) {
		options.Logger = sdklog.NewStructuredLogger(slog.New(slog.NewTextHandler(&p.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
		options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, tap(&p.wire))
	})
	p.config = hostConfig{
		TaskQueue: p.Hosts(), Owner: p.TaskQueue, Written: p.File("written"), Kept: p.File("kept"),
		Header: p.plant("header value"), Env: p.plant("environment value"), PanicHolds: p.plant("panic value"),
		Loaded: map[string]string{
			"LOADED_PATH": p.plant("part of a path"), "LOADED_QUERY": p.plant("query key"), "LOADED_HEADER": p.plant("header value"),
			"LOADED_ARGUMENT": p.plant("argument"), "LOADED_ENV": p.plant("environment value"),
		},
		Sites: make(map[string]string),
	}
	for _, directory := range []string{p.config.Written, p.config.Kept} {
		if err := os.Mkdir(directory, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.authorization = newAuthorizationServer(t, time.Hour)
	p.rotate(true)
	p.sites["header"] = newSite(t, nil, nil)
	p.sites["bearer"] = newSite(t, p.source.verify, nil)
	for _, name := range []string{"oauth", "login", "service"} {
		p.sites[name] = newSite(t, p.authorization.verify, p.authorization)
	}
	for _, name := range slices.Sorted(maps.Keys(p.sites)) {
		p.config.Sites[name] = p.sites[name].endpoint() + "?key=" + p.plant("query key")
	}
	p.sites["loaded"] = newSite(t, nil, nil)
	p.config.Sites["loaded"] = p.sites["loaded"].endpoint() // the file adds its secrets
	logIn(t, p.sites["oauth"], transport.FileTokenStore(filepath.Join(p.config.Kept, "grant")))
	p.host = p.startHost(p.config)
	return p
}
