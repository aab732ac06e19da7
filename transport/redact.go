package transport

import (
	"cmp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// secretLength is the length in bytes from which on a value is cut out of what
// a server prints. Shorter ones, such as "true" or a port, stand in any text.
const secretLength = 6

const redacted = "[redacted]"

// A redactor cuts secrets out of lines. It knows them as they are: a secret
// that a server prints encoded, or in part, stays.
type redactor struct {
	replacer *strings.Replacer
	longest  int // length of the longest secret
}

func newRedactor(values []string) *redactor {
	var secrets []string
	for _, value := range values {
		// Lines are what a redactor is given, so a key of several lines is
		// recognised line by line.
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); len(line) >= secretLength {
				secrets = append(secrets, line)
			}
		}
	}
	// Of two that begin at the same place the replacer takes the first: the
	// longer, or the rest of it would stay.
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Compare(len(b), len(a)) })

	r := &redactor{}
	var pairs []string
	for _, secret := range secrets {
		r.longest = max(r.longest, len(secret))
		pairs = append(pairs, secret, redacted)
	}
	r.replacer = strings.NewReplacer(pairs...)
	return r
}

// line returns the line without secrets and with at most limit bytes of it,
// give or take a mark. To find a secret that the cut would go through, the line
// must come with longest bytes more than limit.
func (r *redactor) line(line []byte, limit int, cut bool) string {
	text := r.replacer.Replace(string(line))
	if len(text) > limit {
		text, cut = text[:limit], true
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if cut {
		text += "…"
	}
	return text
}

// rpcError returns a server's JSON-RPC error without secrets.
func (r *redactor) rpcError(said *jsonrpc.Error) *jsonrpc.Error {
	told := &jsonrpc.Error{Code: said.Code, Message: r.replacer.Replace(said.Message)}
	if len(said.Data) > 0 {
		told.Data = []byte(r.replacer.Replace(string(said.Data)))
	}
	return told
}

// answer takes the secrets out of a message's error, if it is one. A result is the
// tool's own.
func (r *redactor) answer(message jsonrpc.Message) {
	if response, ok := message.(*jsonrpc.Response); ok {
		if said, ok := response.Error.(*jsonrpc.Error); ok {
			response.Error = r.rpcError(said)
		}
	}
}
