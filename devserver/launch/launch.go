package launch

import (
	"cmp"
	"context"
	"io"
	"os"

	"go.temporal.io/sdk/client"
)

// Options say what server is wanted. The zero value is a good one.
type Options struct {
	// Namespace is what a started server serves. For a server that the client configuration names, it stands in where that
	// names no namespace; it isn't created there. Default: "default".
	Namespace string

	// Args are further flags for a started server, such as "-ui", "127.0.0.1:8233" or "-dynamic-config", "key=value". They
	// follow the flags that Connect itself gives (-address, -ui, -namespace, -exit-with-stdin) and win over them, except
	// that -namespace adds namespaces. They have no effect on a server that the client configuration names.
	Args []string

	// LogOutput gets the progress of a build and the log of a started server. It is written to by one goroutine at a time.
	// Default: os.Stderr; use io.Discard for silence.
	LogOutput io.Writer
}

// Server is a Temporal server that can be used until Stop.
type Server struct {
	// Address is the host and port of the server's frontend.
	Address string

	// Namespace is the namespace to use there.
	Namespace string

	// Embedded tells that Connect started the server, for this process alone.
	Embedded bool

	// A function, not the configuration itself, which has a key in it that no print of a Server may show.
	clientOptions func() (client.Options, error)
	process       *process // Nil unless Embedded.
}

// Connect returns the server that the Temporal client configuration names, without trying whether it answers, or else
// builds and starts a devserver and returns it ready to run workflows. The context bounds the call, not the server's life.
func Connect(ctx context.Context, options Options) (*Server, error) {
	options.Namespace = cmp.Or(options.Namespace, client.DefaultNamespace)
	if options.LogOutput == nil {
		options.LogOutput = os.Stderr
	}
	if server, err := configured(options.Namespace); server != nil || err != nil {
		return server, err
	}

	program, err := Build(ctx, options.LogOutput)
	if err != nil {
		return nil, err
	}
	process, address, err := startProcess(ctx, program, options)
	if err != nil {
		return nil, err
	}
	return &Server{
		Address:   address,
		Namespace: options.Namespace,
		Embedded:  true,
		clientOptions: func() (client.Options, error) {
			return client.Options{HostPort: address, Namespace: options.Namespace}, nil
		},
		process: process,
	}, nil
}

// ClientOptions returns what an SDK client needs to talk to the server: address, namespace and, where the client
// configuration has them, credentials and TLS. It fails when files that the configuration names can't be used.
func (s *Server) ClientOptions() (client.Options, error) {
	return s.clientOptions()
}

// Environ returns the environment variables, as "name=value", that make a child process use this server, provided that it
// takes its client options from the client configuration. Append them to os.Environ.
func (s *Server) Environ() []string {
	environ := []string{"TEMPORAL_ADDRESS=" + s.Address, "TEMPORAL_NAMESPACE=" + s.Namespace}
	if s.Embedded {
		// A key that is meant for another server would turn TLS on, which a devserver doesn't speak.
		environ = append(environ, "TEMPORAL_API_KEY=", "TEMPORAL_TLS=false")
	}
	return environ
}

// Stop ends a started server and waits until its process is gone, which takes about a second and never longer than
// [StopTimeout]. It returns an error when the server had ended by itself or had to be killed; its process is gone
// nevertheless. Another call returns the same. A server that the client configuration names is left alone.
func (s *Server) Stop() error {
	if s.process == nil {
		return nil
	}
	return s.process.stop()
}
