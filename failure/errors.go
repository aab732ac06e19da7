package failure

import (
	"encoding/json"
	"errors"

	"go.temporal.io/sdk/temporal"
)

// IsDedicatedWorker reports whether err says that a block's session is lost: it
// or an error that it wraps is a [TypeDedicatedWorker].
func IsDedicatedWorker(err error) bool { return is(err, TypeDedicatedWorker) }

// DedicatedWorker returns the details of the outermost [TypeDedicatedWorker]
// failure in err.
func DedicatedWorker(err error) (Details, bool) {
	return detailsOf[Details](err, TypeDedicatedWorker)
}

// IsOpen reports whether err says that a block could not be opened.
func IsOpen(err error) bool { return is(err, TypeOpen) }

// Open returns the details of the outermost [TypeOpen] failure in err.
func Open(err error) (Details, bool) { return detailsOf[Details](err, TypeOpen) }

// IsCall reports whether err says that a call has no answer though its session
// lives on.
func IsCall(err error) bool { return is(err, TypeCall) }

// Call returns the details of the outermost [TypeCall] failure in err.
func Call(err error) (Details, bool) { return detailsOf[Details](err, TypeCall) }

// IsSessionClosed reports whether err says that a block was used after its
// Close, or that a call was pending then.
func IsSessionClosed(err error) bool { return is(err, TypeSessionClosed) }

// SessionClosed returns the details of the outermost [TypeSessionClosed] failure
// in err.
func SessionClosed(err error) (Details, bool) { return detailsOf[Details](err, TypeSessionClosed) }

// IsResultTooLarge reports whether err says that a result is larger than
// Temporal takes. The tool ran.
func IsResultTooLarge(err error) bool { return is(err, TypeResultTooLarge) }

// ResultTooLarge returns the sizes of the outermost [TypeResultTooLarge] failure
// in err.
func ResultTooLarge(err error) (SizeDetails, bool) {
	return detailsOf[SizeDetails](err, TypeResultTooLarge)
}

// IsTool reports whether err says that a tool's result had IsError set.
func IsTool(err error) bool { return is(err, TypeTool) }

// IsMCPProtocol reports whether err is a JSON-RPC error of the MCP server.
func IsMCPProtocol(err error) bool { return is(err, TypeMCPProtocol) }

// MCPProtocol returns the code and the data of the outermost [TypeMCPProtocol]
// failure in err.
func MCPProtocol(err error) (ProtocolDetails, bool) {
	applicationError := find(err, TypeMCPProtocol)
	if applicationError == nil {
		return ProtocolDetails{}, false
	}
	var d ProtocolDetails
	// Another system's error of this type may leave the data out.
	if !read(applicationError, &d.Code, &d.Data) {
		read(applicationError, &d.Code)
	}
	if string(d.Data) == "null" {
		d.Data = nil
	}
	return d, true
}

// RanOf returns whether the tool of the call that err is the failure of ran, as
// far as is known. It takes every error that a toolset returns. One that is none
// of this package's, and a JSON-RPC error, which leaves open whether the tool had
// begun, are [RanUnknown]; nil is [RanYes].
func RanOf(err error) ToolRan {
	if err == nil {
		return RanYes
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		applicationError, ok := e.(*temporal.ApplicationError)
		if !ok {
			continue
		}
		switch applicationError.Type() {
		case TypeTool, TypeResultTooLarge:
			return RanYes
		case TypeOpen:
			return RanNo
		case TypeDedicatedWorker, TypeCall, TypeSessionClosed, TypeScript:
			if d, ok := decode[Details](applicationError); ok && d.ToolRan != "" {
				return d.ToolRan
			}
		}
	}
	return RanUnknown
}

func is(err error, failureType string) bool { return find(err, failureType) != nil }

func detailsOf[T any](err error, failureType string) (T, bool) {
	applicationError := find(err, failureType)
	if applicationError == nil {
		var zero T
		return zero, false
	}
	d, _ := decode[T](applicationError)
	return d, true
}

// find walks the chain by hand, because errors.As stops at the first
// ApplicationError whatever its type is. One that has details goes before one that
// only has the type.
func find(err error, failureType string) *temporal.ApplicationError {
	var bare *temporal.ApplicationError
	for err != nil {
		if applicationError, ok := err.(*temporal.ApplicationError); ok && applicationError.Type() == failureType {
			if applicationError.HasDetails() {
				return applicationError
			}
			if bare == nil {
				bare = applicationError
			}
		}
		switch wrapper := err.(type) {
		case interface{ Unwrap() error }:
			err = wrapper.Unwrap()
		case interface{ Unwrap() []error }:
			for _, e := range wrapper.Unwrap() {
				if found := find(e, failureType); found != nil {
					return found
				}
			}
			return bare
		default:
			return bare
		}
	}
	return bare
}

func decode[T any](applicationError *temporal.ApplicationError) (T, bool) {
	var d T
	if !read(applicationError, &d) {
		var zero T
		return zero, false
	}
	return d, true
}

// read reads an error's details, and reports whether they are of these types. The
// type strings of this package are plain words that another error can have, too,
// with details of its own, and as long as those are Go values the SDK panics on a
// mismatch, which would fail a workflow task for ever.
func read(applicationError *temporal.ApplicationError, into ...any) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return applicationError.HasDetails() && applicationError.Details(into...) == nil
}

// rawOrNull keeps details decodable: a nil RawMessage is not valid JSON.
func rawOrNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}
