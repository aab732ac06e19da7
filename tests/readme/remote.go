package main

import (
	"context"
	"os"
	"strings"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

func remote() session.Server {
	return session.Server{
		Name: "notes",
		Connect: transport.HTTP("https://mcp.example.com/mcp", transport.WithBearer(
			func(context.Context) (string, error) {
				token, err := os.ReadFile("/run/secrets/notes-token")
				return strings.TrimSpace(string(token)), err
			})),
	}
}

var _ = remote
