package transport_test

import (
	"context"
	"os"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/mcpsession/mcpsession/transport"
)

// A static token that is rotated in a file: it is read at each connection, and again
// when the server refuses it in the middle of a session.
func ExampleWithBearer() {
	connector := transport.HTTP("https://mcp.example.com/mcp", transport.WithBearer(func(context.Context) (string, error) {
		token, err := os.ReadFile("/run/secrets/mcp-token")
		return strings.TrimSpace(string(token)), err
	}))
	_ = connector // for session.Server.Connect
}

// A service that has a login of its own needs nobody to log in.
func ExampleWithOAuth() {
	handler, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
		Credentials: &oauthex.ClientCredentials{
			ClientID:         "agents",
			ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: os.Getenv("MCP_CLIENT_SECRET")},
		},
	})
	if err != nil {
		return // the config lacks something
	}
	connector := transport.HTTP("https://mcp.example.com/mcp", transport.WithOAuth(handler))
	_ = connector // for session.Server.Connect
}

// A person has logged in by another program, with the same store and a fetcher that
// opens a browser. Workers renew what that gave, and need no login after a restart.
func ExampleAuthorizationCode() {
	handler, err := transport.AuthorizationCode(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName:   "agents",
			RedirectURIs: []string{"http://localhost:8085/callback"},
			GrantTypes:   []string{"authorization_code", "refresh_token"},
		}},
	}, transport.FileTokenStore("/var/lib/agents/mcp-grant.json"))
	if err != nil {
		return // the config lacks something
	}
	connector := transport.HTTP("https://mcp.example.com/mcp", transport.WithOAuth(handler))
	_ = connector // for session.Server.Connect
}
