package transport

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// startLegacy opens the event stream of the transport before streamable HTTP. The
// stream is as long as the session, so ctx bounds only how long it may take to
// come.
func (r *remote) startLegacy(ctx context.Context, client *http.Client) (mcp.Connection, error) {
	defer context.AfterFunc(ctx, func() { r.cancel(context.Cause(ctx)) })()
	streamCtx := context.WithValue(r.ctx, sendKey{}, ctx.Value(sendKey{}))
	inner, err := (&mcp.SSEClientTransport{Endpoint: bare(r.endpoint), HTTPClient: client}).Connect(streamCtx)
	if fault := (*Fault)(nil); errors.As(err, &fault) {
		return nil, fault // the SDK's text has the URL, and says no more
	}
	if err != nil {
		return nil, errors.New("transport: " + r.told(err.Error()))
	}
	r.inner = inner
	return &legacyConnection{Connection: inner, remote: r}, nil
}

// openLegacy sends the request for the event stream.
func (r *remote) openLegacy(request *http.Request) (*http.Response, error) {
	tracked := request.Context()
	ctx, release := r.bind(tracked)
	response, sent, err := r.send(ctx, context.Background(), request)
	if err != nil {
		release()
		return nil, r.unanswered(ctx, tracked, opening, request, sent, err)
	}
	if response.StatusCode >= 200 && response.StatusCode < 300 {
		response.Body = &releasingBody{response.Body, release}
		return response, nil
	}
	defer release()
	response, err = r.answered(ctx, tracked, message{method: methodInitialize}, request, response)
	if err == nil {
		_ = response.Body.Close()
		err = errors.New("the server answered with JSON-RPC where an event stream was asked for; leave WithSSE out if it speaks streamable HTTP")
	}
	return nil, err
}

type releasingBody struct {
	io.ReadCloser
	release context.CancelFunc
}

func (b *releasingBody) Close() error {
	b.release()
	return b.ReadCloser.Close()
}

// A legacyConnection adds to the MCP SDK's connection what [roundTripper] can't
// see: what comes by the event stream, and its end.
type legacyConnection struct {
	mcp.Connection
	remote *remote
}

// Read returns the server's next message.
func (c *legacyConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		message, err := c.Connection.Read(ctx)
		switch {
		case err == nil:
			c.remote.known().answer(message)
			return message, nil
		case ctx.Err() != nil:
			return nil, err
		case errors.Is(err, io.EOF):
			c.remote.lose(errors.New("the server's event stream, which is the session, has ended"))
			return nil, err
		}
		// An event that is no message: the SDK would end the connection for it.
	}
}

// Write sends a message. An error of it is made one that fails the message alone:
// any other is the end of the connection to the SDK.
func (c *legacyConnection) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if fault := (*Fault)(nil); errors.As(err, &fault) {
		return rejection{fault}
	}
	return err
}

// Close ends the session, and returns when it has ended.
func (c *legacyConnection) Close() error { return c.remote.Close() }

// A rejection is an error that the MCP SDK takes for one of the message.
type rejection struct{ *Fault }

// Is reports that the error is the MCP SDK's for a message that the transport
// rejected, which has no exported name but a code.
func (rejection) Is(target error) bool {
	rpc, ok := target.(*jsonrpc.Error)
	return ok && rpc.Code == codeRejected
}

func (r rejection) Unwrap() error { return r.Fault }

const codeRejected = -32005
