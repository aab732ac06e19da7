package scratchdb_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"github.com/mcpsession/mcpsession/examples/quickstart/scratchdb"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// A session's later calls see what its earlier ones did.
func TestStateLivesOnBetweenCalls(t *testing.T) {
	t.Parallel()
	session := open(t, scratchdb.New())
	execute(t, session, 0, "CREATE TABLE notes (id INTEGER, note TEXT)")
	execute(t, session, 2, "INSERT INTO notes VALUES (1, ?), (2, ?)", "tea", nil)

	got := query(t, session, "SELECT id, note FROM notes ORDER BY id")
	want := []map[string]any{
		{"id": 1.0, "note": "tea"}, // JSON has one kind of number
		{"id": 2.0, "note": nil},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("rows %v, want %v", got, want)
	}
	if got := query(t, session, "SELECT id FROM notes WHERE note = ?", "coffee"); len(got) != 0 {
		t.Errorf("rows %v, want none", got)
	}
}

// Two sessions of one server have nothing in common.
func TestSessionsAreIsolated(t *testing.T) {
	t.Parallel()
	server := scratchdb.New()
	one, other := open(t, server), open(t, server)
	execute(t, one, 0, "CREATE TABLE notes (note TEXT)")
	wantToolError(t, other, "SELECT * FROM notes", "no such table: notes")
	execute(t, other, 0, "CREATE TABLE notes (note TEXT)")
	execute(t, other, 1, "INSERT INTO notes VALUES ('tea')")
	if got := query(t, one, "SELECT * FROM notes"); len(got) != 0 {
		t.Errorf("one session reads %v of the other", got)
	}
}

// The end of one session leaves the others alone, and none comes back.
func TestStateEndsWithItsSession(t *testing.T) {
	t.Parallel()
	server := scratchdb.New()
	one, other := open(t, server), open(t, server)
	execute(t, one, 0, "CREATE TABLE notes (note TEXT)")
	execute(t, other, 0, "CREATE TABLE notes (note TEXT)")
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	query(t, other, "SELECT * FROM notes")
	wantToolError(t, open(t, server), "SELECT * FROM notes", "no such table: notes")
}

func open(t *testing.T, server *mcp.Server) *mcp.ClientSession {
	t.Helper()
	serverEnd, clientEnd := mcp.NewInMemoryTransports()
	if _, err := server.Connect(t.Context(), serverEnd, nil); err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), clientEnd, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func execute(t *testing.T, session *mcp.ClientSession, affected int64, sql string, args ...any) {
	t.Helper()
	var out scratchdb.Changed
	call(t, session, "execute", &out, sql, args...)
	if out.RowsAffected != affected {
		t.Errorf("%s: %d rows affected, want %d", sql, out.RowsAffected, affected)
	}
}

func query(t *testing.T, session *mcp.ClientSession, sql string, args ...any) []map[string]any {
	t.Helper()
	var out scratchdb.Rows
	call(t, session, "query", &out, sql, args...)
	return out.Rows
}

func call(t *testing.T, session *mcp.ClientSession, tool string, out any, sql string, args ...any) {
	t.Helper()
	result, text := callTool(t, session, tool, sql, args...)
	if result.IsError {
		t.Fatalf("%s: %s", sql, text)
	}
	if err := json.Unmarshal([]byte(text), out); err != nil {
		t.Fatalf("%s: %v in %s", sql, err, text)
	}
}

func wantToolError(t *testing.T, session *mcp.ClientSession, sql, says string) {
	t.Helper()
	if result, text := callTool(t, session, "query", sql); !result.IsError || !strings.Contains(text, says) {
		t.Errorf("%s: IsError %t, %q; want an error that says %q", sql, result.IsError, text, says)
	}
}

func callTool(t *testing.T, session *mcp.ClientSession, tool, sql string, args ...any) (*mcp.CallToolResult, string) {
	t.Helper()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{
		Name: tool, Arguments: scratchdb.Statement{SQL: sql, Args: args},
	})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return result, result.Content[0].(*mcp.TextContent).Text
}
