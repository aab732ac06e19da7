package main

import (
	"context"
	"fmt"
	"net/http"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
)

// webUI is the running Web UI.
type webUI struct {
	url    string
	server *uiserver.Server
	done   chan struct{} // Closed when it has stopped serving.
}

// startWebUI serves the UI at an endpoint that was claimed: if the port is taken nevertheless, the UI server ends the
// process.
func startWebUI(at endpoint, frontend, namespace string) *webUI {
	host := at.addr.Addr().String()
	if at.addr.Addr().Is6() {
		host = "[" + host + "]" // It puts host and port together as they are.
	}
	ui := &webUI{
		url: "http://" + at.dialable(),
		server: uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
			TemporalGRPCAddress: frontend,
			Host:                host,
			Port:                int(at.addr.Port()),
			EnableUI:            true,
			DefaultNamespace:    namespace,
			// A browser keeps a secure cookie of a plain HTTP page only for some names of this machine.
			CORS:             uiconfig.CORS{CookieInsecure: true},
			DisableNewsFetch: true,
			HideLogs:         true,
		})),
		done: make(chan struct{}),
	}
	go func() {
		defer close(ui.done)
		_ = ui.server.Start() // Returns nil after a stop, and never otherwise.
	}()
	return ui
}

func (u *webUI) awaitReady(ctx context.Context) error {
	err := retry(ctx, func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.url+"/healthz", nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("HTTP status %s", response.Status)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the Web UI does not answer at %s: %w; -ui none does without it", u.url, err)
	}
	return nil
}

func (u *webUI) stop() {
	u.server.Stop()
	<-u.done
}
