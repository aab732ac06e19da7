package launch

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// limit bounds every wait for a process.
const limit = time.Minute

// connectAndWait makes the test binary a program that connects, prints the server's address, and never stops it.
const connectAndWait = "LAUNCH_TEST_CONNECT_AND_WAIT"

func TestMain(m *testing.M) {
	if os.Getenv(connectAndWait) != "" {
		server, err := Connect(context.Background(), Options{})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(server.Address)
		select {}
	}
	goleak.VerifyTestMain(m)
}

// unconfigured takes every Temporal client configuration of this machine away.
func unconfigured(t *testing.T) {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "TEMPORAL_") {
			t.Setenv(name, "") // To have it back at the end.
			os.Unsetenv(name)
		}
	}
	t.Setenv("TEMPORAL_CONFIG_FILE", filepath.Join(t.TempDir(), "none.toml"))
}

// standIn is a program that behaves to its caller as the devserver does, and is compiled in a moment. By -namespace, the one
// value that tests choose freely, it can be told to behave otherwise.
const standIn = `package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

func main() {
	namespace := os.Args[slices.Index(os.Args, "-namespace")+1]
	switch namespace {
	case "fails":
		fmt.Fprintln(os.Stderr, "the port is taken")
		os.Exit(3)
	case "hangs":
		fmt.Fprintln(os.Stderr, "hanging")
		<-time.After(time.Hour)
	}
	fmt.Println("something else first")
	fmt.Println("devserver ready address=127.0.0.1:4711 ui=none namespaces=" + namespace)
	fmt.Fprintln(os.Stderr, "serving", namespace)
	switch namespace {
	case "dies":
		os.Exit(4)
	case "stubborn":
		<-time.After(time.Hour)
	}
	io.Copy(io.Discard, os.Stdin)
}
`

// standInCheckout makes the working directory one in a checkout whose devserver is the stand-in, with an empty cache, and
// returns the directory of its devserver.
func standInCheckout(t *testing.T) string {
	t.Helper()
	unconfigured(t)
	emptyCache(t)
	checkout := t.TempDir()
	devserver := filepath.Join(checkout, "devserver")
	below := filepath.Join(checkout, "examples", "deep")
	for _, directory := range []string{devserver, below} {
		if err := os.MkdirAll(directory, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(devserver, "go.mod"), "module "+devserverModule+"\n\ngo 1.26\n")
	write(t, filepath.Join(devserver, "go.sum"), "")
	write(t, filepath.Join(devserver, "main.go"), standIn)
	t.Chdir(below)
	return devserver
}

// emptyCache gives the test a cache of programs of its own, and lets the go command have what it has compiled.
func emptyCache(t *testing.T) {
	t.Helper()
	compiled, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(compiled)))
	switch directory := t.TempDir(); runtime.GOOS {
	case "windows":
		t.Setenv("LocalAppData", directory)
	case "darwin":
		t.Setenv("HOME", directory)
	default:
		t.Setenv("XDG_CACHE_HOME", directory)
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// transcript collects what is written by several goroutines.
type transcript struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *transcript) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *transcript) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func wantError(t *testing.T, err error, says ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one that says %q", says)
	}
	for _, part := range says {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q, want it to say %q", err, part)
		}
	}
}
