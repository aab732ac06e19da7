package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The lines of a file that hold writes.
const (
	holding   = "holding"
	letGo     = "let go"
	cancelled = "cancelled"
)

// hold waits until there is a file beside its own with the suffix .go.
func hold(ctx context.Context, _ json.RawMessage) (*mcp.CallToolResult, error) {
	path := os.Getenv(holdVariable)
	write := func(line string) error {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		_, err = file.WriteString(line + "\n")
		return errors.Join(err, file.Close())
	}
	if err := write(holding); err != nil {
		return nil, err
	}
	for {
		if _, err := os.Stat(path + ".go"); err == nil {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: letGo}}}, write(letGo)
		}
		select {
		case <-ctx.Done():
			return nil, write(cancelled)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// held returns what hold has written to a file.
func held(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return strings.Fields(strings.ReplaceAll(string(text), letGo, "letgo"))
}
