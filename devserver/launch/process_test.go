package launch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// connectStandIn starts the stand-in with the namespace that tells it what to do.
func connectStandIn(ctx context.Context, t *testing.T, namespace string, log *transcript) (*Server, error) {
	t.Helper()
	standInCheckout(t)
	return Connect(ctx, Options{Namespace: namespace, LogOutput: log})
}

// A started server is described, stops cleanly, and is reaped; a second Stop returns the same.
func TestStartAndStop(t *testing.T) {
	var log transcript
	server, err := connectStandIn(t.Context(), t, "agents", &log)
	if err != nil {
		t.Fatal(err)
	}
	if server.Address != "127.0.0.1:4711" || server.Namespace != "agents" || !server.Embedded {
		t.Errorf("server %s, %s, %t; want 127.0.0.1:4711, agents, true", server.Address, server.Namespace, server.Embedded)
	}
	for range 2 {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	}
	if server.process.command.ProcessState == nil {
		t.Error("the process isn't reaped")
	}
	if !strings.Contains(log.String(), "serving agents") {
		t.Errorf("log %q, want what the server writes", log.String())
	}
}

// A server that doesn't come up is an error with its own words in it, and so is one that went away.
func TestServerEndsByItself(t *testing.T) {
	t.Run("before it is ready", func(t *testing.T) {
		_, err := connectStandIn(t.Context(), t, "fails", &transcript{})
		wantError(t, err, "before it was ready", "exit status 3", "the port is taken")
	})
	t.Run("after it was ready", func(t *testing.T) {
		server, err := connectStandIn(t.Context(), t, "dies", &transcript{})
		if err != nil {
			t.Fatal(err)
		}
		<-server.process.exited
		for range 2 {
			wantError(t, server.Stop(), "before it was stopped", "exit status 4", "serving dies")
		}
	})
}

// The context bounds the start: no process is left when it ends.
func TestContextEndsWhileStarting(t *testing.T) {
	standInCheckout(t)
	if _, err := Build(t.Context(), &transcript{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	log := &cancelOnWrite{cancel: cancel}
	_, err := Connect(ctx, Options{Namespace: "hangs", LogOutput: log})
	if !errors.Is(err, context.Canceled) || log.text.String() != "hanging\n" {
		t.Fatalf("error %v and log %q, want the context's error and hanging", err, log.text.String())
	}
}

// A server that won't stop is killed, and that is an error.
func TestStubbornServerIsKilled(t *testing.T) {
	server, err := connectStandIn(t.Context(), t, "stubborn", &transcript{})
	if err != nil {
		t.Fatal(err)
	}
	server.process.patience = 100 * time.Millisecond
	wantError(t, server.Stop(), "was killed")
	if server.process.command.ProcessState == nil {
		t.Error("the process isn't reaped")
	}
}
