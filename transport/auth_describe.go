package transport

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/oauth2"
)

// describeAuth returns what an error of an authority says, as far as it may be told:
// what an authorization server answers may hold tokens, and its errors have all of
// that.
func describeAuth(err error) string {
	var refused *oauth2.RetrieveError
	var unreachable *url.Error
	var own *loginError
	switch {
	case errors.As(err, &own):
		return own.Error()
	case errors.As(err, &refused):
		return describeRefusal(refused)
	case errors.As(err, &unreachable):
		host := "the authorization server"
		if u, parseErr := url.Parse(unreachable.URL); parseErr == nil && u.Host != "" {
			host += " " + u.Host
		}
		return fmt.Sprintf("%s can't be reached: %v", host, unreachable.Err)
	case strings.Contains(err.Error(), "failed to register client"):
		// The MCP SDK's text has the answer, which may have the client's secret.
		return "the client could not be registered at the authorization server"
	}
	return err.Error()
}

func describeRefusal(refused *oauth2.RetrieveError) string {
	text := "the authorization server"
	if refused.Response == nil {
		return text + " gave no token"
	}
	if request := refused.Response.Request; request != nil && request.URL != nil {
		text += " " + request.URL.Host
	}
	text += fmt.Sprintf(" gave no token: it answered HTTP %d %s", refused.Response.StatusCode, http.StatusText(refused.Response.StatusCode))
	if oauthErrors[refused.ErrorCode] {
		text += " (" + refused.ErrorCode + ")"
	}
	if needsPerson(refused) {
		text += "; a new login, or other credentials of the client, are needed"
	}
	return text
}

// oauthErrors are the error codes of OAuth, RFC 6749 and its extensions. A server can
// put anything in its place, so no other is told. Those that are true stay so until
// somebody does something.
var oauthErrors = map[string]bool{
	"invalid_request": true, "invalid_client": true, "invalid_grant": true, "unauthorized_client": true,
	"unsupported_grant_type": true, "invalid_scope": true, "invalid_target": true, "access_denied": true,
	"server_error": true, "temporarily_unavailable": true, "slow_down": true,
}

// needsPerson reports whether another try would come to the same until somebody does
// something.
func needsPerson(err error) bool {
	var own *loginError
	if errors.As(err, &own) {
		return !own.passes
	}
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) {
		return false
	}
	switch refused.ErrorCode {
	case "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope", "invalid_target", "access_denied":
		return true
	}
	return false
}
