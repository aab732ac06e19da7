package crash

import (
	"context"
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/interceptor"

	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/queue"
)

// A finding interceptor of a host notes what each attempt of a session activity
// finds of those before it.
type finding struct {
	interceptor.WorkerInterceptorBase
	notes, host string
}

func (f *finding) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &findingActivity{finding: f}
	i.Next = next
	return i
}

type findingActivity struct {
	interceptor.ActivityInboundInterceptorBase
	*finding
}

func (f *findingActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	if len(in.Args) == 1 {
		if input, ok := in.Args[0].(queue.SessionInput); ok {
			if err := f.note(ctx, input); err != nil {
				return nil, err
			}
		}
	}
	return f.Next.ExecuteActivity(ctx, in)
}

func (f *findingActivity) note(ctx context.Context, input queue.SessionInput) error {
	told := serving{Notes: f.notes}
	if err := json.Unmarshal(input.Argument, &told.Block); err != nil {
		return err
	}
	found := leavesNothing
	switch past := heartbeat.ReadPast(ctx); {
	case past.Err != nil:
		found = fmt.Sprintf("%q", past.Err)
	case past.Marker != "":
		found = string(past.Marker)
	}
	return told.note(ctx, noteFound, f.host+" "+found)
}
