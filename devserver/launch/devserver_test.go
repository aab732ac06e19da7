package launch

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// The real devserver is built from this checkout, serves the namespace, and is gone after Stop.
func TestConnectStartsADevserver(t *testing.T) {
	if testing.Short() {
		t.Skip("the first build takes minutes")
	}
	unconfigured(t)
	server, err := Connect(t.Context(), Options{Namespace: "agents"})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Stop()
	options, err := server.ClientOptions()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c, err := client.DialContext(ctx, options)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{
		Namespace: "agents",
	}); err != nil {
		t.Error(err)
	}

	if err := server.Stop(); err != nil {
		t.Error(err)
	}
	if server.process.command.ProcessState == nil {
		t.Error("the process isn't reaped")
	}
	awaitRefused(t, server.Address)
}

// A devserver doesn't outlive the program that started it, not even one that is killed and so can't stop it.
func TestDevserverEndsWithItsStarter(t *testing.T) {
	if testing.Short() {
		t.Skip("the first build takes minutes")
	}
	unconfigured(t)
	starter := exec.Command(os.Args[0])
	starter.Env = append(os.Environ(), connectAndWait+"=1")
	starter.Stderr = os.Stderr
	stdout, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	address, err := bufio.NewReader(stdout).ReadString('\n')
	if kill := starter.Process.Kill(); kill != nil {
		t.Fatal(kill)
	}
	_ = starter.Wait()
	if err != nil {
		t.Fatalf("the starter printed no address: %v", err)
	}
	awaitRefused(t, strings.TrimSpace(address))
}

// awaitRefused returns when nothing listens at the address any more.
func awaitRefused(t *testing.T, address string) {
	t.Helper()
	deadline := time.After(limit)
	pause := time.NewTicker(10 * time.Millisecond)
	defer pause.Stop()
	for {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		connection.Close()
		select {
		case <-pause.C:
		case <-deadline:
			t.Fatalf("the server still listens at %s after %v", address, limit)
		}
	}
}
