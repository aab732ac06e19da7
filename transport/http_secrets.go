package transport

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// WithSecrets names values that HTTP never tells, besides those of headers and of the
// query: what is secret in the URL's path. They are cut out of what the server says in
// errors before that is told.
func WithSecrets(values ...string) Option {
	values = slices.Clone(values)
	return func(o *httpOptions) { o.secrets = append(o.secrets, values...) }
}

// maxTokens is how many of the tokens that a connection has used stay secrets of it.
// Those before have expired long ago.
const maxTokens = 256

// Secrets are what a connection never tells. More come up while it lives.
type secrets struct {
	redactor atomic.Pointer[redactor]

	mu      sync.Mutex
	fixed   []string // of headers and the query
	tokens  []string // in the order of their use
	session string   // its id
}

// learn adds secrets for good.
func (s *secrets) learn(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, value := range values {
		s.fixed = append(s.fixed, value)
		if token := afterScheme(value); token != "" {
			s.fixed = append(s.fixed, token)
		}
	}
	s.renew()
}

// learnToken adds what is sent as Authorization, or a token alone.
func (s *secrets) learnToken(authorization string) {
	token := afterScheme(authorization)
	if token == "" {
		token = authorization
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if token == "" || slices.Contains(s.tokens, token) {
		return
	}
	s.tokens = append(s.tokens[max(0, len(s.tokens)-maxTokens+1):], token)
	s.renew()
}

// afterScheme returns what follows the scheme of an Authorization, such as Bearer: a
// server may repeat that alone.
func afterScheme(authorization string) string {
	if words := strings.Fields(authorization); len(words) == 2 {
		return words[1]
	}
	return ""
}

// learnSession makes an id the session's.
func (s *secrets) learnSession(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session = id
	s.renew()
}

func (s *secrets) renew() {
	s.redactor.Store(newRedactor(slices.Concat(s.fixed, s.tokens, []string{s.session})))
}

// known returns what cuts the secrets out.
func (s *secrets) known() *redactor {
	if r := s.redactor.Load(); r != nil {
		return r
	}
	return newRedactor(nil)
}

func (o *httpOptions) secretsNamed() (all []string) {
	for _, value := range o.secrets {
		all = append(all, value, url.QueryEscape(value), url.PathEscape(value))
	}
	return all
}

func secretsOfHeader(header http.Header) (all []string) {
	for _, values := range header {
		all = append(all, values...)
	}
	return all
}

func secretsOfQuery(u *url.URL) (all []string) {
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		name, written, ok := strings.Cut(pair, "=")
		if !ok {
			written = name // the whole of it may be the key
		}
		value, err := url.QueryUnescape(written)
		if err != nil {
			value = written
		}
		all = append(all, written, value, url.QueryEscape(value), url.PathEscape(value))
	}
	return all
}
