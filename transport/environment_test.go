//go:build unix

package transport_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcpsession/mcpsession/transport"
)

// A server gets the base set, what is named, and nothing else of the worker's
// environment. (C22)
func TestEnvironment(t *testing.T) {
	t.Setenv("HOME", "/home/of-the-worker")
	t.Setenv("LANG", "C.UTF-8")
	t.Setenv("LC_TIME", "C")
	t.Setenv("TZ", "UTC")
	t.Setenv("TERM", "() { :; }; a function that a shell exports")
	t.Setenv("SECRET_A", "secret of the worker")
	t.Setenv("SECRET_B", "another secret of the worker")
	path := os.Getenv("PATH")

	for _, test := range []struct {
		name    string
		options transport.CommandOptions
		want    []string
		without []string
	}{
		{
			name:    "the base set",
			want:    []string{"HOME=/home/of-the-worker", "LANG=C.UTF-8", "LC_TIME=C", "PATH=" + path, "TZ=UTC"},
			without: []string{"SECRET_A", "SECRET_B", "TERM", transport.LifelineVariable},
		},
		{
			name:    "a variable of its own",
			options: transport.CommandOptions{Env: []string{"X=1", "EMPTY=", "EQUAL=a=b"}},
			want:    []string{"X=1", "EMPTY=", "EQUAL=a=b", "HOME=/home/of-the-worker"},
			without: []string{"SECRET_A", "SECRET_B"},
		},
		{
			name:    "an explicit PATH wins",
			options: transport.CommandOptions{Env: []string{"PATH=/of/its/own"}},
			want:    []string{"PATH=/of/its/own"},
		},
		{
			name:    "the last of two wins",
			options: transport.CommandOptions{Env: []string{"X=1", "X=2"}},
			want:    []string{"X=2"},
		},
		{
			name:    "inherited by name",
			options: transport.CommandOptions{InheritEnv: []string{"SECRET_A", "NOT_SET_ON_THE_WORKER"}},
			want:    []string{"SECRET_A=secret of the worker"},
			without: []string{"SECRET_B", "NOT_SET_ON_THE_WORKER"},
		},
		{
			name: "Env wins over InheritEnv",
			options: transport.CommandOptions{
				InheritEnv: []string{"SECRET_A"},
				Env:        []string{"SECRET_A=of its own"},
			},
			want: []string{"SECRET_A=of its own"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, change := range lifelines() {
				t.Run(name, func(t *testing.T) {
					session, _ := open(t, change(stdioServer(t, switches{}, test.options)))
					got := mustCall[place](t, session, "place", nil).Environment
					for _, entry := range test.want {
						key, _, _ := strings.Cut(entry, "=")
						if there := entriesOf(got, key); !slices.Equal(there, []string{entry}) {
							t.Errorf("the server has %q, not %q", there, entry)
						}
					}
					for _, key := range test.without {
						if there := entriesOf(got, key); len(there) > 0 {
							t.Errorf("the server has %q", there)
						}
					}
				})
			}
		})
	}
}

func entriesOf(environment []string, key string) (entries []string) {
	for _, entry := range environment {
		if strings.HasPrefix(entry, key+"=") {
			entries = append(entries, entry)
		}
	}
	return entries
}

// Each session reads the worker's environment anew, and the options are the
// caller's to change.
func TestEnvironmentIsReadAtEachStart(t *testing.T) {
	options := transport.CommandOptions{
		Env:        append(switches{}.environment(roleServer), "X=before"),
		InheritEnv: []string{"ROTATED"},
		Logger:     quiet,
	}
	connector := transport.CommandWithOptions(options, executable(t))
	options.Env[len(options.Env)-1] = "X=after"
	options.InheritEnv[0] = "NOTHING"

	for _, value := range []string{"first", "second"} {
		t.Setenv("ROTATED", value)
		session, _ := open(t, connector)
		got := mustCall[place](t, session, "place", nil).Environment
		if !slices.Contains(got, "ROTATED="+value) || !slices.Contains(got, "X=before") {
			t.Errorf("the server has %q", got)
		}
	}
}

// A relative command with a slash is meant relative to Dir, a bare name is
// looked up in the server's own PATH. (C22)
func TestDirectoryAndLookup(t *testing.T) {
	t.Parallel()
	for name, change := range lifelines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(executable(t), filepath.Join(dir, "bin", "the-server")); err != nil {
				t.Fatal(err)
			}
			environment := switches{}.environment(roleServer)
			for _, test := range []struct {
				command string
				options transport.CommandOptions
			}{
				{"bin/the-server", transport.CommandOptions{Dir: dir, Env: environment}},
				{"./bin/../bin/the-server", transport.CommandOptions{Dir: dir, Env: environment}},
				{"the-server", transport.CommandOptions{
					Dir: dir,
					Env: append(environment, "PATH=relative::/nowhere:"+filepath.Join(dir, "bin")),
				}},
				{filepath.Join(dir, "bin", "the-server"), transport.CommandOptions{Dir: dir, Env: environment}},
			} {
				test.options.Logger = quiet
				session, _ := open(t, change(transport.CommandWithOptions(test.options, test.command)))
				if got := mustCall[place](t, session, "place", nil).Directory; got != dir {
					t.Errorf("%s runs in %q, not in %q", test.command, got, dir)
				}
			}
		})
	}
}
