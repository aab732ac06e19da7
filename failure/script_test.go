package failure_test

import (
	"errors"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
)

// What a workflow gets of a script's failure, once it has crossed the wire: the
// script's own application error, as it was; a failure of this package, retryable, with
// its details; or, without either, the one that says that the script failed.
func TestOfScript(t *testing.T) {
	t.Parallel()
	details := failure.Details{Server: "s", Reason: failure.ReasonScriptFailed, Tool: "script", ToolRan: failure.RanYes}
	crossed := func(cause error) error {
		converter := temporal.GetDefaultFailureConverter()
		return converter.FailureToError(converter.ErrorToFailure(failure.NewScript("it failed", details, cause)))
	}
	for name, test := range map[string]struct {
		err       error
		kind      string
		retryable bool
		ran       failure.ToolRan
	}{
		"its own":             {crossed(temporal.NewApplicationError("no", "OrderFailure", 7)), "OrderFailure", true, failure.RanUnknown},
		"its own, final":      {crossed(temporal.NewNonRetryableApplicationError("no", "OrderFailure", nil, 7)), "OrderFailure", false, failure.RanUnknown},
		"around one of ours":  {crossed(temporal.NewApplicationErrorWithCause("no", "OrderFailure", failure.New(failure.TypeCall, "x", failure.Details{}, nil), 7)), "OrderFailure", true, failure.RanUnknown},
		"a call's":            {crossed(failure.New(failure.TypeCall, "late", failure.Details{Server: "s", ToolRan: failure.RanNo}, nil)), failure.TypeCall, true, failure.RanNo},
		"without":             {crossed(nil), failure.TypeScript, true, failure.RanYes},
		"no script's failure": {failure.New(failure.TypeOpen, "shut", failure.Details{}, nil), failure.TypeOpen, true, failure.RanNo},
	} {
		err := failure.OfScript(test.err)
		var application *temporal.ApplicationError
		if !errors.As(err, &application) || application.Type() != test.kind || application.NonRetryable() == test.retryable || failure.RanOf(err) != test.ran {
			t.Errorf("%s: got %#v, ran %s", name, err, failure.RanOf(err))
			continue
		}
		if n := 0; test.kind == "OrderFailure" && (application.Details(&n) != nil || n != 7) {
			t.Errorf("%s: the details are %d", name, n)
		}
	}
	if d, ok := failure.Script(failure.OfScript(crossed(nil))); !ok || d != details || !failure.IsScript(crossed(nil)) {
		t.Errorf("the details are %+v, %v", d, ok)
	}
}
