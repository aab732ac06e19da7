package transport

import (
	"fmt"
	"net/http"

	"github.com/mcpsession/mcpsession/failure"
)

// describe says what a reply meant for its request and what can be done about it.
// What the server said itself stands apart.
func (r *remote) describe(m message, re reply, v verdict, response *http.Response, tooLarge bool) *Fault {
	what := fmt.Sprintf("the server answered HTTP %d %s", re.status, http.StatusText(re.status))
	if m.method != "" {
		what += " to " + m.method
	}
	said := re.text
	if re.rpc != nil {
		said = fmt.Sprintf("JSON-RPC error %d: %s", re.rpc.Code, re.rpc.Message)
	}
	remedy := ""
	switch v.reason {
	case failure.ReasonServerGone:
		remedy = ": it does not know the session any more"
		if re.otherSession {
			remedy, said = " in the name of another session", ""
		} else if m.handshake() {
			remedy = ": it does not know the session that it has just given; if several replicas serve the URL, requests of one session must reach the same"
		}
	case failure.ReasonUnauthorized, failure.ReasonForbidden:
		remedy = "; check the credentials that WithHeaders or the client of WithHTTPClient gives"
		if r.authority != nil {
			remedy = "; check the credentials that " + r.authority.name() + " gives"
		}
	case failure.ReasonNotFound:
		remedy = "; check the path of the URL"
		if m.opens() && !r.options.legacy {
			remedy += ", or use WithSSE if the server speaks the older transport"
		}
	case failure.ReasonRejected:
		if m.opens() && re.status == http.StatusMethodNotAllowed {
			remedy = "; check the path of the URL, or use WithSSE if the server speaks the older transport"
		}
	case failure.ReasonRateLimited, failure.ReasonUnavailable:
		remedy = "; no tool ran, so it can be called again, later"
	case failure.ReasonGateway:
		remedy = "; what stands before the server got no answer from it"
	case failure.ReasonRedirect:
		said = ""
		if next, err := response.Location(); err == nil {
			what += ", a redirect to " + place(next) + next.Path
			remedy = "; only a 307 or 308 within the origin is followed: give HTTP the URL where the server is"
		}
	case failure.ReasonNoAnswer:
		said = ""
		remedy = fmt.Sprintf(" with content type %q, which holds no JSON-RPC answer to the request", r.told(response.Header.Get("Content-Type")))
		if tooLarge {
			remedy = fmt.Sprintf(" with more than %d bytes; let it send less", DefaultMaxMessage)
		}
	}
	return &Fault{Message: r.told(what) + remedy, Peer: r.told(said)}
}
