package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
)

// A bulk is a server whose tool returns content of a size, and counts its runs.
type bulk struct{ runs atomic.Int32 }

type bulkArguments struct {
	Kind  string `json:"kind"`
	Bytes int    `json:"bytes"`
}

func (k *bulk) call(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	run := k.runs.Add(1)
	var a bulkArguments
	if err := json.Unmarshal(request.Params.Arguments, &a); err != nil {
		return nil, err
	}
	var content mcp.Content
	switch a.Kind {
	case "image":
		content = &mcp.ImageContent{MIMEType: "image/png", Data: bytes.Repeat([]byte{byte(run)}, a.Bytes)}
	default:
		content = &mcp.TextContent{Text: strings.Repeat("x", a.Bytes)}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{content}}, nil
}

// A bulkSeen is what a workflow saw of one call for bulk and one small call after
// it in the same session.
type bulkSeen struct {
	Bytes int
	Fault fault
	Sizes failure.SizeDetails
	Next  string
}

func callBulk(ctx workflow.Context, a bulkArguments) (got bulkSeen, err error) {
	err = toolset.With(ctx, toolset.Options{Server: "bulk"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
		result, err := ts.CallTool(ctx, "bulk", a)
		got.Fault = faultOf(err)
		got.Sizes, _ = failure.ResultTooLarge(err)
		if err == nil {
			switch content := result.Content[0].(type) {
			case *mcp.ImageContent:
				got.Bytes = len(content.Data)
			case *mcp.TextContent:
				got.Bytes = len(content.Text)
			}
		}
		got.Next, err = call(ctx, ts, "bulk", bulkArguments{Bytes: 3})
		return err
	})
	return got, err
}

// bulkIn calls for bulk in a workflow, and returns the run beside what it saw.
func (b *bundle) bulkIn(a bulkArguments) (bulkSeen, client.WorkflowRun, *bulk) {
	b.Helper()
	k := &bulk{}
	b.worker(worker.Options{}, callBulk, inMemory("bulk", func() *mcp.Server { return serverOf("bulk", k.call) }))
	run := b.start(a)
	var got bulkSeen
	if err := run.Get(b.ctx, &got); err != nil {
		b.Fatal(err)
	}
	if got.Next != "xxx" {
		b.Errorf("the call after it returned %q", got.Next)
	}
	if n := k.runs.Load(); n != 2 {
		b.Errorf("two calls ran the tool %d times", n)
	}
	return got, run, k
}

// A result of 1.5 MB arrives whole. (C9)
func TestLargeResultArrives(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"text", "image"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			got, run, _ := setup(t).bulkIn(bulkArguments{kind, 1_500_000})
			if got.Bytes != 1_500_000 || got.Fault.Text != "" {
				t.Errorf("got %d bytes and %+v of run %s", got.Bytes, got.Fault, run.GetRunID())
			}
		})
	}
}

// A result over the payload limit is ResultTooLarge, told once, with the size, the
// limit and what to do. The tool isn't run again, and the session goes on. (C9)
func TestResultOverTheLimit(t *testing.T) {
	t.Parallel()
	const limit = 2 << 20
	for _, kind := range []string{"text", "image"} {
		for _, size := range []int{3_000_000, 6_000_000} {
			t.Run(fmt.Sprint(kind, " ", size), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				got, run, _ := b.bulkIn(bulkArguments{kind, size})
				if got.Fault.Type != failure.TypeResultTooLarge || got.Fault.Ran != failure.RanYes {
					t.Fatalf("the call ended with %+v", got.Fault)
				}
				encoded := int64(size)
				if kind == "image" {
					encoded = encoded * 4 / 3
				}
				if s := got.Sizes; s.Server != "bulk" || s.Tool != "bulk" || s.Size < encoded || s.Size > encoded+1000 || s.Limit != limit {
					t.Errorf("the details are %+v", s)
				}
				mentions(t, got.Fault.Text, `"bulk"`, fmt.Sprint(got.Sizes.Size), fmt.Sprint(limit), "external payload storage", "ask the tool for less", "ran")
				// The history holds no part of the result.
				if n := len(got.Fault.Text); n > 2000 {
					t.Errorf("the error has %d bytes", n)
				}
				if calls := b.activities(run, "mcp.bulk.call-tool"); len(calls) != 2 {
					t.Errorf("the history has %d calls", len(calls))
				}
			})
		}
	}
}

// With an operation policy of one attempt there is none in which the session
// could tell the size: it is ResultTooLarge all the same.
func TestResultOverTheLimitWithoutRetries(t *testing.T) {
	t.Parallel()
	b := setup(t)
	k := &bulk{}
	b.worker(worker.Options{}, func(ctx workflow.Context) (got fault, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "bulk", Operation: once}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			_, err := ts.CallTool(ctx, "bulk", bulkArguments{Bytes: 3_000_000})
			got = faultOf(err)
			return nil
		})
		return got, err
	}, inMemory("bulk", func() *mcp.Server { return serverOf("bulk", k.call) }))
	var got fault
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got.Type != failure.TypeResultTooLarge || got.Ran != failure.RanYes || k.runs.Load() != 1 {
		t.Errorf("%d runs of the tool ended with %+v", k.runs.Load(), got)
	}
	mentions(t, got.Text, `"bulk"`, "external payload storage")
}

// Large arguments arrive; DefaultMaxArguments leaves room for the envelope.
func TestLargeArgumentsArrive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	size := toolset.DefaultMaxArguments - len(`{"t":""}`)
	b.worker(worker.Options{}, func(ctx workflow.Context) (got int, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "sizer"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			text, err := call(ctx, ts, "size", map[string]string{"t": strings.Repeat("x", size)})
			if err != nil {
				return err
			}
			_, err = fmt.Sscan(text, &got)
			return err
		})
		return got, err
	}, inMemory("sizer", func() *mcp.Server {
		return serverOf("size", func(_ context.Context, request *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return texts("%d", len(request.Params.Arguments)), nil
		})
	}))
	var got int
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got != toolset.DefaultMaxArguments {
		t.Errorf("the server got %d bytes, want %d", got, toolset.DefaultMaxArguments)
	}
}
