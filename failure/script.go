package failure

import (
	"errors"

	"go.temporal.io/sdk/temporal"
)

// TypeScript: a script, see session.RegisterScript, came to no result for a reason of
// its own: it returned an error that is no application error, it panicked, its input
// or its output is none, or the worker knows no script of the name. [Details] give the
// script's name as Tool, and say by ToolRan whether the script began. A session that
// it ran on lives on. As the failure of an activity it is non-retryable once the
// script has begun, whatever the script's own error says.
const TypeScript = "ScriptError"

// The reasons of a [TypeScript] failure.
const (
	// ReasonScriptFailed: the script returned an error.
	ReasonScriptFailed Reason = "script-failed"
	// ReasonScriptPanicked: the script panicked. The stack is in the worker's log.
	ReasonScriptPanicked Reason = "script-panicked"
	// ReasonUnknownScript: the worker has no script of this name. Another worker may
	// have it, so that a script with a session of its own is tried again.
	ReasonUnknownScript Reason = "unknown-script"
	// ReasonScriptOutput: what the script returned does not encode as JSON. It ran.
	ReasonScriptOutput Reason = "bad-output"
)

// IsScript reports whether err says that a script came to no result for a reason of
// its own.
func IsScript(err error) bool { return is(err, TypeScript) }

// Script returns the details of the outermost [TypeScript] failure in err.
func Script(err error) (Details, bool) { return detailsOf[Details](err, TypeScript) }

// NewScript returns the failure of a script's activity. When cause is given, it is the
// application error that the script has ended with: [OfScript] returns that to the
// workflow.
func NewScript(message string, d Details, cause error) error {
	return New(TypeScript, message, d, cause)
}

// OfScript returns the failure of a script's activity as workflow code gets it: the
// application error that the script has ended with, if it has, else what [Rewrap]
// returns. The activity's own failure is around the script's, so that Temporal does
// not retry what the script's error would allow.
func OfScript(err error) error {
	var outermost *temporal.ApplicationError
	if !errors.As(err, &outermost) || outermost.Type() != TypeScript {
		return Rewrap(err)
	}
	own, ok := outermost.Unwrap().(*temporal.ApplicationError)
	if !ok {
		return Rewrap(err)
	}
	if isOurs(own.Type()) {
		return Rewrap(own)
	}
	return own
}

// isOurs reports whether Rewrap makes another of a failure of this type.
func isOurs(failureType string) bool {
	switch failureType {
	case TypeDedicatedWorker, TypeOpen, TypeCall, TypeSessionClosed, TypeScript, TypeResultTooLarge, TypeMCPProtocol:
		return true
	}
	return false
}
