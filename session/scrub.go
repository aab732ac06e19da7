package session

import (
	"errors"
	"net/url"
	"regexp"

	"github.com/mcpsession/mcpsession/failure"
)

// What in an error's text is, or may be, a credential: a session id as the MCP SDK
// and servers quote it, the token of an Authorization, and what a URL may hold
// besides its place.
var (
	namedSession  = regexp.MustCompile(`(?i)(session[ _-]?ids?\s*(?:[:=]\s*|is\s+)?)"[^"]*"(?:( and )"[^"]*")?`)
	labelled      = regexp.MustCompile(`(?i)(session[ _-]?ids?\s*[:=]\s*)[^\s"'(),;]+`)
	looksLikeAnID = regexp.MustCompile(`(?i)(session(?:[ _-]?id)?\s*[:=]?\s*"?)[0-9A-Za-z_\-]*[0-9][0-9A-Za-z_\-]{7,}`)
	authorization = regexp.MustCompile(`(?i)\b(bearer|basic|token)(\s+|:\s*)[0-9A-Za-z\-._~+/=]{8,}`)
	address       = regexp.MustCompile(`\bhttps?://[^\s"'<>]+`)
)

const redacted = "[redacted]"

// scrubbed returns err as text without what may be a credential. The error's own
// type is not needed any more.
func scrubbed(err error) error {
	text := namedSession.ReplaceAllString(err.Error(), `${1}"`+redacted+`"`)
	text = labelled.ReplaceAllString(text, "${1}"+redacted)
	text = looksLikeAnID.ReplaceAllString(text, "${1}"+redacted)
	text = authorization.ReplaceAllString(text, "${1} "+redacted)
	text = address.ReplaceAllStringFunc(text, scrubbedURL)
	return errors.New(failure.Clip(text, failure.MaxPeerText))
}

// scrubbedURL returns a URL without user and query, which is where keys stand.
func scrubbedURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return redacted
	}
	u.User, u.Fragment = nil, ""
	if u.RawQuery != "" {
		u.RawQuery = redacted
	}
	return u.String()
}
