package scripts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
)

// The scripts of these tests.
const (
	scriptCount  = "count"  // counts on the server, some times
	scriptAct    = "act"    // notes that it has begun, then does as it is told
	scriptLook   = "look"   // makes each kind of request
	scriptOddOut = "odd"    // has an output that is no JSON
	scriptAtOnce = "atonce" // makes calls at once
	scriptMines  = "mines"  // has an input and an output that may go off
)

// A counting is the input of scriptCount; its output are the counts.
type counting struct{ Times int }

// An act is the input of scriptAct: what it does after it has written a line to File.
type act struct {
	File  string
	Then  string
	Until string // a file
	Began string
	Bytes int
	Raw   json.RawMessage
	Sleep time.Duration
}

// A done is the output of scriptAct.
type done struct {
	Text string
	Raw  json.RawMessage `json:",omitempty"`
}

var errOfScript = errors.New("the script is not content")

// A mine is a type whose methods panic where it says so.
type mine struct{ In, Out bool }

func (m *mine) UnmarshalJSON(raw []byte) error {
	type plain mine
	if err := json.Unmarshal(raw, (*plain)(m)); err != nil {
		return err
	}
	if m.In {
		panic("the input goes off")
	}
	return nil
}

func (m mine) MarshalJSON() ([]byte, error) {
	type plain mine
	if m.Out {
		panic("the output goes off")
	}
	return json.Marshal(plain(m))
}

// late is what goroutines that outlive their scripts have seen.
var late sync.Map // by act.File

func registerScripts() error {
	return errors.Join(
		session.RegisterScript(scriptCount, func(ctx context.Context, mcp *session.Conn, in counting) (counts []int, err error) {
			for range in.Times {
				n, err := session.Call[int](ctx, mcp, fixture.Incr, nil)
				if err != nil {
					return nil, err
				}
				counts = append(counts, n)
			}
			return counts, nil
		}),
		session.RegisterScript(scriptAct, play),
		session.RegisterScript(scriptLook, look),
		session.RegisterScript(scriptAtOnce, atOnce),
		session.RegisterScript(scriptMines, func(_ context.Context, _ *session.Conn, in mine) (mine, error) { return in, nil }),
		session.RegisterScript(scriptOddOut, func(context.Context, *session.Conn, struct{}) (func(), error) { return func() {}, nil }),
	)
}

