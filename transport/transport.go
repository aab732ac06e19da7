package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Connector builds the transport of one MCP session. It is called once for
// every attempt to open a session, on the worker, with the argument that the
// workflow passed.
//
// A connector holds nothing until the transport's own Connect: whatever it
// starts or opens before that is lost when the attempt ends early. It must
// return when ctx is done. Its error is retried as the session activity's retry
// policy says, unless [Permanent] marks it as one that no retry mends.
type Connector func(ctx context.Context, arg Argument) (mcp.Transport, error)

// ReasonBadArgument is the reason of the [PermanentError] of a connector that can't do
// with the workflow's argument, or without one.
const ReasonBadArgument = "bad-argument"

// An Argument is what a workflow passed in toolset.Options.Argument, as the JSON
// that is recorded in its history. It is empty when the workflow passed none.
// It is no place for a secret: look the secret up on the worker by it.
type Argument json.RawMessage

// Decode unmarshals the argument into the value that into points to. An empty
// argument is an error: a connector that can do without one checks its length.
func (a Argument) Decode(into any) error {
	if len(a) == 0 {
		return Permanent(ReasonBadArgument, errors.New("transport: the workflow passed no argument; set toolset.Options.Argument"))
	}
	if err := json.Unmarshal(a, into); err != nil {
		return Permanent(ReasonBadArgument, fmt.Errorf("transport: decode the workflow's argument into %T: %w", into, err))
	}
	return nil
}

// A Watched transport knows more of the server behind it than the connection
// tells: whether it is still there, and why not. All transports of this package
// are Watched. A session over another transport works too: it learns of a loss
// from the connection alone, and takes every request that failed for one that
// may have been sent. Of a Watched one it takes the absence of [SendBegins] for the
// word that a call did not leave, so the connection of such a transport must call
// it before it writes.
type Watched interface {
	mcp.Transport

	// Gone is closed once the server has gone away, by itself or by Close. It
	// is never closed before Connect has succeeded.
	Gone() <-chan struct{}

	// Cause says why the server went away, such as its exit status and the end
	// of what it wrote to stderr. It is nil until Gone is closed and after an
	// end that Close asked for. It is bounded in length, quotes what the server
	// said itself, and holds no secret that the connector was given.
	Cause() error

	// Close ends the server whether or not a connection was made, and returns
	// when it is gone or a bound has passed; the latter is an error. Calls in
	// flight end with it. It may be called more than once and beside the
	// connection's own Close, which does the same. Before Connect it makes
	// Connect fail.
	Close() error
}

// An Outspoken transport knows what the server behind it has said besides its
// messages. A session whose handshake takes too long asks for it: such a server
// often waits for something, and says for what.
type Outspoken interface {
	Watched

	// LastWords is what the server said last, quoted, after a word on where; empty
	// when it said nothing. It may be asked at any time, is bounded in length, and
	// holds no secret that the connector was given.
	LastWords() string
}

// A PermanentError is one that a retry of the same attempt cannot mend, such as
// an executable that does not exist. A session activity that meets one fails at
// once, as an OpenFailure with this reason.
type PermanentError struct {
	// Reason is a short word of letters and hyphens. This package's own are
	// "bad-argument", "bad-option", "directory-not-found",
	// "executable-not-found", "no-server" and "not-executable".
	Reason string
	// Err is the error itself.
	Err error
}

// Permanent marks err as one that no retry mends. It returns nil for a nil err.
func Permanent(reason string, err error) error {
	if err == nil {
		return nil
	}
	return &PermanentError{Reason: reason, Err: err}
}

// Error returns the marked error's text.
func (e *PermanentError) Error() string { return e.Err.Error() }

// Unwrap returns the marked error.
func (e *PermanentError) Unwrap() error { return e.Err }
