package main

import (
	"context"
	"net/http"
	"os"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/transport"
)

func remote() session.Server {
	return session.Server{
		Name: "notes",
		Connect: transport.HTTP("https://mcp.example.com/mcp", transport.WithHeaders(
			func(context.Context) (http.Header, error) {
				return http.Header{"Authorization": {"Bearer " + os.Getenv("NOTES_TOKEN")}}, nil
			})),
	}
}

var _ = remote