func play(ctx context.Context, conn *session.Conn, in act) (done, error) {
	if err := fixture.AppendLine(in.File, "began"); err != nil {
		return done{}, err
	}
	call := func(tool string, arguments any) (done, error) {
		text, err := session.Call[string](ctx, conn, tool, arguments)
		return done{Text: text}, err
	}
	switch in.Then {
	case "return":
		return done{Text: "fine"}, nil
	case "fail":
		return done{}, fmt.Errorf("it failed: %w", errOfScript)
	case "fail typed":
		return done{}, temporal.NewApplicationError("no such order", "OrderFailure", 7, "seven")
	case "fail wrapped":
		return done{}, fmt.Errorf("in the script: %w", temporal.NewNonRetryableApplicationError("no such order", "OrderFailure", errOfScript, 7, "seven"))
	case "fail oddly":
		return done{}, temporal.NewApplicationError("odd", "OrderFailure", func() {})
	case "fail large":
		return done{}, temporal.NewApplicationError("too much", "OrderFailure", strings.Repeat("x", in.Bytes))
	case "panic":
		panic("the script is beside itself")
	case "exit":
		runtime.Goexit()
	case "big":
		return done{Text: strings.Repeat("x", in.Bytes)}, nil
	case "echo":
		text, err := session.Call[json.RawMessage](ctx, conn, fixture.Echo, in.Raw)
		return done{Raw: text}, err
	case "recover":
		_, err := session.Call[string](ctx, conn, fixture.Fail, nil)
		var tool *failure.Tool
		if !errors.As(err, &tool) || tool.Text != "the tool failed" || tool.Server != "server" {
			return done{}, fmt.Errorf("the tool's failure came as %#v", err)
		}
		_, err = conn.CallTool(ctx, fixture.Refuse, nil)
		if d, ok := failure.MCPProtocol(err); !ok || d.Code != -32602 {
			return done{}, fmt.Errorf("the refusal came as %v", err)
		}
		result, err := conn.CallTool(ctx, fixture.Fail, nil)
		if err != nil || !result.IsError {
			return done{}, fmt.Errorf("the result with IsError came as %+v, %v", result, err)
		}
		return call(fixture.Get, nil)
	case "tool":
		return call(in.Until, nil)
	case "exit server":
		return call(fixture.Exit, fixture.ExitArguments{Status: 9, Stderr: "out of paper"})
	case "exit server idly":
		if _, err := call(fixture.ExitSoon, nil); err != nil {
			return done{}, err
		}
		<-ctx.Done()
		return done{}, ctx.Err()
	case "block":
		return call(fixture.Block, fixture.BlockArguments{Began: in.Began, Canceled: in.Until})
	case "wait":
		for ctx.Err() == nil {
			if _, err := os.Stat(in.Until); err == nil {
				return done{Text: "waited"}, nil
			}
			time.Sleep(5 * time.Millisecond)
		}
		return done{}, ctx.Err()
	case "ignore":
		for {
			if _, err := os.Stat(in.Until); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		_, err := conn.CallTool(context.Background(), fixture.Append, fixture.AppendArguments{File: in.Began, Line: "too late"})
		late.Store(in.File, err)
		return done{}, nil
	case "outlive":
		go func() {
			for {
				if _, err := os.Stat(in.Until); err == nil {
					break
				}
				time.Sleep(5 * time.Millisecond)
			}
			_, err := conn.CallTool(context.Background(), fixture.Append, fixture.AppendArguments{File: in.Began, Line: "too late"})
			late.Store(in.File, err)
		}()
		return done{Text: "gone"}, nil
	case "persist":
		<-ctx.Done()
		for range 50 {
			_, err := conn.CallTool(context.Background(), fixture.Append, fixture.AppendArguments{File: in.Began, Line: "too late"})
			late.Store(in.File, err)
		}
		return done{}, ctx.Err()
	case "go on":
		for ctx.Err() == nil {
			if _, err := call(fixture.Append, fixture.AppendArguments{File: in.Began, Line: "now"}); err != nil {
				return done{}, err
			}
			time.Sleep(5 * time.Millisecond)
		}
		return done{}, ctx.Err()
	case "own context":
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		_, err := conn.CallTool(short, fixture.Block, fixture.BlockArguments{Canceled: in.Until})
		if d, ok := failure.Call(err); !ok || d.Reason != failure.ReasonCallCanceled || !errors.Is(err, context.DeadlineExceeded) {
			return done{}, fmt.Errorf("the request that the script cancelled came as %v", err)
		}
		return call(fixture.Get, nil)
	case "call timeout":
		_, err := conn.CallTool(ctx, fixture.Block, fixture.BlockArguments{Canceled: in.Until})
		if d, ok := failure.Call(err); !ok || d.Reason != failure.ReasonCallTimeout || d.ToolRan != failure.RanUnknown {
			return done{}, fmt.Errorf("the request that timed out came as %v", err)
		}
		return call(fixture.Get, nil)
	case "context":
		info := activity.GetInfo(ctx)
		activity.GetLogger(ctx).Info("a script runs")
		return done{Text: info.ActivityType.Name}, nil
	}
	return done{}, fmt.Errorf("what is %q?", in.Then)
}

// look makes each kind of request of the server, and returns what it saw.
func look(ctx context.Context, conn *session.Conn, _ struct{}) ([]string, error) {
	seen := []string{conn.Server(), conn.Initialize().ServerInfo.Name}
	tools, err := conn.ListTools(ctx)
	if err != nil {
		return nil, err
	}
	prompts, err := conn.ListPrompts(ctx)
	if err != nil {
		return nil, err
	}
	prompt, err := conn.GetPrompt(ctx, "greet", map[string]string{"who": "Ada"})
	if err != nil {
		return nil, err
	}
	resources, err := conn.ListResources(ctx)
	if err != nil {
		return nil, err
	}
	templates, err := conn.ListResourceTemplates(ctx)
	if err != nil {
		return nil, err
	}
	read, err := conn.ReadResource(ctx, "note://two")
	if err != nil {
		return nil, err
	}
	completed, err := conn.Complete(ctx, &mcp.CompleteParams{
		Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"}, Argument: mcp.CompleteParamsArgument{Name: "who", Value: "A"},
	})
	if err != nil {
		return nil, err
	}
	if len(tools.Tools) == 0 {
		return nil, errors.New("no tools are listed")
	}
	return append(seen, prompts.Prompts[0].Name, prompt.Messages[0].Content.(*mcp.TextContent).Text, resources.Resources[0].URI,
		templates.ResourceTemplates[0].URITemplate, read.Contents[0].Text, completed.Completion.Values[0]), nil
}

// atOnce makes so many calls at once, each of which waits for the file.
func atOnce(ctx context.Context, conn *session.Conn, in act) (done, error) {
	errs := make(chan error, in.Bytes)
	for range in.Bytes {
		go func() {
			_, err := conn.CallTool(ctx, fixture.Block, fixture.BlockArguments{Began: in.Began, Until: in.Until})
			errs <- err
		}()
	}
	var all error
	for range in.Bytes {
		all = errors.Join(all, <-errs)
	}
	return done{Text: "all"}, all
}
