package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpsession/mcpsession/devserver/launch"
)

const (
	// startTimeout is for the first build of the devserver.
	startTimeout = 20 * time.Minute
	// roleVariable makes the test binary an MCP server.
	roleVariable = "MCPSESSION_TEST_ROLE"
)

var (
	devserver *launch.Server
	program   string // the program under test, as it is built for users
)

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		serve()
		return
	}
	code := 1
	if err := testAll(func() { code = m.Run() }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func testAll(tests func()) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	directory, err := os.MkdirTemp("", "mcpsession-program-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(directory)) }()
	program = filepath.Join(directory, "mcpsession.exe") // only Windows minds how it ends
	if said, err := exec.CommandContext(ctx, "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, said)
	}
	if signal.Ignored(syscall.SIGHUP) {
		// As nohup leaves it. The program would inherit that; what is caught here, it does not.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	if devserver, err = launch.Connect(ctx, launch.Options{}); err != nil {
		return err
	}
	tests()
	return errors.Join(devserver.Stop(), goleak.Find())
}
