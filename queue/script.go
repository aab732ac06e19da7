package queue

import (
	"encoding/json"
	"time"
)

// DefaultScriptTimeout bounds a script whose operation names no timeout.
const DefaultScriptTimeout = 10 * time.Minute

// RunScript asks for one run of a script, which the worker knows by its name, on one
// session: that of the block, or as [Stateless] one of the script's own. Of its
// [Operation], Timeout bounds each MCP request of the script, and MaxResult what the
// script returns. The answer is a [Result] of JSON.
type RunScript struct {
	Operation
	// Script is the script's name.
	Script string `json:"script"`
	// Input is its input as JSON; none is the zero value.
	Input json.RawMessage `json:"input,omitempty"`
	// ScriptTimeout bounds the script as a whole; zero is [DefaultScriptTimeout].
	ScriptTimeout time.Duration `json:"scriptTimeout,omitempty"`
}

// A Trace is what an attempt of an operation without a block leaves to the next one,
// and to the workflow should its worker be lost: the details of its last heartbeat.
type Trace struct {
	// Attempt is the one that left it.
	Attempt int32 `json:"attempt"`
	// Unsent says that its request was not sent, or not run by the server; of a
	// script, that it has not begun.
	Unsent bool `json:"unsent,omitempty"`
	// Size is that of a result, in bytes of JSON, which may be too large to arrive.
	Size int64 `json:"size,omitempty"`
}
