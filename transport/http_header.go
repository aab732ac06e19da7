package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/mcpsession/mcpsession/internal/thrown"
)

// makeHeader asks for the caller's headers.
func (r *remote) makeHeader(ctx context.Context) (header http.Header, err error) {
	if r.options.headers == nil {
		return nil, nil
	}
	defer func() {
		if p := recover(); p != nil {
			header, err = nil, thrown.Error("transport: the function given to WithHeaders", p)
		}
	}()
	given, err := r.options.headers(ctx)
	if err != nil {
		return nil, fmt.Errorf("transport: the function given to WithHeaders failed: %w", err)
	}
	header = make(http.Header, len(given))
	for name, values := range given {
		if wrong := checkHeader(name, values); wrong != "" {
			return nil, Permanent("bad-option", fmt.Errorf("transport: the header %q of WithHeaders %s", name, wrong))
		}
		key := http.CanonicalHeaderKey(name)
		if key == authorizationHeader && (r.options.hasBearer || r.options.hasOAuth) {
			return nil, Permanent("bad-option", errors.New(
				"transport: WithHeaders gives an Authorization, which WithBearer and WithOAuth set; leave one out"))
		}
		header[key] = append(header[key], values...)
	}
	return header, nil
}

// checkHeader tells what is wrong with a header, without a value of it.
func checkHeader(name string, values []string) string {
	switch key := http.CanonicalHeaderKey(name); {
	case key == "Mcp-Session-Id", key == "Mcp-Protocol-Version", key == "Mcp-Method", key == "Mcp-Name",
		key == "Accept", key == "Content-Type", key == "Content-Length", key == lastIDHeader:
		return "is one that the transport sets itself; leave it out"
	case name == "" || strings.ContainsFunc(name, func(c rune) bool { return c <= ' ' || c > '~' || c == ':' }):
		return "is no header's name"
	}
	for _, value := range values {
		if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			return "has a value with a line break or another control character in it; trim it"
		}
	}
	return ""
}

// told returns a text that may be told.
func (r *remote) told(text string) string {
	knows := r.known()
	return knows.line([]byte(clipTo(text, maxSaid+knows.longest)), maxSaid, len(text) > maxSaid+knows.longest)
}

func clipTo(text string, limit int) string { return text[:min(len(text), limit)] }
