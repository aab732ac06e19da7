package auth

import (
	"strings"
	"testing"
)

func serveStdio() {}
func runHost()    {}

func mentions(t testing.TB, text, want string) {
	t.Helper()
	if !strings.Contains(text, want) {
		t.Errorf("%q is not in: %s", want, text)
	}
}
