package tests

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// A proxy stands between a host and the Temporal server. While it is cut, bytes
// go neither way, and nobody is told.
type proxy struct {
	listener net.Listener
	done     sync.WaitGroup

	mu    sync.Mutex
	open  *sync.Cond
	cut   bool
	over  bool
	conns []net.Conn
}

func (b *bundle) startProxy() *proxy {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	p := &proxy{listener: listener}
	p.open = sync.NewCond(&p.mu)
	p.done.Go(p.accept)
	b.Cleanup(p.close)
	return p
}

func (p *proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", server.Address)
		if err != nil {
			_ = near.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, near, far)
		p.mu.Unlock()
		p.done.Go(func() { p.forward(far, near) })
		p.done.Go(func() { p.forward(near, far) })
	}
}

func (p *proxy) forward(to, from net.Conn) {
	defer to.Close()
	_, _ = io.Copy(gatedWriter{p, to}, from)
}

// A gatedWriter holds what it gets while the proxy is cut.
type gatedWriter struct {
	*proxy
	to io.Writer
}

func (w gatedWriter) Write(data []byte) (int, error) {
	w.mu.Lock()
	for w.cut && !w.over {
		w.open.Wait()
	}
	w.mu.Unlock()
	return w.to.Write(data)
}

func (p *proxy) setCut(cut bool) {
	p.mu.Lock()
	p.cut = cut
	p.mu.Unlock()
	p.open.Broadcast()
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.over = true
	for _, conn := range p.conns {
		_ = conn.Close()
	}
	p.mu.Unlock()
	p.open.Broadcast()
	p.done.Wait()
}

// A host is cut off from the server for longer than its heartbeat timeout, a call
// in flight. It knows by itself when it is no longer the session's owner: it ends
// the call and the MCP server, with nobody telling it to. The workflow is told by
// the server. Once the network is back the host takes sessions again.
func TestHostCutOff(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	p := b.startProxy()
	options, err := server.ClientOptions()
	if err != nil {
		t.Fatal(err)
	}
	options.HostPort, options.Logger = p.listener.Addr().String(), quiet{}
	c, err := client.DialContext(b.ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	onProxy := *b
	onProxy.client = c
	onProxy.host(worker.Options{MaxConcurrentActivityExecutionSize: 1}, session.Options{})
	t.Cleanup(func() { p.setCut(false) })

	d := b.drive(b.options(shortHeartbeat))
	block := d.open()
	pid := block.pid()
	arguments := fixture.BlockArguments{Began: b.file("began"), Canceled: b.file("canceled")}
	pending := block.beginCall(fixture.Block, arguments)
	b.awaitLines(arguments.Began, 1)
	b.startHost(hostConfig{Name: "other", Sessions: 1})

	cut := time.Now()
	p.setCut(true)
	b.awaitGone(pid)
	b.toldAfter(cut, "the MCP server was gone")
	b.awaitLines(arguments.Canceled, 1)
	details := b.wantLoss(pending.err(), failure.ReasonHostLost, failure.RanUnknown)
	b.toldAfter(cut, "the call failed")
	if details.Host != block.Host || details.Attempt != 1 {
		t.Errorf("the failure names attempt %d on %q", details.Attempt, details.Host)
	}
	b.wantConnects("here")

	p.setCut(false)
	// The other host has room for one: of two blocks one is on the host that was
	// cut off.
	one, two := d.open(), d.open()
	if one.Host == two.Host {
		t.Errorf("both new blocks are on %q", one.Host)
	}
	for _, again := range []*drivenBlock{one, two} {
		again.wantCounter(0)
		if err := again.close(); err != nil {
			t.Error(err)
		}
	}
}
