package main

import (
	"context"
	"errors"
	"fmt"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
)

// The exit codes; see the package comment.
const (
	exitTool        = 1
	exitUsage       = 2
	exitCall        = 3
	exitOpen        = 4
	exitTemporal    = 5
	exitInterrupted = 130
)

// A fault is an error with its exit code. One without an error has said all on stdout.
type fault struct {
	code int
	err  error
}

func (f *fault) Error() string {
	if f.err == nil {
		return fmt.Sprintf("exit code %d", f.code)
	}
	return f.err.Error()
}

func (f *fault) Unwrap() error { return f.err }

func usage(format string, args ...any) error {
	return &fault{code: exitUsage, err: fmt.Errorf(format, args...)}
}

var errInterrupted = &fault{code: exitInterrupted, err: errors.New("interrupted")}

// codeOf returns the exit code of an error. One that nobody has given a code is of the
// command line, which the library reads.
func codeOf(err error) int {
	var f *fault
	switch {
	case err == nil:
		return 0
	case errors.As(err, &f):
		return f.code
	}
	return exitUsage
}

// outcome gives the error of a workflow its exit code, and the error that says what
// went wrong: that of the workflow itself names the workflow and nothing else.
func outcome(err error) error {
	switch {
	case failure.IsOpen(err):
		return &fault{code: exitOpen, err: innermost(err, failure.TypeOpen)}
	case temporal.IsCanceledError(err):
		return &fault{code: exitCall, err: errors.New("the workflow was cancelled by somebody else")}
	case fromTemporal(err):
		return unreachable(err)
	}
	for _, known := range []string{failure.TypeDedicatedWorker, failure.TypeCall, failure.TypeMCPProtocol, failure.TypeResultTooLarge, failure.TypeSessionClosed} {
		if found := innermost(err, known); found != nil {
			return &fault{code: exitCall, err: found}
		}
	}
	return &fault{code: exitCall, err: err}
}

// innermost returns the outermost failure of a type, without what the SDK puts around
// it; nil when there is none.
func innermost(err error, failureType string) error {
	for ; err != nil; err = errors.Unwrap(err) {
		if application, ok := err.(*temporal.ApplicationError); ok && application.Type() == failureType {
			return &told{application}
		}
	}
	return nil
}

// A told failure has the words of its own message alone.
type told struct{ *temporal.ApplicationError }

func (t *told) Error() string { return t.Message() }

func (t *told) Unwrap() error { return t.ApplicationError }

// fromTemporal reports whether the server, or the way to it, is what failed.
func fromTemporal(err error) bool {
	var service serviceerror.ServiceError
	return errors.As(err, &service) || errors.Is(err, context.DeadlineExceeded)
}

// printed gives an error of stdout its exit code.
func printed(err error) error {
	if err == nil {
		return nil
	}
	return &fault{code: exitCall, err: fmt.Errorf("print the result: %w", err)}
}

func unreachable(err error) error {
	return &fault{code: exitTemporal, err: fmt.Errorf("temporal: %w", err)}
}
