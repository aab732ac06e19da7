// Package header says which HTTP headers a user may give to the requests of a session.
package header

import (
	"net/http"
	"strings"
)

// Fault tells what is wrong with a header, without a value of it; it is empty if
// nothing is.
func Fault(name string, values ...string) string {
	switch key := http.CanonicalHeaderKey(name); {
	case key == "Mcp-Session-Id", key == "Mcp-Protocol-Version", key == "Mcp-Method", key == "Mcp-Name",
		key == "Accept", key == "Content-Type", key == "Content-Length", key == "Last-Event-Id":
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
