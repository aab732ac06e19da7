package browser_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mcpsession/mcpsession/examples/internal/program"
)

// The programs do what the package comment says, each way.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, way := range []string{stdio, http} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			b := setup(t, stdio) // a server over HTTP is a program here, too
			arguments := []string{"-task-queue", b.taskQueue}
			if way == http {
				server := b.program("server", "-port", "0")
				arguments = append(arguments, "-url", server.AwaitOutput(regexp.MustCompile(`"url": "(\S+)"`)))
			}
			b.program("worker", arguments...)
			starter := b.program("starter", "-task-queue", b.taskQueue)
			if err := starter.Wait(); err != nil {
				t.Errorf("starter: %v", err)
			}
			for _, want := range []string{
				"the shop said: " + orderSaid,
				"over the limit of 2097152",
				"the picture is image/jpeg of ",
			} {
				if !strings.Contains(starter.Output(), want) {
					t.Errorf("the starter does not say %q", want)
				}
			}
		})
	}
}

var build = sync.OnceValue(func() error {
	if said, err := program.Build(programs, "./server", "./worker", "./starter"); err != nil {
		return fmt.Errorf("go build: %w\n%s", err, said)
	}
	return nil
})

// program starts a program that has the bundle's directory as its temporary one.
func (b *bundle) program(name string, arguments ...string) *program.Program {
	b.Helper()
	if err := build(); err != nil {
		b.Fatal(err)
	}
	environ := append(server.Environ(), "TMPDIR="+b.scratch)
	return program.Start(b.ctx, b, filepath.Join(programs, name), environ, arguments...)
}
