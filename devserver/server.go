package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/temporal"
)

// server is a running Temporal server with its Web UI.
type server struct {
	options  options // With the real ports.
	log      serverLog
	database database
	temporal temporal.Server
	ui       *webUI // Nil without one.
}

// startServer starts everything and returns when it is started, which is a moment before it is ready. After an error the
// process is to end: what had started by then isn't stopped.
func startServer(options options) (*server, error) {
	var err error
	if options.frontend, err = options.frontend.claim(); err != nil {
		return nil, err
	}
	if options.ui != nil {
		claimed, err := options.ui.claim()
		if err != nil {
			return nil, err
		}
		options.ui = &claimed
	}
	listeners, err := claimListeners(options.frontend)
	if err != nil {
		return nil, fmt.Errorf("no free port on the loopback interface for the inner services: %w", err)
	}
	database := newDatabase(options.database)
	if err := database.prepare(clusterName, options.namespaces); err != nil {
		return nil, err
	}

	logger, err := newServerLog(options.logLevel)
	if err != nil {
		return nil, err
	}
	temporalServer, err := temporal.NewServer(
		temporal.WithConfig(serverConfig(listeners, database.config)),
		temporal.WithStaticHosts(listeners.hosts()),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithDynamicConfigClient(options.dynamicConfig.client()),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return authorization.NewNoopClaimMapper()
		}),
	)
	if err != nil {
		return nil, fmt.Errorf("cannot set up the Temporal server: %w", err)
	}
	if err := temporalServer.Start(); err != nil {
		return nil, fmt.Errorf("cannot start the Temporal server: %w", err)
	}
	started := &server{options: options, log: logger, database: database, temporal: temporalServer}
	if options.ui != nil {
		started.ui = startWebUI(*options.ui, options.frontend.dialable(), options.namespaces[0])
	}
	return started, nil
}

// awaitReady returns when a client can start a workflow in each of the namespaces, and the Web UI answers.
func (s *server) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := awaitFrontend(ctx, s.options.frontend.dialable(), s.options.namespaces); err != nil {
		return err
	}
	if s.ui == nil {
		return nil
	}
	return s.ui.awaitReady(ctx)
}

// readyLine is what programs read. Values have no blanks in them; more of them may come, so read them by name.
func (s *server) readyLine() string {
	ui := noUI
	if s.ui != nil {
		ui = s.ui.url
	}
	return fmt.Sprintf("devserver ready address=%s ui=%s namespaces=%s",
		s.options.frontend.dialable(), ui, strings.Join(s.options.namespaces, ","))
}

// stop ends everything that startServer started. How long it may take is the business of untilStopped.
func (s *server) stop() error {
	s.log.quieten()
	if s.ui != nil {
		s.ui.stop()
	}
	err := s.temporal.Stop()
	if err != nil {
		err = fmt.Errorf("the Temporal server did not stop cleanly: %w", err)
	}
	return errors.Join(err, s.database.fold())
}
