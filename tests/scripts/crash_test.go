package scripts

import (
	"context"
	"os"
	"syscall"
	"testing"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/toolset"
)

// Requests of a host to the Temporal server, at which it may kill itself: before it
// has sent one, or after the server has answered it.
const (
	before = "before "
	after  = "after "

	beatUnbegun = "the word that the script has not begun"
	beatBegun   = "the word that it has begun"
	report      = "the report"
)

// intercept kills the host at its point.
func (c hostConfig) intercept(ctx context.Context, method string, request, reply any, on *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	reach := func(point string) {
		if point == c.Dies {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	what := wordOf(request)
	reach(before + what)
	err := invoke(ctx, method, request, reply, on, options...)
	if err == nil {
		reach(after + what)
	}
	return err
}

func wordOf(request any) string {
	switch r := request.(type) {
	case *workflowservice.RecordActivityTaskHeartbeatRequest:
		var left queue.Trace
		if words := r.GetDetails().GetPayloads(); len(words) == 0 || converter.GetDefaultDataConverter().FromPayload(words[0], &left) != nil {
			return "no word"
		}
		if left.Unsent {
			return beatUnbegun
		}
		return beatBegun
	case *workflowservice.RespondActivityTaskCompletedRequest:
		return report
	}
	return "something else"
}

// Where the host of a script with a session of its own is killed decides by what it
// left whether another host begins the script: only after the word that it has not
// begun. Nowhere does it begin twice.
func TestCrashPoints(t *testing.T) {
	t.Parallel()
	for point, test := range map[string]struct {
		again bool
		begun int // times, on both hosts
	}{
		before + beatUnbegun: {false, 0},
		after + beatUnbegun:  {true, 1},
		before + beatBegun:   {true, 1},
		after + beatBegun:    {false, 0},
		before + report:      {false, 1},
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker()
			host := b.startHostOf(hostConfig{Dies: point})
			run := b.run(own, toolset.ScriptOptions{TaskQueue: b.Hosts(), Activity: patient}, scriptAct, b.act("return"))
			select {
			case <-host.Gone():
			case <-b.Ctx.Done():
				t.Fatal("the host did not come to its point")
			}
			b.startHost()
			if s := run.Result(); !test.again {
				b.want(s, failure.TypeCall, failure.ReasonHostLost, failure.RanUnknown)
				b.WantAttempts(run, 1)
			} else if s.text() != "fine" {
				t.Errorf("the workflow saw %+v", s)
			}
			b.wantLines("begun", test.begun)
		})
	}
}
