package toolsettest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/transport"
)

// connectSession returns the connector of one session, which is refused if the test
// has planned that.
func (sv *server) connectSession(s *held, refusal *OpenFault) transport.Connector {
	return func(ctx context.Context, argument transport.Argument) (mcp.Transport, error) {
		t, err := sv.connect(ctx, argument, refusal)
		if err != nil {
			return nil, err
		}
		t.connected = func(w *wire) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.wire = w
		}
		return t, nil
	}
}

// connectStateless is the connector of connections for stateless calls.
func (sv *server) connectStateless(ctx context.Context, argument transport.Argument) (mcp.Transport, error) {
	t, err := sv.connect(ctx, argument, sv.nextOpening())
	if err != nil {
		return nil, err
	}
	return t, nil
}

func (sv *server) connect(ctx context.Context, argument transport.Argument, refusal *OpenFault) (*link, error) {
	if refusal != nil {
		return nil, refusal.fault()
	}
	t, err := transport.InMemory(sv.newServer)(ctx, argument)
	if err != nil {
		return nil, err
	}
	watched, ok := t.(transport.Watched)
	if !ok {
		return nil, errors.New("toolsettest: the in-memory transport is not watched")
	}
	return &link{Watched: watched, connected: func(*wire) {}}, nil
}

// A link is the transport of one connection to a server: the place where calls are
// seen, and where what the test has planned happens to them.
type link struct {
	transport.Watched
	connected func(*wire)
}

// Connect implements [mcp.Transport].
func (l *link) Connect(ctx context.Context) (mcp.Connection, error) {
	inner, err := l.Watched.Connect(ctx)
	if err != nil {
		return nil, err
	}
	w := &wire{Connection: inner, calls: make(map[jsonrpc.ID]*record), arrived: make(chan struct{}, 1)}
	l.connected(w)
	go w.pump()
	return w, nil
}

// A wire is the connection of a link.
type wire struct {
	mcp.Connection

	mu      sync.Mutex
	calls   map[jsonrpc.ID]*record // that wait for their answers
	inbox   []message
	arrived chan struct{} // a token when there is something in inbox
	cut     bool          // the server is gone, for those who use the connection
}

type message struct {
	jsonrpc.Message
	err error
}

// pump takes in what the server says, until its end.
func (w *wire) pump() {
	for {
		m, err := w.Connection.Read(context.Background())
		w.put(message{m, err})
		if err != nil {
			return
		}
	}
}

func (w *wire) put(m message) {
	w.mu.Lock()
	w.inbox = append(w.inbox, m)
	w.mu.Unlock()
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}

// Read implements [mcp.Connection].
func (w *wire) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, ok := w.next()
		if !ok {
			select {
			case <-w.arrived:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			continue
		}
		response, answers := m.Message.(*jsonrpc.Response)
		if answers && !w.answered(response) {
			continue
		}
		return m.Message, m.err
	}
}

func (w *wire) next() (message, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.cut:
		return message{err: io.EOF}, true
	case len(w.inbox) == 0:
		return message{}, false
	}
	m := w.inbox[0]
	if m.err == nil {
		w.inbox = w.inbox[1:] // the end stays
	}
	return m, true
}

// answered notes the answer to a call, and reports whether it arrives.
func (w *wire) answered(response *jsonrpc.Response) bool {
	w.mu.Lock()
	r := w.calls[response.ID]
	delete(w.calls, response.ID)
	w.mu.Unlock()
	if r == nil {
		return true
	}
	r.answered(response)
	if f := r.fault; f != nil && f.effect == lose && f.when == AnswerLost {
		_ = w.lose(r)
		return false
	}
	return true
}

// Write implements [mcp.Connection].
func (w *wire) Write(ctx context.Context, m jsonrpc.Message) error {
	w.mu.Lock()
	cut := w.cut
	w.mu.Unlock()
	if cut {
		return mcp.ErrConnectionClosed
	}
	request, ok := m.(*jsonrpc.Request)
	o := operationOf(ctx)
	if !ok || o == nil || !request.IsCall() || request.Method != "tools/call" {
		return w.Connection.Write(ctx, m)
	}
	r := o.called(request.Params)
	w.mu.Lock()
	w.calls[request.ID] = r
	w.mu.Unlock()
	if r.fault == nil {
		return w.Connection.Write(ctx, m)
	}
	switch f := r.fault; {
	case f.effect == toolError:
		return w.answer(request.ID, failedResult(f.text), nil)
	case f.effect == protocolError:
		return w.answer(request.ID, nil, &jsonrpc.Error{Code: f.code, Message: f.text})
	case f.effect == refuse:
		transport.NoteFault(ctx, f.refusal())
		return w.answer(request.ID, nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: f.message()})
	case f.effect == lose && f.when == BeforeItRuns:
		if err := w.lose(r); err != nil {
			return err
		}
		<-ctx.Done() // the end of its session cancels the call
		return ctx.Err()
	}
	return w.Connection.Write(ctx, m)
}

// answer answers a call in the server's stead.
func (w *wire) answer(id jsonrpc.ID, result *mcp.CallToolResult, fault *jsonrpc.Error) error {
	response := &jsonrpc.Response{ID: id}
	if fault != nil {
		response.Error = fault
	} else {
		raw, err := json.Marshal(result)
		if err != nil {
			return err
		}
		response.Result = raw
	}
	w.put(message{Message: response})
	return nil
}

// lose loses what holds the connection: a session, or the host of a stateless call.
// When its server is gone, the connection breaks, of which the error tells.
func (w *wire) lose(r *record) error {
	f, o := r.fault, r.operation
	switch {
	case o.session != nil:
		o.session.lose(f.reason, f.message())
		if f.reason != failure.ReasonServerGone {
			return nil
		}
	case f.reason == failure.ReasonHostLost:
		o.kit.mu.Lock()
		o.lost = true
		o.kit.mu.Unlock()
	}
	w.breakOff()
	return fmt.Errorf("%s: %w", f.message(), mcp.ErrConnectionClosed)
}

// breakOff makes the connection one whose server is gone.
func (w *wire) breakOff() {
	w.mu.Lock()
	w.cut = true
	w.mu.Unlock()
	select {
	case w.arrived <- struct{}{}:
	default:
	}
}
