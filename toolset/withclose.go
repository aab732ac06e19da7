package toolset

import (
	"errors"
	"fmt"

	"go.temporal.io/sdk/temporal"
)

// CloseError returns the error of closing the block that err, an error of [With],
// carries besides the body's own; nil if there is none.
func CloseError(err error) error {
	var b *bodyError
	if errors.As(err, &b) {
		return b.close
	}
	return nil
}

// A bodyError is a body's error with the error of closing its block. It wraps the
// body's only: as a failure on the wire it has one cause.
type bodyError struct {
	body, close error
}

func (e *bodyError) Error() string {
	return fmt.Sprintf("%v (then closing the block failed: %v)", e.body, e.close)
}

func (e *bodyError) Unwrap() error { return e.body }

// withCloseError keeps what the workflow's end goes by: a cancel, a
// continue-as-new and other errors are found through the wrapper, but the type of
// an application error and whether it may be retried are read from the outermost
// error alone, and so are details, which can't be taken out of an error unread: one
// that has any stays as it is.
func withCloseError(body, close error) error {
	err := &bodyError{body: body, close: close}
	outermost, ok := body.(*temporal.ApplicationError)
	if !ok {
		return err
	}
	if outermost.HasDetails() {
		return body
	}
	return temporal.NewApplicationErrorWithOptions(err.Error(), outermost.Type(), temporal.ApplicationErrorOptions{
		NonRetryable:   outermost.NonRetryable(),
		NextRetryDelay: outermost.NextRetryDelay(),
		Category:       outermost.Category(),
		Cause:          err,
	})
}
