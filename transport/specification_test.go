//go:build unix

package transport_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcpsession/mcpsession/transport"
)

// Two transports have one specification exactly when they would start the same
// server. No form of it tells anything.
func TestSpecification(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(program, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("#!/bin/sh\n")
	base := transport.CommandOptions{Env: []string{"KEY=secret-value", "OTHER=x"}, Logger: quiet}
	of := func(change func(*transport.CommandOptions), name string, args ...string) transport.Specification {
		t.Helper()
		options := base
		if change != nil {
			change(&options)
		}
		made, err := transport.CommandWithOptions(options, name, args...)(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return made.(transport.Specified).Specification()
	}
	one := of(nil, program, "a", "b")
	if again := of(func(o *transport.CommandOptions) { o.Env = []string{"OTHER=x", "KEY=secret-value"} }, program, "a", "b"); again != one {
		t.Error("the order of variables makes a difference")
	}
	if again := of(func(o *transport.CommandOptions) { o.CloseTimeout = transport.DefaultCloseTimeout }, program, "a", "b"); again != one {
		t.Error("a default that is named makes a difference")
	}
	seen := map[transport.Specification]string{one: "the base"}
	for what, other := range map[string]transport.Specification{
		"arguments that are split otherwise": of(nil, program, "ab"),
		"other arguments":                    of(nil, program, "a", "c"),
		"no arguments":                       of(nil, program),
		"another value":                      of(func(o *transport.CommandOptions) { o.Env = []string{"KEY=secret-valuf", "OTHER=x"} }, program, "a", "b"),
		"one variable less":                  of(func(o *transport.CommandOptions) { o.Env = o.Env[:1] }, program, "a", "b"),
		"a directory":                        of(func(o *transport.CommandOptions) { o.Dir = dir }, program, "a", "b"),
		"a logger":                           of(func(o *transport.CommandOptions) { o.Logger = slog.New(slog.DiscardHandler) }, program, "a", "b"),
		"a time to close":                    of(func(o *transport.CommandOptions) { o.CloseTimeout = time.Minute }, program, "a", "b"),
		"a time to kill":                     of(func(o *transport.CommandOptions) { o.KillTimeout = time.Minute }, program, "a", "b"),
		"a size":                             of(func(o *transport.CommandOptions) { o.MaxMessage = 1 << 10 }, program, "a", "b"),
		"another program":                    of(nil, "/bin/sh", "a", "b"),
	} {
		if same, ok := seen[other]; ok {
			t.Errorf("%s and %s are one specification", what, same)
		}
		seen[other] = what
	}
	write("#!/bin/sh\nexit 1\n")
	if of(nil, program, "a", "b") == one {
		t.Error("a program that was replaced is the same")
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, one); text != one.String() || strings.Contains(text, "secret") {
			t.Errorf("%s prints %s", format, text)
		}
	}
}
