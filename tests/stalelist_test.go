package tests

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// changing is a server whose tool list has two pages, and a tool that is added
// while the second is read or by a call. It returns once its client has heard of it.
func changing(whileRead bool) session.Server {
	heard := newLatch()
	s := session.Server{Name: "changing", Client: &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { heard.open() },
	}}
	newServer := func(transport.Argument) *mcp.Server {
		server := mcp.NewServer(&mcp.Implementation{Name: "changing", Version: "1"}, &mcp.ServerOptions{PageSize: 1})
		add := func(name string, handler mcp.ToolHandler) {
			server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, handler)
		}
		ok := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return texts("ok"), nil }
		grow := func() { add("aaa", ok); <-heard.opened } // on a page that was read before
		add("grow", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			grow()
			return texts("ok"), nil
		})
		add("other", ok)
		pages := 0
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
				if method == "tools/list" {
					if pages++; pages == 2 && whileRead {
						grow()
					}
				}
				return next(ctx, method, request)
			}
		})
		return server
	}
	s.Connect = transport.InMemory(newServer)
	return s
}

// A holder is an interceptor that holds the end of the first tool list until a call
// has ended.
type holder struct {
	interceptor.WorkerInterceptorBase
	listed, called *latch
}

func (h *holder) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &holdingActivity{holder: h}
	i.Next = next
	return i
}

type holdingActivity struct {
	interceptor.ActivityInboundInterceptorBase
	*holder
}

func (h *holdingActivity) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := h.Next.ExecuteActivity(ctx, in)
	if activityTypeOf(ctx) == "mcp.changing.list-tools" {
		h.listed.open()
		select {
		case <-h.called.opened:
		case <-ctx.Done():
		}
	}
	return result, err
}

// A tool list that is old when it comes, since the server said that it had changed
// while it was read or was on its way, is not kept: the next one is read anew.
func TestToolListStaleOnArrival(t *testing.T) {
	t.Parallel()
	for name, whileRead := range map[string]bool{"changed while it is read": true, "changed on its way": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			h := &holder{listed: newLatch(), called: newLatch()}
			if whileRead {
				h.called.open()
			}
			type seen struct{ First, Second, Third bool }
			w := b.worker(worker.Options{Interceptors: []interceptor.WorkerInterceptor{h}}, func(ctx workflow.Context) (got seen, err error) {
				options := toolset.Options{Server: "changing", CacheTools: true}
				err = toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
					if !whileRead {
						workflow.Go(ctx, func(ctx workflow.Context) {
							if err := await(ctx, "listed"); err == nil {
								_, _ = ts.CallTool(ctx, "grow", nil)
								_ = await(ctx, "called")
							}
						})
					}
					for _, to := range []*bool{&got.First, &got.Second, &got.Third} {
						list, err := ts.ListTools(ctx)
						if err != nil {
							return err
						}
						*to = hasTool(list, "aaa")
					}
					return nil
				})
				return got, err
			}, changing(whileRead))
			condition(w, "listed", h.listed.isOpen)
			activityNamed(w, "called", func() error { h.called.open(); return nil })
			run := b.begin(client.StartWorkflowOptions{})
			var got seen
			if err := run.Get(b.ctx, &got); err != nil {
				t.Fatal(err)
			}
			if got.First || !got.Second || !got.Third {
				t.Errorf("the new tool was seen: %+v", got)
			}
			if n := len(b.activities(run, "mcp.changing.list-tools")); n != 2 {
				t.Errorf("the list was read %d times, want twice", n)
			}
		})
	}
}
