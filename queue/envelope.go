package queue

import (
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// SessionInput is the input of the session activity. It has no field for a
// secret, as it is recorded in the workflow's history.
type SessionInput struct {
	// RunID is the run that opened the block. An activity whose own info names
	// another run belongs to a workflow that was reset.
	RunID string `json:"runID"`
	// Key is the block's key.
	Key string `json:"key"`
	// Argument is what the workflow passes to the server's connector.
	Argument json.RawMessage `json:"argument,omitempty"`
}

// Operation is what every operation carries.
type Operation struct {
	// RunID and Key name the block.
	RunID string `json:"runID"`
	Key   string `json:"key"`
	// Instance is the session that the block opened. It is empty only in
	// [SessionInfo], which asks for it.
	Instance string `json:"instance,omitempty"`
	// Timeout bounds the MCP request of this operation; the session's own default
	// is [DefaultCallTimeout].
	Timeout time.Duration `json:"timeout,omitempty"`
}

// DefaultCallTimeout bounds an MCP request whose operation names no timeout.
const DefaultCallTimeout = time.Minute

// SessionInfo asks a session what it is. It is idempotent.
type SessionInfo struct{ Operation }

// CloseSession asks a session to end. It is idempotent: a session that is ending
// answers once it has ended.
type CloseSession struct{ Operation }

// ListTools asks for all tools.
type ListTools struct{ Operation }

// CallTool asks for one call of a tool.
type CallTool struct {
	Operation
	// Tool is the tool's name.
	Tool string `json:"tool"`
	// Arguments are the tool's arguments, as the JSON object that the server
	// gets: not decoded on the way, so that no digit is lost.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Info is what a session tells of itself.
type Info struct {
	// Instance names this live session.
	Instance string `json:"instance"`
	// Attempt is the attempt of the session activity that opened it.
	Attempt int32 `json:"attempt"`
	// Host is the identity of the worker that holds it.
	Host string `json:"host"`
	// OpenedAt is when it opened, by the worker's clock.
	OpenedAt time.Time `json:"openedAt"`
	// HasSessionID says whether the server gave the connection a session id, as
	// MCP over HTTP does. The id itself stays on the worker.
	HasSessionID bool `json:"hasSessionID,omitempty"`
	// Initialize is the server's answer to the handshake: protocol version,
	// capabilities, name and version, instructions.
	Initialize *mcp.InitializeResult `json:"initialize"`
}

// A Result is the answer to an operation: the MCP result unchanged, beside what
// else the session has to tell.
type Result[T any] struct {
	// Value is the MCP SDK's own type, as a pointer: by value some of its fields
	// are lost in encoding.
	Value *T `json:"value"`
	// ToolsChanged says that the server announced a changed tool list since the
	// block last listed tools.
	ToolsChanged bool `json:"toolsChanged,omitempty"`
}

// Closed is the answer to [CloseSession]: the server's process is gone, or the
// bound for its end has passed.
type Closed struct {
	// Warning is what went wrong while closing, if anything.
	Warning string `json:"warning,omitempty"`
}
