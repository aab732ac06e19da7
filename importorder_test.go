package mcpsession_test

import (
	"go/build"
	"os"
	"strings"
	"testing"
)

// The packages in import order: each may import those before it, and no other of
// ours. Workflow code must have no way to a connection.
var importOrder = []struct {
	name    string
	imports []string
}{
	{"failure", nil},
	{"queue", []string{"failure"}},
	{"heartbeat", []string{"failure", "queue"}},
	{"internal/thrown", nil},
	{"internal/header", nil},
	{"transport", []string{"failure", "queue", "heartbeat", "internal/thrown", "internal/header"}},
	{"internal/calls", []string{"failure", "queue"}},
	{"internal/hostless", []string{"failure", "queue", "transport"}},
	{"session", []string{"failure", "queue", "heartbeat", "transport", "internal/thrown", "internal/header", "internal/calls", "internal/hostless"}},
	{"toolset", []string{"failure", "queue", "heartbeat", "internal/calls"}}, // of heartbeat, the markers
	{"stateless", []string{"failure", "queue", "internal/calls", "toolset"}},
	{"toolsettest", []string{"failure", "queue", "heartbeat", "transport", "internal/hostless", "session"}},
}

func TestImportOrder(t *testing.T) {
	t.Parallel()
	const module = "github.com/mcpsession/mcpsession/"
	for _, p := range importOrder {
		directory, err := build.ImportDir(p.name, 0)
		if err != nil {
			t.Fatal(err)
		}
		allowed := make(map[string]bool)
		for _, name := range p.imports {
			allowed[module+name] = true
		}
		for _, path := range directory.Imports {
			if strings.HasPrefix(path, module) && !allowed[path] {
				t.Errorf("package %s imports %s; it may import %v", p.name, path, p.imports)
			}
		}
	}
}

// A package that nobody has put into the order is held by nothing.
func TestImportOrderIsComplete(t *testing.T) {
	t.Parallel()
	known := map[string]bool{
		"tests": true, "replaytests": true, "examples": true, "bench": true, "devserver": true, // built on all of it
	}
	for _, p := range importOrder {
		known[p.name] = true
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() && !strings.HasPrefix(entry.Name(), ".") && !known[entry.Name()] {
			if p, err := build.ImportDir(entry.Name(), 0); err == nil && len(p.GoFiles) > 0 {
				t.Errorf("package %s has no place in the import order", entry.Name())
			}
		}
	}
}
