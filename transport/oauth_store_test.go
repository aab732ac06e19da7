package transport_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mcpsession/mcpsession/transport"
)

// However a grant is written by mistake, nothing of it is told.
func TestGrantTellsNothing(t *testing.T) {
	t.Parallel()
	grant := transport.Grant{AccessToken: "planted-a", RefreshToken: "planted-r", ClientSecret: "planted-s", ClientID: "planted-i"}
	var all bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&all, nil), slog.NewJSONHandler(&all, nil)} {
		slog.New(handler).Info("a grant", "value", grant, "pointer", &grant)
	}
	fmt.Fprintf(&all, "%v %+v %#v %s", grant, &grant, grant, &grant)
	if text := all.String(); strings.Contains(text, "planted") || strings.Count(text, "[redacted]") != 8 {
		t.Error(text)
	}
}
