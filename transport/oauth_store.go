package transport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/oauth2"
)

// A Grant is what a login with OAuth gave, and what it takes to renew it: after a
// worker's restart nobody needs to log in again. All of it is to be kept secret.
type Grant struct {
	AccessToken  string    `json:"access_token"`
	TokenType    string    `json:"token_type,omitempty"`
	RefreshToken string    `json:"refresh_token,omitempty"`
	Expiry       time.Time `json:"expiry,omitzero"` // of the access token; zero is never

	TokenURL     string           `json:"token_url"`
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	AuthStyle    oauth2.AuthStyle `json:"auth_style,omitempty"`
	Scopes       []string         `json:"scopes,omitempty"`
}

// String tells nothing of the grant, so that it can't come into a log.
func (Grant) String() string { return "Grant([redacted])" }

// GoString tells nothing of the grant.
func (Grant) GoString() string { return "transport.Grant([redacted])" }

// LogValue tells nothing of the grant: a log in JSON asks for no String.
func (g Grant) LogValue() slog.Value { return slog.StringValue(g.String()) }

// A TokenStore keeps the grant of a login, for one user of one server.
// Implementations must be safe for concurrent use.
//
// Workers that share a store share the grant. It is read before each renewal, so that
// one takes what another has renewed; where an authorization server gives a new
// refresh token at each renewal, two that renew at the same moment may still cost the
// login. A store that takes a lock in Load and frees it in Save does not help, since
// not every Load is followed by a Save: give each worker a login of its own instead.
type TokenStore interface {
	// Load returns the grant that was saved last, or nil if there is none. An error
	// fails the requests that need it, as unauthorized; they are tried again with
	// the next call.
	Load(ctx context.Context) (*Grant, error)
	// Save keeps the grant in place of the one before. It is called before a token
	// is used, whenever there is a new one. An error is logged to [slog.Default] and the
	// token used all the same; Save is tried again with the next request.
	Save(ctx context.Context, grant *Grant) error
}

// FileTokenStore keeps a grant in a file that only its owner may read, as JSON. The
// file is replaced as a whole, so a crash leaves the old one or the new one. Its
// directory must exist.
func FileTokenStore(path string) TokenStore { return fileStore(path) }

type fileStore string

// Load implements [TokenStore].
func (f fileStore) Load(context.Context) (*Grant, error) {
	raw, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var grant Grant
	if err := json.Unmarshal(raw, &grant); err != nil {
		// The decoder's text may have some of it.
		return nil, fmt.Errorf("the file %s holds no grant; delete it, and log in again", string(f))
	}
	return &grant, nil
}

// Save implements [TokenStore].
func (f fileStore) Save(_ context.Context, grant *Grant) (err error) {
	raw, err := json.Marshal(grant)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(string(f)), "."+filepath.Base(string(f))+"-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = file.Close()
			_ = os.Remove(file.Name())
		}
	}()
	if _, err := file.Write(raw); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), string(f))
}
