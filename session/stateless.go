package session

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/mcpsession/mcpsession/internal/hostless"
	"github.com/mcpsession/mcpsession/queue"
)

// A stateless serves the stateless operations of one server on one worker: each is
// an activity that makes one request, on a connection that it may share with others.
type stateless struct {
	host   *host
	server *Server
	warm   *warmUse // nil when nothing is kept warm
	pool   *pool
	*gate  // of its calls
}

var errWorkerStopped = errors.New("the worker was stopped")

func newStateless(h *host, server *Server) *stateless {
	s := &stateless{host: h, server: server, warm: h.warm[server], gate: newGate()}
	s.pool = newPool(s.connectShared,
		*server.SharedIdleTimeout, server.SharedConnections, server.MaxConcurrentCalls)
	return s
}

// register registers the server's stateless operations.
func (s *stateless) register(registry registry) {
	serve(s, registry, queue.OperationListTools, func(in queue.ListTools) (queue.Operation, string, request) {
		return in.Operation, "", requestListTools(in)
	})
	serve(s, registry, queue.OperationCallTool, func(in queue.CallTool) (queue.Operation, string, request) {
		return in.Operation, in.Tool, requestCallTool(in)
	})
	serve(s, registry, queue.OperationListPrompts, func(in queue.ListPrompts) (queue.Operation, string, request) {
		return in.Operation, "", requestListPrompts(in)
	})
	serve(s, registry, queue.OperationGetPrompt, func(in queue.GetPrompt) (queue.Operation, string, request) {
		return in.Operation, "", requestGetPrompt(in)
	})
	serve(s, registry, queue.OperationListResources, func(in queue.ListResources) (queue.Operation, string, request) {
		return in.Operation, "", requestListResources(in)
	})
	serve(s, registry, queue.OperationListResourceTemplates, func(in queue.ListResourceTemplates) (queue.Operation, string, request) {
		return in.Operation, "", requestListResourceTemplates(in)
	})
	serve(s, registry, queue.OperationReadResource, func(in queue.ReadResource) (queue.Operation, string, request) {
		return in.Operation, "", requestReadResource(in)
	})
	serve(s, registry, queue.OperationComplete, func(in queue.Complete) (queue.Operation, string, request) {
		return in.Operation, "", requestComplete(in)
	})
	s.registerScripts(registry)
}

// serve registers one operation, whose parts are what is common to all, the tool
// that it calls, and the request.
func serve[O any](s *stateless, registry registry, name queue.OperationName,
	parts func(O) (op queue.Operation, tool string, asks request)) {
	registry.RegisterActivityWithOptions(func(ctx context.Context, in queue.Stateless[O]) (*encoded, error) {
		op, tool, asks := parts(in.Operation)
		c := s.call(ctx, wishes{in.Argument, in.ConnectTimeout, in.PerCall}, op, tool)
		c.asks = asks
		return c.operate(ctx, c.run)
	}, activity.RegisterOptions{Name: queue.StatelessActivity(s.server.Name, name)})
}

// call returns one attempt of a stateless operation.
func (s *stateless) call(ctx context.Context, wishes wishes, op queue.Operation, tool string) *statelessCall {
	if op.Timeout <= 0 {
		op.Timeout = queue.DefaultCallTimeout
	}
	if wishes.connectTimeout > 0 {
		// Of this call's own connections, if it is given any.
		own, server := *s, *s.server
		server.ConnectTimeout = wishes.connectTimeout
		own.server = &server
		s = &own
	}
	c := &statelessCall{
		stateless: s, wishes: wishes, op: op, tool: tool,
		info: activity.GetInfo(ctx), client: hostless.Client(ctx),
	}
	now := time.Now() // a little after the server has begun to count
	c.leased.Store(&now)
	return c
}

// operate does what an attempt is for, unless its worker stops, and reports it.
func (c *statelessCall) operate(ctx context.Context, run func(context.Context) (json.RawMessage, error)) (*encoded, error) {
	if !c.enter() {
		// A poll that was under way when the worker began to stop: another worker
		// takes it.
		err := c.opener(ctx, c.argument).retryable(reasonOf(errWorkerStopped), errWorkerStopped)
		return c.report(ctx, nil, c.settled(ctx, nil, err))
	}
	// The call counts until its end is reported, so that a worker that stops can wait
	// for that.
	defer c.leave()
	if c.host.options == nil {
		c.warm.stopWith(activity.GetWorkerStopChannel(ctx))
		c.pool.closeWith(activity.GetWorkerStopChannel(ctx), errWorkerStopped)
	}
	value, err := run(ctx)
	return c.report(ctx, value, err)
}

// stop waits for the calls under way, ends those that take longer than grace, and
// closes the connections.
func (s *stateless) stop(grace time.Duration) {
	s.shutdown(grace)
	s.pool.close(errWorkerStopped)
}

// connect opens a connection.
func (s *stateless) connect(ctx context.Context, argument json.RawMessage) (*connection, error) {
	return s.opener(ctx, argument).open(ctx)
}

// connectShared opens a connection for the pool. One that many calls share for long is
// not worth a process that waits for the next; those that can't be shared are.
func (s *stateless) connectShared(ctx context.Context) (*connection, error) {
	o := s.opener(ctx, nil)
	if s.pool.shares() {
		o.warm = nil
	}
	return o.open(ctx)
}

func (s *stateless) opener(ctx context.Context, argument json.RawMessage) *opener {
	return &opener{
		server: s.server, argument: argument, version: s.server.ProtocolVersion, what: "connection", logger: activity.GetLogger(ctx),
		warm: s.warm,
	}
}
