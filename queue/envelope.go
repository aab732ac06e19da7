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
	// MaxResult bounds the result, in bytes of JSON before any codec; zero is no
	// bound but that of a Temporal payload.
	MaxResult int `json:"maxResult,omitempty"`
	// MaxSends is how often the request may be sent to the server while there is no
	// answer from it; zero is once. It is more for what may run twice only.
	MaxSends int `json:"maxSends,omitempty"`
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

// ListPrompts asks for all prompts.
type ListPrompts struct{ Operation }

// GetPrompt asks for one prompt.
type GetPrompt struct {
	Operation
	// Name is the prompt's name.
	Name string `json:"name"`
	// Arguments are the prompt's arguments; MCP has them as strings.
	Arguments map[string]string `json:"arguments,omitempty"`
}

// ListResources asks for all resources.
type ListResources struct{ Operation }

// ListResourceTemplates asks for all resource templates.
type ListResourceTemplates struct{ Operation }

// ReadResource asks for the contents of one resource.
type ReadResource struct {
	Operation
	// URI is the resource's.
	URI string `json:"uri"`
}

// Complete asks for completions of an argument of a prompt or a resource template.
type Complete struct {
	Operation
	// Params are MCP's own.
	Params *mcp.CompleteParams `json:"params"`
}

// Stateless is the input of a stateless operation, which has no session: O is the
// operation's own input. Of its [Operation], RunID names the run that calls, Key and
// Instance are empty, and with MaxSends more than one, attempt by attempt, the request
// may be sent although it was sent before.
type Stateless[O any] struct {
	// Argument is what the workflow passes to the server's connector. With one the
	// call gets a connection of its own.
	Argument json.RawMessage `json:"argument,omitempty"`
	// ConnectTimeout bounds the opening of the connection; zero is the server's own
	// bound. On a connection that is shared it bounds the wait for it.
	ConnectTimeout time.Duration `json:"connectTimeout,omitempty"`
	// PerCall gives the call a connection of its own without an argument, too.
	PerCall bool `json:"perCall,omitempty"`
	// Operation is what is asked for.
	Operation O `json:"operation"`
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
