package failure

import (
	"encoding/json"
	"time"
)

// The types of the failures, as [temporal.ApplicationError.Type] gives them.
// They are part of the wire contract.
const (
	// TypeDedicatedWorker: the block's session is lost. Its [Details] say why,
	// and whether the tool of this call ran. Open a new block or stop; the state
	// of the old one is gone.
	TypeDedicatedWorker = "DedicatedWorkerFailure"

	// TypeOpen: a block, or the connection for a stateless call, could not be
	// opened. No tool ran; opening again is safe.
	// It is retryable as the session activity's failure when another attempt may
	// succeed, and [Details] say why it could not be opened.
	TypeOpen = "OpenFailure"

	// TypeMCPProtocol: the server answered a request with a JSON-RPC error, which
	// for a tool means that the request was refused, or that the tool failed
	// without a result. The failure's details are the code, an int64, and the
	// error's data, a json.RawMessage; [MCPProtocol] reads them. The session lives
	// on.
	TypeMCPProtocol = "MCPProtocolError"

	// TypeTool: a tool's result had IsError set. Only typed calls make an error of
	// it; [Tool] says which tool and what it gave as the reason.
	TypeTool = "ToolError"

	// TypeCall: the session, if it is a call of one, lives on, but this call has no
	// answer: its time ran out, it was cancelled, or, for a stateless call, its
	// connection broke or its worker is gone. [Details] say whether the tool ran, as
	// far as can be known.
	TypeCall = "CallFailure"

	// TypeResultTooLarge: the tool ran, and its result is larger than Temporal
	// takes. [SizeDetails] give the size, the limit and the remedy. The session
	// lives on.
	TypeResultTooLarge = "ResultTooLarge"

	// TypeSessionClosed: the block was used after its Close, or a call was still
	// pending then. [Details] say whether the tool ran.
	TypeSessionClosed = "SessionClosed"
)

// ToolRan says whether the tool of a failed call ran on the server. For a failed
// operation that is not a tool call it says whether the server got the request.
type ToolRan string

const (
	// RanNo: the request never left for the server.
	RanNo ToolRan = "no"
	// RanYes: the tool ran; its result can't be delivered.
	RanYes ToolRan = "yes"
	// RanUnknown: the request left, or may have left, and no answer came.
	RanUnknown ToolRan = "unknown"
)

// A Reason says in a word why a session ended or did not open. Reasons are part
// of the wire contract; new ones may come.
type Reason string

// The reasons of a [TypeDedicatedWorker] failure. A stateless call has no session to
// lose: of it, server-gone, host-lost, worker-stopped and workflow-reset are reasons of
// a [TypeCall] failure.
const (
	// ReasonHostLost: the process that held the session is gone or was cut off
	// for a heartbeat timeout, or an attempt ended without a word.
	ReasonHostLost Reason = "host-lost"
	// ReasonWorkerStopped: the worker that held the session was stopped. As the
	// reason of a [TypeOpen] failure: every worker that took the session was about
	// to stop.
	ReasonWorkerStopped Reason = "worker-stopped"
	// ReasonServerGone: the MCP server exited, closed the connection, or no
	// longer knows the session.
	ReasonServerGone Reason = "server-gone"
	// ReasonReset: the session activity was reset by an operator after it had
	// opened.
	ReasonReset Reason = "reset"
	// ReasonWorkflowReset: the workflow was reset; the session belongs to the run
	// before.
	ReasonWorkflowReset Reason = "workflow-reset"
	// ReasonOtherInstance: an operation reached a session that its block did not
	// open, and was refused there.
	ReasonOtherInstance Reason = "other-instance"
	// ReasonIdle: no operation came for the server's IdleTimeout.
	ReasonIdle Reason = "idle"
	// ReasonExpired: the session came to the end of its start-to-close or
	// schedule-to-close timeout.
	ReasonExpired Reason = "expired"
	// ReasonCanceled: the session activity was cancelled by something other than
	// its block.
	ReasonCanceled Reason = "canceled"
	// ReasonDedicatedWorker: the worker of the block's own queue failed for good,
	// or could not be started.
	ReasonDedicatedWorker Reason = "dedicated-worker"
)

