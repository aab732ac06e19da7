package thrown_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpsession/mcpsession/internal/thrown"
)

type token string

func (t token) Error() string { return string(t) }

// Of a user's value the type is told and no more, by whatever verb; what the runtime
// says is told as it is.
func TestError(t *testing.T) {
	t.Parallel()
	for want, throw := range map[string]func(){
		"panicked with a string, ":                        func() { panic("planted-secret") },
		"panicked with a *errors.errorString, ":           func() { panic(errors.New("planted-secret")) },
		"panicked with a *fmt.wrapError, ":                func() { panic(fmt.Errorf("planted-secret: %w", errors.ErrUnsupported)) },
		"panicked with a thrown_test.token, ":             func() { panic(token("planted-secret")) },
		"panicked with a map[string]string, ":             func() { panic(map[string]string{"planted-secret": "planted-secret"}) },
		"panicked: runtime error: index out of range":     func() { _ = []int{}[len(t.Name())] },
		"panicked: interface conversion: interface {} is": func() { _ = any("planted-secret").(int) },
		"panicked: panic called with nil argument":        func() { panic(nil) },
	} {
		func() {
			defer func() {
				err := thrown.Error("the connector", recover())
				if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, "planted-secret") {
					t.Errorf("it tells the value: %s", text)
				}
				if !strings.HasPrefix(err.Error(), "the connector "+want) {
					t.Errorf("%q is not about %q", err, want)
				}
			}()
			throw()
		}()
	}
}
