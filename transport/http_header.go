package transport

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// makeHeader asks for the caller's headers.
func (r *remote) makeHeader(ctx context.Context) (header http.Header, err error) {
	if r.options.headers == nil {
		return nil, nil
	}
	defer func() {
		if thrown := recover(); thrown != nil {
			header, err = nil, fmt.Errorf("transport: the function given to WithHeaders panicked: %v", thrown)
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

// learnSecrets makes the redactor know what is never told, and id as well.
func (r *remote) learnSecrets(id ...string) {
	if r.secrets == nil {
		for _, values := range r.header {
			for _, value := range values {
				r.secrets = append(r.secrets, value)
				// A server may repeat a token without its scheme, such as Bearer.
				if words := strings.Fields(value); len(words) == 2 {
					r.secrets = append(r.secrets, words[1])
				}
			}
		}
		for pair := range strings.SplitSeq(r.endpoint.RawQuery, "&") {
			name, written, ok := strings.Cut(pair, "=")
			if !ok {
				written = name // the whole of it may be the key
			}
			value, err := url.QueryUnescape(written)
			if err != nil {
				value = written
			}
			r.secrets = append(r.secrets, written, value, url.QueryEscape(value), url.PathEscape(value))
		}
	}
	r.redactor.Store(newRedactor(append(r.secrets[:len(r.secrets):len(r.secrets)], id...)))
}

// told returns a text that may be told.
func (r *remote) told(text string) string {
	knows := r.redactor.Load()
	return knows.line([]byte(clipTo(text, maxSaid+knows.longest)), maxSaid, len(text) > maxSaid+knows.longest)
}

func clipTo(text string, limit int) string { return text[:min(len(text), limit)] }