// The reasons of a [TypeOpen] failure, besides those that a connector gives
// (such as "executable-not-found").
const (
	// ReasonNoHost: no worker took the session within its schedule-to-start
	// timeout.
	ReasonNoHost Reason = "no-host"
	// ReasonUnknownServer: the worker that took the session activity does not
	// know the server.
	ReasonUnknownServer Reason = "unknown-server"
	// ReasonConnect: the connector or the MCP handshake failed.
	ReasonConnect Reason = "connect"
	// ReasonConnectTimeout: the MCP handshake took longer than ConnectTimeout.
	ReasonConnectTimeout Reason = "connect-timeout"
	// ReasonProtocolVersion: client and server share no protocol version.
	ReasonProtocolVersion Reason = "protocol-version"
	// ReasonSessionless: the server gave no session, so no state would be kept.
	ReasonSessionless Reason = "sessionless"
	// ReasonMarker: the heartbeat that says that a session may be open could not
	// be confirmed, so none was opened.
	ReasonMarker Reason = "marker-unconfirmed"
	// ReasonDescribeDenied: the worker's client may not describe the workflow,
	// which opening a session needs.
	ReasonDescribeDenied Reason = "describe-denied"
	// ReasonOpenTimeout: the session activity ended by a timeout before it served.
	ReasonOpenTimeout Reason = "open-timeout"
	// ReasonBadInput: the session activity's input can't be used.
	ReasonBadInput Reason = "bad-input"
)

// The reasons of a [TypeCall] failure.
const (
	// ReasonCallTimeout: no answer came within the call's timeout.
	ReasonCallTimeout Reason = "call-timeout"
	// ReasonCallCanceled: the call was cancelled.
	ReasonCallCanceled Reason = "call-canceled"
	// ReasonActivityTimeout: a timeout of the operation's activity passed.
	ReasonActivityTimeout Reason = "activity-timeout"
	// ReasonNoAnswer: the request was sent and what came back was no answer.
	ReasonNoAnswer Reason = "no-answer"
	// ReasonForgotten: the call ran and was answered; the answer is no longer
	// kept, as the ledger's bound passed.
	ReasonForgotten Reason = "forgotten"
)

// The reasons that a server over HTTP gives, for a [TypeCall] failure and, while
// connecting, a [TypeOpen] failure. Package transport has the table.
const (
	// ReasonUnauthorized: the server answered 401. No tool ran.
	ReasonUnauthorized Reason = "unauthorized"
	// ReasonForbidden: the server answered 403. No tool ran.
	ReasonForbidden Reason = "forbidden"
	// ReasonNotFound: there is no MCP server at the URL. No tool ran.
	ReasonNotFound Reason = "not-found"
	// ReasonRateLimited: the server answered 429. No tool ran.
	ReasonRateLimited Reason = "rate-limited"
	// ReasonUnavailable: the server answered 503. No tool ran.
	ReasonUnavailable Reason = "unavailable"
	// ReasonRejected: the server answered with another 4xx. No tool ran.
	ReasonRejected Reason = "rejected"
	// ReasonRedirect: the server redirects to where no call may follow. No tool
	// ran.
	ReasonRedirect Reason = "redirect"
	// ReasonUnreachable: no connection to the server could be made. No tool ran.
	ReasonUnreachable Reason = "unreachable"
	// ReasonGateway: what stands before the server answered 502 or 504. The tool
	// may have run.
	ReasonGateway Reason = "gateway"
	// ReasonServerError: the server answered with another 5xx. The tool may have
	// run.
	ReasonServerError Reason = "server-error"
)

// The reason of a [TypeSessionClosed] failure.
const ReasonClosed Reason = "closed"

// Details are what a failure of this package carries besides its message. Empty
// fields are unknown or do not apply.
type Details struct {
	// Server is the name of the MCP server, as registered on the worker.
	Server string `json:"server,omitempty"`
	// Reason says why.
	Reason Reason `json:"reason,omitempty"`
	// ToolRan says whether the tool of this call ran.
	ToolRan ToolRan `json:"toolRan,omitempty"`
	// Tool is the tool that was called, or the script that was run.
	Tool string `json:"tool,omitempty"`
	// Attempt is the attempt of the session activity that opened the session.
	Attempt int32 `json:"attempt,omitempty"`
	// Host is the identity of the worker that opened the session.
	Host string `json:"host,omitempty"`
	// OpenedAt is when the session was, or may have been, opened.
	OpenedAt time.Time `json:"openedAt,omitzero"`
	// Peer is what the MCP server said over HTTP: bounded, unverified, and free of
	// the secrets that the connector knows of. The end of a process's stderr is in
	// the failure's message, quoted.
	Peer string `json:"peer,omitempty"`
}

// ProtocolDetails are what the MCP server said in a JSON-RPC error.
type ProtocolDetails struct {
	// Code is the error's code.
	Code int64
	// Data is the error's data, as the server sent it; nil without any.
	Data json.RawMessage
}

// SizeDetails tell of a result that was too large.
type SizeDetails struct {
	// Server and Tool name what was called, or the script that was run; Tool is empty
	// for other operations.
	Server string `json:"server,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Size is the size of the result in bytes, as JSON, before any codec.
	Size int64 `json:"size"`
	// Limit is the bound in bytes that it passed. The server's own limit counts
	// after the codec.
	Limit int64 `json:"limit"`
}
