package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var codeBlock = regexp.MustCompile("(?s)```go\n(.*?)```")

// Every Go block of the README is the text of a file that is compiled here, line
// by line: what is shown is what works.
func TestReadmeCodeCompiles(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var compiled string
	entries, err := os.ReadDir("readme")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		source, err := os.ReadFile("readme/" + entry.Name())
		if err != nil {
			t.Fatal(err)
		}
		compiled += string(source) + "\n"
	}
	blocks := codeBlock.FindAllSubmatch(readme, -1)
	if len(blocks) < 2 {
		t.Fatalf("README.md has %d Go blocks; a worker and a workflow at least were expected", len(blocks))
	}
	for _, block := range blocks {
		if !strings.Contains(compiled, string(block[1])) {
			t.Errorf("this block of README.md is in no file of tests/readme:\n%s", block[1])
		}
	}
}

var (
	namedTest   = regexp.MustCompile(`\bTest[A-Z]\w+`)
	declaredAny = regexp.MustCompile(`(?m)^func (Test[A-Z]\w+)\(`)
)

// Every test that the README names is there.
func TestReadmeNamesTests(t *testing.T) {
	t.Parallel()
	declared := make(map[string]bool)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, match := range declaredAny.FindAllSubmatch(source, -1) {
			declared[string(match[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	named := namedTest.FindAllString(string(readme), -1)
	if len(named) == 0 {
		t.Error("README.md names no test")
	}
	for _, name := range named {
		if !declared[name] {
			t.Errorf("README.md names %s, which is nowhere", name)
		}
	}
}
