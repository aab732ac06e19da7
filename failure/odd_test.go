package failure_test

import (
	"errors"
	"testing"
	"unicode/utf8"

	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
)

// Protobuf takes no text that is not UTF-8: a failure with such text could not be
// sent, and its activity would end by a timeout instead.
func TestTextIsValidUTF8(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"message":  failure.New(failure.TypeOpen, "bad \xff byte", failure.Details{}, nil),
		"protocol": failure.NewMCPProtocol("s", "bad \xff byte", 1, nil),
	} {
		if f := temporal.GetDefaultFailureConverter().ErrorToFailure(err); !utf8.ValidString(f.GetMessage()) {
			t.Errorf("%s: %q can't be sent", name, f.GetMessage())
		}
	}
}

// Another's error can have one of our type strings, with details of its own. In
// workflow code they are Go values, on which the SDK panics if they are read as
// another type; that would fail the workflow task for ever.
func TestForeignDetailsDoNotPanic(t *testing.T) {
	t.Parallel()
	foreign := temporal.NewApplicationError("x", failure.TypeCall, struct{ N int }{3})
	if d, ok := failure.Call(foreign); !ok || d != (failure.Details{}) {
		t.Errorf("Call gave %+v, %v", d, ok)
	}
	if failure.RanOf(foreign) != failure.RanUnknown || failure.Rewrap(foreign) == nil {
		t.Error("a foreign error is not taken as one of which nothing is known")
	}
	failure.MCPProtocol(temporal.NewApplicationError("x", failure.TypeMCPProtocol, "a word"))
}

// An error that has only the type, as With makes around a body's, does not hide
// the details of the one that it wraps.
func TestDetailsGoBeforeTheTypeAlone(t *testing.T) {
	t.Parallel()
	inner := failure.New(failure.TypeCall, "no answer", details, nil)
	outer := temporal.NewApplicationErrorWithOptions("outer", failure.TypeCall,
		temporal.ApplicationErrorOptions{Cause: errors.Join(inner)})
	if d, ok := failure.Call(outer); !ok || d != details {
		t.Errorf("Call gave %+v, %v", d, ok)
	}
}
