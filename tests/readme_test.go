package tests

import (
	"os"
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
