package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// deliverTimeout bounds how long the end of a server waits for those who take
// what it said last: the logger, and the MCP SDK, so that a result which had
// arrived is not taken for lost. They take it all the time: in microseconds.
const deliverTimeout = time.Second

// A connection is what the MCP SDK gets from Connect: the SDK's own connection,
// which frames the messages, with what this package adds to it. Its end is its
// server's end.
type connection struct {
	mcp.Connection
	life     *life
	server   string        // for error texts
	redactor *redactor     // of the server's errors; nil for none
	writing  chan struct{} // has room for one: whoever put a value in may write

	readAll sync.Once
	read    chan struct{} // closed once Read has said that there is no more
}

func newConnection(inner mcp.Connection, life *life, server string) *connection {
	return &connection{
		Connection: inner,
		life:       life,
		server:     server,
		writing:    make(chan struct{}, 1),
		read:       make(chan struct{}),
	}
}

// Read returns the server's next message.
func (c *connection) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	switch {
	case err == nil:
		if c.redactor != nil {
			c.redactor.answer(message)
		}
		return message, nil
	case ctx.Err() != nil:
		return message, err
	case errors.Is(err, io.EOF):
		c.life.lose(nil)
	default:
		c.life.lose(fmt.Errorf("sent what the MCP SDK can't read: %w", err))
	}
	c.readAll.Do(func() { close(c.read) })
	return nil, err
}

// Write sends a message, and returns when it is written or ctx is done. The
// SDK's own Write heeds ctx at its start only: a server that doesn't read its
// input would hold every caller for ever, and their deadlines with them.
func (c *connection) Write(ctx context.Context, message jsonrpc.Message) error {
	select {
	case c.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-c.life.ending:
		return c.ended()
	}
	// Select picks at random among what is ready.
	select {
	case <-ctx.Done():
		<-c.writing
		return ctx.Err()
	case <-c.life.ending:
		<-c.writing
		return c.ended()
	default:
	}

	// Only for calls: the SDK sends the notice that a call is cancelled under
	// the values of the call's context, also when the call was never written.
	if request, ok := message.(*jsonrpc.Request); ok && request.IsCall() {
		SendBegins(ctx)
	}
	written := make(chan error, 1)
	go func() {
		// A message that has begun is written to its end, or the next one would
		// stand in the middle of it.
		err := c.Connection.Write(context.WithoutCancel(ctx), message)
		<-c.writing
		written <- c.explain(err)
	}()
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// explain says what an error of the SDK's Write means for the connection.
func (c *connection) explain(err error) error {
	select {
	case <-c.life.ending:
		if err != nil {
			err = c.ended()
		}
		return err
	default:
	}
	// A pipe that broke, not a message that can't be encoded.
	if broken := (*os.PathError)(nil); errors.As(err, &broken) {
		c.life.lose(errStdinClosed)
		return fmt.Errorf("transport: %s no longer reads its input: %w", c.server, err)
	}
	return err
}

// ended is the error of a message that is not written because the end has begun.
func (c *connection) ended() error {
	return fmt.Errorf("transport: the connection to %s has ended: %w", c.server, mcp.ErrConnectionClosed)
}

// awaitReader returns once the SDK has read all there was to read, or nobody
// waits for it any more.
func (c *connection) awaitReader() {
	timer := time.NewTimer(deliverTimeout)
	defer timer.Stop()
	select {
	case <-c.read:
	case <-c.life.closing.Done():
	case <-timer.C:
	}
}

// Close ends the server as well, and returns when it is gone or given up.
func (c *connection) Close() error { return c.life.Close() }
