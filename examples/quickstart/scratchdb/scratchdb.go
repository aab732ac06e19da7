// Package scratchdb is an MCP server that keeps state between calls: every
// session has a scratch SQL database of its own, in memory, which is empty when
// the session begins and gone when it ends. It shows an ordinary MCP server,
// which knows nothing of Temporal or mcpsession.
package scratchdb

import (
	"context"
	"database/sql"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Statement is the input of both tools.
type Statement struct {
	SQL  string `json:"sql" jsonschema:"one SQL statement, in the dialect of SQLite"`
	Args []any  `json:"args,omitempty" jsonschema:"the values of its ? placeholders"`
}

// Changed is the output of the tool execute.
type Changed struct {
	RowsAffected int64 `json:"rowsAffected" jsonschema:"how many rows the latest INSERT, UPDATE or DELETE changed"`
}

// Rows is the output of the tool query.
type Rows struct {
	Rows []map[string]any `json:"rows" jsonschema:"the rows, by the names of their columns"`
}

// New returns a server of two tools, execute and query. It can serve any number
// of sessions: over stdio a process has one, over HTTP it may have many.
func New() *mcp.Server {
	s := &server{databases: make(map[*mcp.ServerSession]*database)}
	m := mcp.NewServer(&mcp.Implementation{Name: "scratchdb", Version: "1.0.0"}, nil)
	mcp.AddTool(m, &mcp.Tool{
		Name:        "execute",
		Description: "Change this session's database, for example with CREATE TABLE, INSERT or UPDATE.",
	}, s.execute)
	mcp.AddTool(m, &mcp.Tool{
		Name:        "query",
		Description: "Ask this session's database for rows, with SELECT.",
	}, s.query)
	return m
}

// Run serves one session over stdin and stdout until they close.
func Run(ctx context.Context) error {
	return New().Run(ctx, &mcp.StdioTransport{})
}

func (s *server) execute(ctx context.Context, request *mcp.CallToolRequest, in Statement) (
	*mcp.CallToolResult, *Changed, error) {
	db, err := s.database(ctx, request.Session)
	if err != nil {
		return nil, nil, err
	}
	result, err := db.conn.ExecContext(ctx, in.SQL, in.Args...)
	if err != nil {
		return nil, nil, err
	}
	n, err := result.RowsAffected()
	return nil, &Changed{RowsAffected: n}, err
}

func (s *server) query(ctx context.Context, request *mcp.CallToolRequest, in Statement) (
	*mcp.CallToolResult, *Rows, error) {
	db, err := s.database(ctx, request.Session)
	if err != nil {
		return nil, nil, err
	}
	rows, err := db.conn.QueryContext(ctx, in.SQL, in.Args...)
	if err != nil {
		return nil, nil, err
	}
	all, err := collect(rows)
	return nil, &Rows{Rows: all}, err
}

// collect reads all rows, and closes them.
func collect(rows *sql.Rows) ([]map[string]any, error) {
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	all := []map[string]any{}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := make(map[string]any, len(columns))
		for i, column := range columns {
			row[column] = values[i]
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
