package scripts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

func upTo(n int) (counts []int) {
	for i := range n {
		counts = append(counts, i+1)
	}
	return counts
}

// A script on a session of its own makes 50 calls with the state of each before it, in
// one activity. The next one finds nothing of it, and nothing is left of either.
func TestRunScript(t *testing.T) {
	t.Parallel()
	for name, connect := range map[string]func(*bundle) transport.Connector{
		"stdio": func(b *bundle) transport.Connector { return overStdio(b.TaskQueue) },
		"HTTP":  func(b *bundle) transport.Connector { return b.overHTTP() },
		"in memory": func(*bundle) transport.Connector {
			return transport.InMemory(func(transport.Argument) *mcp.Server { return fixture.New() })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker(b.counted(connect(b)))
			run := fixture.Begin(b.Bundle, func(ctx workflow.Context) (all [][]int, err error) {
				for _, times := range []int{50, 2} {
					counts, err := toolset.RunScript[[]int](ctx, toolset.ScriptOptions{Server: "server", Argument: "tenant"}, scriptCount, counting{times})
					if err != nil {
						return nil, err
					}
					all = append(all, counts)
				}
				return all, nil
			})
			all := run.Result()
			if len(all) != 2 || !slices.Equal(all[0], upTo(50)) || !slices.Equal(all[1], upTo(2)) {
				t.Errorf("the scripts counted %v", all)
			}
			b.WantAttempts(run, 1, 1)
			if a := b.Activities(run)[0].Type; a != "mcp.server.stateless.run-script" {
				t.Errorf("the activity is %s", a)
			}
			if b.wantLines("connects", 2); fixture.Lines(b.File("connects"))[0] != `connect "tenant"` {
				t.Errorf("the connector got %q", fixture.Lines(b.File("connects")))
			}
			if left := b.Processes(); len(left) > 0 {
				t.Errorf("when the workflow is over there are processes: %v", left)
			}
		})
	}
}

// A script in a block finds what calls before it have left, and calls after it find
// what it has left. It is one activity.
func TestRunInBlock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.stdio())
	type got struct {
		Counts []int
		After  int
	}
	run := fixture.Begin(b.Bundle, func(ctx workflow.Context) (g got, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "server"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			if _, err := ts.CallTool(ctx, fixture.Incr, nil); err != nil {
				return err
			}
			if err := ts.Run(ctx, scriptCount, counting{3}, &g.Counts); err != nil {
				return err
			}
			if err := ts.Run(ctx, scriptCount, counting{1}, nil); err != nil { // its output is dropped
				return err
			}
			g.After, err = toolset.Call[int](ctx, ts, fixture.Get, nil)
			return err
		})
		return g, err
	})
	if g := run.Result(); !slices.Equal(g.Counts, []int{2, 3, 4}) || g.After != 5 {
		t.Errorf("the block saw %+v", g)
	}
	b.wantLines("connects", 1)
	types := make(map[string]int)
	for _, a := range b.Activities(run) {
		types[a.Type]++
	}
	if types["mcp.server.run-script"] != 2 || types["mcp.server.call-tool"] != 2 {
		t.Errorf("the activities are %v", types)
	}
}

// A script can make each kind of request, and knows whom it talks to.
func TestRequests(t *testing.T) {
	t.Parallel()
	want := []string{"server", "fixture", "greet", "Greet Ada.", "note://one", "note://{name}", "read note://two", "Ada"}
	for _, where := range places {
		t.Run(string(where), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker(b.counted(transport.InMemory(func(transport.Argument) *mcp.Server { return withPrompts(fixture.New()) })))
			var got []string
			if s := b.run(where, toolset.ScriptOptions{}, scriptLook, nil).Result(); json.Unmarshal(s.Out, &got) != nil || !slices.Equal(got, want) {
				t.Errorf("the script saw %q, %+v", got, s)
			}
		})
	}
}

// withPrompts adds a prompt, a resource, a template and completions to a server.
func withPrompts(s *mcp.Server) *mcp.Server {
	s.AddPrompt(&mcp.Prompt{Name: "greet", Arguments: []*mcp.PromptArgument{{Name: "who"}}},
		func(_ context.Context, request *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{
				{Role: "user", Content: &mcp.TextContent{Text: "Greet " + request.Params.Arguments["who"] + "."}},
			}}, nil
		})
	read := func(_ context.Context, request *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: request.Params.URI, Text: "read " + request.Params.URI}}}, nil
	}
	s.AddResource(&mcp.Resource{Name: "note", URI: "note://one"}, read)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "notes", URITemplate: "note://{name}"}, read)
	s.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, request mcp.Request) (mcp.Result, error) {
			if params, ok := request.GetParams().(*mcp.CompleteParams); ok {
				return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{params.Argument.Value + "da"}}}, nil
			}
			return next(ctx, method, request)
		}
	})
	return s
}

// What a script can do about its requests: go on after a tool's failure, a refusal, a
// CallTimeout and a context of its own that ends. The server is told of the latter two.
func TestScriptGoesOn(t *testing.T) {
	t.Parallel()
	for _, where := range places {
		for _, then := range []string{"recover", "call timeout", "own context"} {
			t.Run(string(where)+", "+then, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				b.worker(b.stdio())
				options := toolset.ScriptOptions{}
				if then == "call timeout" {
					options.CallTimeout = time.Second
				}
				if s := b.run(where, options, scriptAct, b.act(then)).Result(); s.text() != "0" {
					t.Errorf("the script saw %+v", s)
				}
				if then != "recover" {
					b.awaitLines("until", 1)
				}
				b.wantLines("begun", 1)
			})
		}
	}
}

