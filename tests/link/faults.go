package link

import (
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Refused is a request that never reaches the server, and is answered with an
// error.
func Refused(code codes.Code) Fault {
	return func(context.Context, any, Forward) (any, error) {
		return nil, status.Error(code, "link: the request was refused")
	}
}

// Lost is a request that never reaches the server. Nobody answers.
func Lost(ctx context.Context, _ any, _ Forward) (any, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Failed is a request that the server gets, and that is answered with an error.
func Failed(code codes.Code) Fault {
	return func(ctx context.Context, _ any, forward Forward) (any, error) {
		if _, err := forward(ctx); err != nil {
			return nil, err
		}
		return nil, status.Error(code, "link: the answer was lost")
	}
}

// Unheard is a request that the server gets, and whose answer never comes.
func Unheard(ctx context.Context, _ any, forward Forward) (any, error) {
	if _, err := forward(ctx); err != nil {
		return nil, err
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// Twice is a request that the server gets twice. The answer is the second one's.
func Twice(ctx context.Context, _ any, forward Forward) (any, error) {
	if _, err := forward(ctx); err != nil {
		return nil, err
	}
	return forward(ctx)
}

// TaskLost is a poll that the server answers with a task, which never comes: the
// server believes that the worker has it. Other requests pass.
func TaskLost(ctx context.Context, _ any, forward Forward) (any, error) {
	reply, err := forward(ctx)
	if poll, ok := reply.(*workflowservice.PollActivityTaskQueueResponse); ok && err == nil && len(poll.GetTaskToken()) > 0 {
		return nil, status.Error(codes.Unavailable, "link: the answer was lost")
	}
	return reply, err
}

// arrival bounds the way of a delayed request to the server.
const arrival = 10 * time.Second

// Delayed is a request that reaches the server once until is closed, whether or
// not its client still waits by then, and the link lives. Then arrived is told.
func (l *Link) Delayed(until <-chan struct{}, arrived func(error)) Fault {
	return func(ctx context.Context, _ any, forward Forward) (any, error) {
		select {
		case <-until:
		case <-l.closed.Done():
			return nil, status.Error(codes.Unavailable, "link: closed")
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), arrival)
		defer cancel()
		defer context.AfterFunc(l.closed, cancel)()
		reply, err := forward(ctx)
		if arrived != nil {
			arrived(err)
		}
		return reply, err
	}
}
