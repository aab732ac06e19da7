package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/internal/thrown"
)

// scriptGrace is how long a script may take to return once its context has ended. It
// is less than the end of a block waits for what is under way.
const scriptGrace = 3 * time.Second

var (
	errScriptTimeout = errors.New("the script's timeout passed")
	errScriptOver    = errors.New("the script has returned")
	errScriptIgnores = errors.New("it did not return when its context ended, and was left behind")
	errScriptExits   = errors.New("it ended its goroutine without returning")
)

// A scriptEnd is how a script came to its end.
type scriptEnd struct {
	output   any
	err      error
	panicked bool // err says so
	// cause is why its context had ended by then, if it had.
	cause error
}

// run runs the script on a session, and returns once it has returned, or had its time
// to after its context has ended. From then on nothing of it reaches the server.
func (p *preparedScript) run(ctx context.Context, asker asker) scriptEnd {
	ctx, cancel := context.WithTimeoutCause(ctx, p.ScriptTimeout, errScriptTimeout)
	defer cancel()
	conn := newConn(ctx, p, asker)
	defer conn.end()
	returned := make(chan scriptEnd, 1)
	go func() {
		end := scriptEnd{err: errScriptExits} // as runtime.Goexit does
		defer func() {
			if r := recover(); r != nil {
				activity.GetLogger(ctx).Error("mcpsession: a script panicked",
					"script", p.Script, "server", p.server, "error", thrown.Error("it", r), "stack", string(debug.Stack()))
				end.panicked, end.err = true, p.failed(failure.ReasonScriptPanicked, failure.RanYes, thrown.Error(fmt.Sprintf("script %q", p.Script), r).Error())
			}
			returned <- end
		}()
		output, err := p.body(conn.ctx, conn) // ends no later than the Conn for it
		end = scriptEnd{output: output, err: err}
	}()
	select {
	case end := <-returned:
		end.cause = context.Cause(ctx)
		return end
	case <-ctx.Done():
	}
	select {
	case end := <-returned:
		end.cause = context.Cause(ctx)
		return end
	case <-time.After(scriptGrace):
		activity.GetLogger(ctx).Warn("mcpsession: a script does not heed its context, and is left behind", "script", p.Script, "server", p.server)
		return scriptEnd{err: errScriptIgnores, cause: context.Cause(ctx)}
	}
}

// outcome is what the script's end comes to, unless it was cut short. What it returned
// counts, whatever else has come meanwhile.
func (p *preparedScript) outcome(end scriptEnd) (_ json.RawMessage, err error) {
	defer func() {
		// Of a method of the output or of the error, or of details that don't encode.
		if r := recover(); r != nil {
			err = p.failed(failure.ReasonScriptOutput, failure.RanYes, thrown.Error(fmt.Sprintf("script %q ran, and encoding what it returned", p.Script), r).Error())
		}
	}()
	switch {
	case end.err == nil:
		return p.encode(end.output)
	case end.panicked:
		return nil, end.err
	}
	var own *temporal.ApplicationError
	errors.As(end.err, &own)
	message := fmt.Sprintf("script %q failed: %v", p.Script, end.err)
	return nil, p.fit(failure.NewScript(message, p.details(failure.ReasonScriptFailed, failure.RanYes), asCause(own)), message)
}

// asCause returns nil, not a nil pointer, where there is none.
func asCause(own *temporal.ApplicationError) error {
	if own == nil {
		return nil
	}
	return own
}

// maxScriptError bounds the failure of a script, with the details of its own error: a
// payload that is too large would never reach the workflow.
const maxScriptError = 256 << 10

// fit returns the failure, or if that is too large one that says so.
func (p *preparedScript) fit(err error, message string) error {
	size := len(temporal.GetDefaultFailureConverter().ErrorToFailure(err).String())
	if size <= maxScriptError {
		return err
	}
	return p.failed(failure.ReasonScriptFailed, failure.RanYes,
		fmt.Sprintf("%s (the error itself is left out: it has %d bytes, of %d that are allowed)", failure.Clip(message, 1<<10), size, maxScriptError))
}

// cut says why a script was ended from outside. Its own error says less.
func (p *preparedScript) cut(end scriptEnd) (reason failure.Reason, message string) {
	word := ""
	if errors.Is(end.err, errScriptIgnores) {
		word = "; " + errScriptIgnores.Error()
	}
	switch {
	case errors.Is(end.cause, errScriptTimeout):
		return failure.ReasonCallTimeout, fmt.Sprintf("script %q did not return within its timeout (%v)%s", p.Script, p.ScriptTimeout, word)
	case errors.Is(end.cause, errNoTimeLeft):
		return failure.ReasonActivityTimeout, fmt.Sprintf("script %q did not return before the activity's own timeout%s", p.Script, word)
	}
	return reasonOf(end.cause), fmt.Sprintf("script %q was ended: %v%s", p.Script, end.cause, word)
}
