// Package soak runs random workflows for a while, kills hosts of sessions and MCP
// servers at random meanwhile, and checks every answer against what its block
// wrote. See TestSoak.
package soak

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/transport"
)

// roleVariable makes this binary something else than a test: the processes that
// the test starts are itself.
const roleVariable = "MCPSESSION_SOAK_ROLE"

// The roles.
const (
	roleHost  = "host"
	roleStdio = "stdio"
	roleHTTP  = "http"
)

// ownerVariable is in the environment of every process that the test has started,
// directly or not.
const ownerVariable = "MCPSESSION_SOAK_OWNER"

const startTimeout = 20 * time.Minute // a first build of the embedded server is slow

var server *launch.Server

func TestMain(m *testing.M) {
	transport.Lifeline()
	var err error
	switch os.Getenv(roleVariable) {
	case roleHost:
		err = runHost()
	case roleStdio:
		err = serveStdio()
	case roleHTTP:
		err = serveHTTP()
	default:
		os.Exit(run(m))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	var err error
	if server, err = launch.Connect(ctx, launch.Options{}); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		return 1
	}
	code := m.Run()
	if err := server.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		code = 1
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, "soak: goroutines are left:", err)
			code = 1
		}
	}
	return code
}
