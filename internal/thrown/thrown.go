// Package thrown tells of panics of users' code.
package thrown

import (
	"fmt"
	"runtime"
)

// Error says that somebody's code panicked, for histories and logs. The value of a
// panic may hold a secret that nobody knows yet, so it is told only where the runtime
// made it.
func Error(whose string, value any) error {
	if fault, ok := value.(runtime.Error); ok {
		return fmt.Errorf("%s panicked: %w", whose, fault)
	}
	return fmt.Errorf("%s panicked with a %T, which is not told, since it may hold a secret", whose, value)
}
