package interop

import (
	"bytes"
	"context"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"
)

// A site is a server over HTTP, in a process of its own.
type site struct {
	*bundle
	over transportKind
	run  func(*place) program
	port string
	path string

	stdin io.Closer     // of the keeper; its end is the server's
	gone  chan struct{} // closed when both have ended
	said  *bytes.Buffer // of both, when they have ended
}

// site runs a server on a free port of the loopback.
func (b *bundle) site(over transportKind, run func(*place) program) *site {
	b.Helper()
	s := &site{bundle: b, over: over, run: run}
	b.Cleanup(func() { s.kill() })
	for range startAttempts {
		s.port = b.freePort()
		if s.start() {
			return s
		}
	}
	b.Fatalf("the server does not start:\n%s", s.said)
	return nil
}

// startAttempts is how often a server is started that ends before it listens:
// another may have taken the port.
const startAttempts = 5

// restart runs it again where it was.
func (s *site) restart() {
	s.Helper()
	for range startAttempts {
		if s.start() {
			return
		}
	}
	s.Fatalf("the server does not start again on port %s:\n%s", s.port, s.said)
}

// start runs the server and returns whether it listens.
func (s *site) start() bool {
	s.Helper()
	p := s.run(&place{T: s.T, over: s.over, dir: s.dir, port: s.port})
	s.path = p.path
	keeper := exec.Command(os.Args[0], append([]string{p.name}, p.args...)...)
	keeper.Dir = p.dir
	keeper.Env = slices.Concat(os.Environ(), p.env, s.owned("site"), []string{roleVariable + "=keeper", exitAtOnce})
	s.said, s.gone = new(bytes.Buffer), make(chan struct{})
	keeper.Stdout, keeper.Stderr = s.said, s.said
	stdin, err := keeper.StdinPipe()
	if err == nil {
		err = keeper.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	s.stdin = stdin
	go func(gone chan struct{}) {
		_ = keeper.Wait()
		close(gone)
	}(s.gone)
	return s.listens()
}

// listens waits until somebody can connect, or the server has ended.
func (s *site) listens() bool {
	s.Helper()
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	var dialer net.Dialer
	for {
		select {
		case <-s.gone:
			return false
		case <-s.ctx.Done():
			s.Fatalf("the server does not listen on port %s", s.port)
		case <-pause.C:
		}
		if connection, err := dialer.DialContext(s.ctx, "tcp", "127.0.0.1:"+s.port); err == nil {
			_ = connection.Close()
			return true
		}
	}
}

// kill ends the server as an out-of-memory killer does, and waits until it is gone.
func (s *site) kill() {
	if s.stdin != nil {
		_ = s.stdin.Close()
		<-s.gone
	}
}

func (s *site) url() string { return "http://127.0.0.1:" + s.port + s.path }

// Servers listen below the ports that systems give to whoever asks for any, since
// it takes them seconds to start: one of those would be another's by then.
const lowestPort, ports = 20000, 12000

// given are the ports that this process has given to servers.
var given sync.Map

// freePort returns a port that was free a moment ago, and that no other row has.
func (b *bundle) freePort() string {
	b.Helper()
	for b.ctx.Err() == nil {
		port := fmt.Sprint(lowestPort + mathrand.IntN(ports))
		if _, taken := given.LoadOrStore(port, true); taken {
			continue
		}
		if listener, err := net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			_ = listener.Close()
			return port
		}
	}
	b.Fatal("no port is free")
	return ""
}

// exitAtOnce keeps the race detector from sleeping for a second at a process's
// exit.
const exitAtOnce = "GORACE=atexit_sleep_ms=0"

// keep is the keeper's role: it runs the command that its arguments are, and kills
// it when its own input ends. So a server does not outlive its test, however that
// ends.
func keep() {
	_ = os.Unsetenv(roleVariable)
	ctx, end := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end()
	}()
	kept := exec.CommandContext(ctx, os.Args[1], os.Args[2:]...)
	kept.Stdout, kept.Stderr = os.Stderr, os.Stderr
	err := kept.Run()
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "keeper:", err)
		os.Exit(1)
	}
}
