package queue_test

import (
	"strings"
	"testing"

	"github.com/mcpsession/mcpsession/queue"
)

func TestNameAndParseAreInverse(t *testing.T) {
	t.Parallel()
	name := queue.Name("browser", "0199-run", "k3y")
	if name != "browser@0199-run/k3y" {
		t.Fatalf("Name = %q", name)
	}
	server, runID, key, ok := queue.Parse(name)
	if !ok || server != "browser" || runID != "0199-run" || key != "k3y" {
		t.Fatalf("Parse(%q) = %q, %q, %q, %v", name, server, runID, key, ok)
	}
}

func TestParseRefusesOtherTaskQueues(t *testing.T) {
	t.Parallel()
	for _, taskQueue := range []string{
		"", "agents", "browser@", "browser@run", "browser@run/", "@run/key", "a@b@c/d", "a@b/c/d", "br owser@run/key", "a/b@c",
	} {
		if server, runID, key, ok := queue.Parse(taskQueue); ok {
			t.Errorf("Parse(%q) = %q, %q, %q, true", taskQueue, server, runID, key)
		}
	}
}

// A malformed name must be refused with the name and the offending character in
// the error, since this error is all that a user sees.
func TestValidateServerNamesTheFault(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"":                       "empty",
		"a@b":                    "'@'",
		"a/b":                    "'/'",
		"a.b":                    "'.'",
		"a b":                    "' '",
		"bröwser":                "'ö'",
		strings.Repeat("x", 65):  "65 bytes",
		strings.Repeat("x", 1e6): "1000000 bytes",
	} {
		err := queue.ValidateServer(name)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ValidateServer(%.20q) = %v, want a mention of %q", name, err, want)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("ValidateServer(%.20q) gives an error of %d bytes", name, len(err.Error()))
		}
	}
	for _, name := range []string{"browser", "a", "A-1_b", strings.Repeat("x", 64)} {
		if err := queue.ValidateServer(name); err != nil {
			t.Errorf("ValidateServer(%q) = %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("browser@run/key")
	f.Add("@/")
	f.Fuzz(func(t *testing.T, taskQueue string) {
		server, runID, key, ok := queue.Parse(taskQueue)
		if ok && queue.Name(server, runID, key) != taskQueue {
			t.Fatalf("Parse(%q) = %q, %q, %q, which is another name", taskQueue, server, runID, key)
		}
	})
}
