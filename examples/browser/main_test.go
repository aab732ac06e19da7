package browser_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/examples/browser/playwright"
	"github.com/mcpsession/mcpsession/examples/internal/testserver"
	"github.com/mcpsession/mcpsession/transport"
)

var (
	server    testserver.Server
	installed playwright.Installation
	missing   error  // why there is no server and nothing installed
	programs  string // a directory for the example's programs, built by the first test that runs one
)

func TestMain(m *testing.M) {
	transport.Lifeline()
	slog.SetDefault(slog.New(slog.DiscardHandler)) // for what servers write
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	// The time is that of the installation, too.
	ctx, cancel := context.WithTimeout(context.Background(), testserver.StartTimeout)
	defer cancel()
	failed := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if installed, missing = playwright.Install(ctx); missing != nil {
		if os.Getenv("CI") != "" {
			failed(missing)
			return code
		}
		return m.Run() // the tests that need it are skipped
	}
	var err error
	if programs, err = os.MkdirTemp("", "browser-programs-"); err != nil {
		failed(err)
		return code
	}
	defer func() {
		if err := os.RemoveAll(programs); err != nil {
			failed(err)
		}
	}()
	if server.Server, err = launch.Connect(ctx, launch.Options{}); err != nil {
		failed(err)
		return code
	}
	code = m.Run()
	if err := server.Stop(); err != nil {
		failed(err)
	}
	if err := goleak.Find(); code == 0 && err != nil {
		failed(err)
	}
	return code
}
