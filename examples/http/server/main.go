// Command server serves the notebook over HTTP to whoever has the token.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/mcpsession/mcpsession/examples/http/notebook"
)

func main() {
	address := flag.String("address", "127.0.0.1:8990", "where to listen")
	tokenFile := flag.String("token-file", "", "the `file` that has the token; it is read at each request")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *address, *tokenFile); err != nil {
		log.Fatalln("server:", err)
	}
}

func run(ctx context.Context, address, tokenFile string) error {
	token := func() (string, error) {
		token, err := os.ReadFile(tokenFile)
		return strings.TrimSpace(string(token)), err
	}
	if _, err := token(); err != nil {
		return fmt.Errorf("no token; give one by -token-file: %w", err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("listening on http://%s\n", listener.Addr())
	server := &http.Server{Handler: notebook.Handler(token), ReadHeaderTimeout: 10 * time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
