// Package notebook is an MCP server over HTTP. It gives each session an empty
// notebook of its own, and asks everybody for a token.
package notebook

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Handler returns the server. Who comes must bring what token returns at that time,
// as a bearer token.
func Handler(token func() (string, error)) http.Handler {
	sessions := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newNotebook() }, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want, err := token()
		if err != nil {
			http.Error(w, "the token can't be read", http.StatusInternalServerError)
			return
		}
		got := r.Header.Get("Authorization")
		if subtle.ConstantTimeCompare([]byte(got), []byte("Bearer "+want)) != 1 {
			// It repeats a secret, which one should not do and some servers do.
			http.Error(w, fmt.Sprintf("%q is not allowed here", got), http.StatusUnauthorized)
			return
		}
		sessions.ServeHTTP(w, r)
	})
}

// Note is what the tool add_note is given.
type Note struct {
	Text string `json:"text" jsonschema:"what to write down"`
}

func newNotebook() *mcp.Server {
	var mu sync.Mutex
	notes := []string{}
	server := mcp.NewServer(&mcp.Implementation{Name: "notebook", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "add_note", Description: "Writes a note down."},
		func(_ context.Context, _ *mcp.CallToolRequest, note Note) (*mcp.CallToolResult, any, error) {
			mu.Lock()
			defer mu.Unlock()
			notes = append(notes, note.Text)
			return text(fmt.Sprintf("There are %d notes.", len(notes))), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{
		Name: "list_notes", Description: "Returns all notes of this session, as a JSON array.",
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		mu.Lock()
		defer mu.Unlock()
		written, err := json.Marshal(notes)
		return text(string(written)), nil, err
	})
	return server
}

func text(content string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: content}}}
}
