package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/mcpsession/mcpsession/failure"
)

// send sends a request as one of this session's, with its credential. Where the
// server refuses that, it is sent once more with a renewed one: what was refused did
// not run. An [uncreditedError] says that there is no credential to send.
// Sent tells after another error whether the server may have got the request, and
// run it; tracked is the context of the call that is sent, if it is one.
func (r *remote) send(ctx, tracked context.Context, request *http.Request) (response *http.Response, sent bool, err error) {
	if r.authority == nil {
		return r.sendAs(ctx, tracked, request, credential{})
	}
	c, err := r.authority.current(ctx)
	if err != nil {
		closeBody(request)
		return nil, false, r.uncredited(ctx, c, err)
	}
	r.learnToken(c.authorization)
	response, sent, err = r.sendAs(ctx, tracked, request, c)
	if err != nil || !r.authority.renewable(response) || request.GetBody == nil && request.Body != nil && request.Body != http.NoBody ||
		r.otherSession(request, response) { // it has passed what refuses credentials
		return response, sent, err
	}
	// Known until it is sent again, should the caller's patience end before, in a body
	// that does not end as well.
	NoteFault(tracked, &Fault{
		Reason: failure.ReasonUnauthorized, ToolRan: failure.RanNo,
		Message: fmt.Sprintf("the server answered HTTP %d %s, and its credential was being renewed", response.StatusCode, http.StatusText(response.StatusCode)),
	})
	said, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	_ = response.Body.Close()
	renewed, err := r.authority.renew(ctx, c, r.forAuthority(ctx, request, c), withBody(response, said))
	if err != nil {
		return nil, false, r.uncredited(ctx, renewed, err)
	}
	if renewed.authorization == c.authorization {
		return withBody(response, said), true, nil
	}
	r.learnToken(renewed.authorization)
	again := request.Clone(ctx)
	if request.GetBody != nil {
		if again.Body, err = request.GetBody(); err != nil {
			return nil, false, err
		}
	}
	NoteFault(tracked, nil)
	return r.sendAs(ctx, tracked, again, renewed)
}

// forAuthority is the request as its authority sees it: with the credential, without
// what else is secret.
func (r *remote) forAuthority(ctx context.Context, request *http.Request, c credential) *http.Request {
	seen := request.Clone(ctx)
	seen.Body, seen.GetBody = nil, nil
	if r.target(request.URL) == r.endpoint {
		bare := *r.endpoint
		bare.RawQuery, bare.ForceQuery = "", false
		seen.URL = &bare
	}
	seen.Header.Del(sessionHeader)
	if c.authorization != "" {
		seen.Header.Set(authorizationHeader, c.authorization)
	}
	return seen
}

func withBody(response *http.Response, body []byte) *http.Response {
	with := *response
	with.Body, with.Header = io.NopCloser(bytes.NewReader(body)), response.Header.Clone()
	return &with
}

// uncredited is the error of a request for which there is no credential.
func (r *remote) uncredited(ctx context.Context, c credential, err error) error {
	if ctx.Err() != nil {
		return err
	}
	r.learnToken(c.authorization)
	var permanent *PermanentError
	fault := Fault{
		Reason: failure.ReasonUnauthorized, ToolRan: failure.RanNo,
		Permanent: errors.As(err, &permanent) || needsPerson(err),
		Message:   "the request could not be authorized: " + r.told(describeAuth(err)),
	}
	if permanent != nil && permanent.Reason != "" {
		fault.Reason = failure.Reason(permanent.Reason)
	}
	return &uncreditedError{fault}
}

// An uncreditedError says that there is no credential to send a request with. It says
// nothing of the session.
type uncreditedError struct{ Fault }

func (e *uncreditedError) Unwrap() error { return &e.Fault }

// isUncredited reports whether an error of send is one, and whether it stays so until
// somebody does something.
func isUncredited(err error) (is, stays bool) {
	var uncredited *uncreditedError
	if errors.As(err, &uncredited) {
		return true, uncredited.Permanent
	}
	return false, false
}