// Calls that a script makes at once run at once, as many as the server may have.
func TestCallsAtOnce(t *testing.T) {
	t.Parallel()
	for _, where := range places {
		t.Run(string(where), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			s := b.stdio()
			s.MaxConcurrentCalls = 3
			b.worker(s)
			in := b.act("")
			in.Bytes = 8
			run := b.run(where, toolset.ScriptOptions{}, scriptAtOnce, in)
			b.awaitLines("began", 3)
			b.wantLines("began", 3) // the others wait
			b.touch("until")
			if s := run.Result(); s.text() != "all" {
				t.Errorf("the script saw %+v", s)
			}
			b.wantLines("began", 8)
		})
	}
}

// A session is its script's until that returns. What a goroutine does with it later is
// told, and does not reach the server, though the block's session lives on.
func TestConnAfterTheEnd(t *testing.T) {
	t.Parallel()
	for _, where := range places {
		t.Run(string(where), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker(b.stdio())
			in := b.act("outlive")
			run := fixture.Begin(b.Bundle, func(ctx workflow.Context) (d done, err error) {
				if where == own {
					return toolset.RunScript[done](ctx, toolset.ScriptOptions{Server: "server"}, scriptAct, in)
				}
				err = toolset.With(ctx, toolset.Options{Server: "server"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
					if err := ts.Run(ctx, scriptAct, in, &d); err != nil {
						return err
					}
					workflow.GetSignalChannel(ctx, "end").Receive(ctx, nil)
					_, err := ts.CallTool(ctx, fixture.Get, nil)
					return err
				})
				return d, err
			})
			b.awaitLines("begun", 1)
			if where == own {
				run.Result()
			} else {
				b.Eventually("the script has returned", func() bool {
					for _, a := range b.Activities(run) {
						if a.Type == "mcp.server.run-script" && a.Attempt > 0 {
							return true
						}
					}
					return false
				})
			}
			b.touch("until")
			b.wantLate(in)
			if where == inBlock {
				if err := b.Client.SignalWorkflow(b.Ctx, run.GetID(), run.GetRunID(), "end", nil); err != nil {
					t.Fatal(err)
				}
			}
			if d := run.Result(); d.Text != "gone" {
				t.Errorf("the script returned %+v", d)
			}
			b.wantLines("began", 0)
		})
	}
}

// wantLate fails the test unless a use of the session after its script's end was
// refused.
func (b *bundle) wantLate(in act) {
	b.Helper()
	b.Eventually("the goroutine has made its call", func() bool { _, ok := late.Load(in.File); return ok })
	v, _ := late.Load(in.File)
	err, _ := v.(error)
	if !failure.IsSessionClosed(err) || failure.RanOf(err) != failure.RanNo || !strings.Contains(fmt.Sprint(err), `script "act"`) {
		b.Errorf("the late call saw %v", err)
	}
}

// A script's context has the activity's info and logger.
func TestScriptContext(t *testing.T) {
	t.Parallel()
	for where, want := range map[place]string{own: "mcp.server.stateless.run-script", inBlock: "mcp.server.run-script"} {
		t.Run(string(where), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.worker(b.stdio())
			if s := b.run(where, toolset.ScriptOptions{}, scriptAct, b.act("context")).Result(); s.text() != want {
				t.Errorf("the script saw %+v", s)
			}
		})
	}
}

// No digit of an input is lost on its way through the script to the server and back,
// and none of it is in plain sight where a codec encrypts.
func TestDigitsAndCodec(t *testing.T) {
	t.Parallel()
	for _, where := range places {
		t.Run(string(where), func(t *testing.T) {
			t.Parallel()
			b := setup(t, backwards{})
			b.worker(b.stdio())
			in := b.act("echo")
			in.Raw = json.RawMessage(`{"id":1234567890123456789,"next":9007199254740993}`)
			s := b.run(where, toolset.ScriptOptions{}, scriptAct, in).Result()
			var d done
			if json.Unmarshal(s.Out, &d) != nil || string(d.Raw) != string(in.Raw) {
				t.Errorf("the script returned %s; saw %+v", d.Raw, s)
			}
		})
	}
}

// backwards is a codec that a plain reader can't read.
type backwards struct{}

func (backwards) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	coded := make([]*commonpb.Payload, 0, len(payloads))
	for _, p := range payloads {
		raw, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		slices.Reverse(raw)
		coded = append(coded, &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("binary/backwards")}, Data: raw})
	}
	return coded, nil
}

func (backwards) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	plain := make([]*commonpb.Payload, 0, len(payloads))
	for _, p := range payloads {
		if string(p.GetMetadata()["encoding"]) != "binary/backwards" {
			return nil, fmt.Errorf("a payload is in plain sight: %s", p.GetData())
		}
		raw := slices.Clone(p.GetData())
		slices.Reverse(raw)
		decoded := new(commonpb.Payload)
		if err := proto.Unmarshal(raw, decoded); err != nil {
			return nil, err
		}
		plain = append(plain, decoded)
	}
	return plain, nil
}

var _ converter.PayloadCodec = backwards{}

// Scripts may be registered after the worker has started.
func TestRegisteredLate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(b.stdio())
	name := strings.ToLower(b.TaskQueue[len(b.TaskQueue)-8:])
	if err := session.RegisterScript(name, func(context.Context, *session.Conn, int) (int, error) { return 42, nil }); err != nil {
		t.Fatal(err)
	}
	if s := b.run(own, toolset.ScriptOptions{}, name, 1).Result(); string(s.Out) != "42" {
		t.Errorf("the script saw %+v", s)
	}
}
