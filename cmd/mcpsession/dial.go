package main

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/log"
)

// dialTimeout is how long Temporal may take to answer at first.
const dialTimeout = 10 * time.Second

// A connected client knows where it is connected to.
type connected struct {
	client.Client
	options client.Options
}

// dial connects to Temporal, as the client configuration and the flags say.
func (s *settings) dial(ctx context.Context, logger *slog.Logger) (*connected, error) {
	profile, err := envconfig.LoadClientConfigProfile(envconfig.LoadClientConfigProfileOptions{})
	if err != nil {
		return nil, usage("the Temporal client configuration (TEMPORAL_* and temporal.toml) can't be used: %w", err)
	}
	profile.Address = cmp.Or(s.address, profile.Address)
	profile.Namespace = cmp.Or(s.namespace, profile.Namespace)
	options, err := profile.ToClientOptions(envconfig.ToClientOptionsRequest{})
	if err != nil {
		return nil, usage("the Temporal client configuration (TEMPORAL_* and temporal.toml) can't be used: %w", err)
	}
	options.HostPort = cmp.Or(options.HostPort, client.DefaultHostPort)
	options.Namespace = cmp.Or(options.Namespace, client.DefaultNamespace)
	options.Logger = log.NewStructuredLogger(logger)
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	c, err := client.DialContext(dialing, options)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, errInterrupted
	case err != nil:
		return nil, &fault{code: exitTemporal, err: fmt.Errorf("no Temporal server can be reached at %s: %w\n"+
			"start one (temporal server start-dev; or in mcpsession's repository: cd devserver && go run .), or say by TEMPORAL_ADDRESS or --address where it is",
			options.HostPort, err)}
	}
	return &connected{Client: c, options: options}, nil
}
