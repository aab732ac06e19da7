package stateless_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mcpsession/mcpsession/devserver/launch"
	"github.com/mcpsession/mcpsession/examples/internal/program"
)

// startTimeout is for the first build of the devserver.
const startTimeout = 20 * time.Minute

var (
	server   *launch.Server
	programs string // the directory of the example's programs
)

func TestMain(m *testing.M) {
	code := 1
	if err := run(func() { code = m.Run() }); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(tests func()) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	if programs, err = os.MkdirTemp("", "stateless-programs-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(programs)) }()
	if said, err := program.Build(programs, "./worker", "./starter"); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, said)
	}
	if server, err = launch.Connect(ctx, launch.Options{}); err != nil {
		return err
	}
	tests()
	return errors.Join(server.Stop(), goleak.Find())
}
