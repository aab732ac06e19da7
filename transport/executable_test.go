//go:build unix

package transport_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpsession/mcpsession/transport"
)

// What no retry mends is told as such, at the connector or at Connect, with the
// name and what to do.
func TestNotExecutable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := write("plain", "no program", 0o600)
	write("garbage", "no program either", 0o700)
	write("script", "#!/nowhere/interpreter\n", 0o700)
	if err := os.Symlink(plain, filepath.Join(dir, "link-to-plain")); err != nil {
		t.Fatal(err)
	}

	for _, test := range []struct {
		command string
		options transport.CommandOptions
		reason  string
		says    string
	}{
		{"no-such-server", transport.CommandOptions{}, "executable-not-found", "set PATH in CommandOptions.Env"},
		{"npx -y server", transport.CommandOptions{}, "executable-not-found", "arguments are given one by one"},
		{"sh", transport.CommandOptions{Env: []string{"PATH=" + dir}}, "executable-not-found", "install it"},
		{"sh", transport.CommandOptions{Env: []string{"PATH="}}, "executable-not-found", "the server's PATH"},
		{"/no/such/server", transport.CommandOptions{}, "executable-not-found", `"/no/such/server"`},
		{"./no-such-server", transport.CommandOptions{Dir: dir}, "executable-not-found", dir},
		{"./script", transport.CommandOptions{Dir: dir}, "executable-not-found", "the interpreter"},
		{"./plain", transport.CommandOptions{Dir: dir}, "not-executable", "set its mode"},
		{"./link-to-plain", transport.CommandOptions{Dir: dir}, "not-executable", "set its mode"},
		{"plain", transport.CommandOptions{Env: []string{"PATH=" + dir}}, "not-executable", "set its mode"},
		{dir, transport.CommandOptions{}, "not-executable", dir},
		{"./garbage", transport.CommandOptions{Dir: dir}, "not-executable", "no program for this system"},
		{"sh", transport.CommandOptions{Dir: filepath.Join(dir, "missing")}, "directory-not-found", "CommandOptions.Dir"},
		{"sh", transport.CommandOptions{Dir: plain}, "directory-not-found", "is not a directory"},
	} {
		for name, change := range lifelines() {
			t.Run(name+"/"+test.command, func(t *testing.T) {
				t.Parallel()
				err := failedStart(t, change(transport.CommandWithOptions(test.options, test.command)))
				var permanent *transport.PermanentError
				if !errors.As(err, &permanent) || permanent.Reason != test.reason {
					t.Fatalf("the error %v is not permanent for the reason %s", err, test.reason)
				}
				for _, part := range []string{test.command, test.says} {
					if !strings.Contains(err.Error(), part) {
						t.Errorf("the error %q does not say %q", err, part)
					}
				}
			})
		}
	}
}

// failedStart returns the error of the connector or of Connect.
func failedStart(t *testing.T, connector transport.Connector) error {
	t.Helper()
	for {
		made, err := connector(t.Context(), nil)
		if err == nil {
			_, err = made.Connect(t.Context())
		}
		if err == nil {
			t.Fatal("the server was started")
		}
		// Another test that forks just now holds our new files open.
		if !strings.Contains(err.Error(), "text file busy") {
			return err
		}
	}
}

// Options that make no sense are refused, and the refusal holds no value.
func TestBadOptions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		command string
		options transport.CommandOptions
		says    string
	}{
		{"no name", "", transport.CommandOptions{}, "name is empty"},
		{"no equal sign", "sh", transport.CommandOptions{Env: []string{"the-secret"}}, `"KEY=value"`},
		{"no key", "sh", transport.CommandOptions{Env: []string{"=the-secret"}}, `"KEY=value"`},
		{"zero byte", "sh", transport.CommandOptions{Env: []string{"KEY=the-secret\x00"}}, "KEY holds a zero byte"},
		{"inherited value", "sh", transport.CommandOptions{InheritEnv: []string{"KEY=the-secret"}}, "set \"KEY=value\" in Env"},
		{"tail", "sh", transport.CommandOptions{StderrTail: -1}, "StderrTail is -1"},
		{"close timeout", "sh", transport.CommandOptions{CloseTimeout: -time.Second}, "CloseTimeout is -1s"},
		{"kill timeout", "sh", transport.CommandOptions{KillTimeout: -time.Second}, "KillTimeout is -1s"},
		{"message", "sh", transport.CommandOptions{MaxMessage: -1}, "MaxMessage is -1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			_, err := transport.CommandWithOptions(test.options, test.command)(t.Context(), nil)
			var permanent *transport.PermanentError
			if !errors.As(err, &permanent) || permanent.Reason != "bad-option" {
				t.Fatalf("the error is %v", err)
			}
			if !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "the-secret") {
				t.Errorf("the error is %q", err)
			}
		})
	}
}

func TestConnectorWhenDone(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, connector := range map[string]transport.Connector{
		"command":   transport.Command("sh"),
		"in memory": transport.InMemory(nil),
	} {
		if _, err := connector(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the connector returned %v", name, err)
		}
	}
}
