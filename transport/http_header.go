package transport

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/mcpsession/mcpsession/internal/header"
	"github.com/mcpsession/mcpsession/internal/thrown"
)

// makeHeader asks for the caller's headers.
func (r *remote) makeHeader(ctx context.Context) (all http.Header, err error) {
	if r.options.headers == nil {
		return nil, nil
	}
	defer func() {
		if p := recover(); p != nil {
			all, err = nil, thrown.Error("transport: the function given to WithHeaders", p)
		}
	}()
	given, err := r.options.headers(ctx)
	if err != nil {
		return nil, fmt.Errorf("transport: the function given to WithHeaders failed: %w", err)
	}
	all = make(http.Header, len(given))
	for name, values := range given {
		if wrong := header.Fault(name, values...); wrong != "" {
			return nil, Permanent("bad-option", fmt.Errorf("transport: the header %q of WithHeaders %s", name, wrong))
		}
		key := http.CanonicalHeaderKey(name)
		if key == authorizationHeader && (r.options.hasBearer || r.options.hasOAuth) {
			return nil, Permanent("bad-option", errors.New(
				"transport: WithHeaders gives an Authorization, which WithBearer and WithOAuth set; leave one out"))
		}
		all[key] = append(all[key], values...)
	}
	return all, nil
}

// told returns a text that may be told.
func (r *remote) told(text string) string {
	knows := r.known()
	return knows.line([]byte(clipTo(text, maxSaid+knows.longest)), maxSaid, len(text) > maxSaid+knows.longest)
}

func clipTo(text string, limit int) string { return text[:min(len(text), limit)] }
