package tests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// A set of tools has them in the server's order, finds them by name, gives the
// whole or a part of them with their schemas, and calls them; several servers' sets
// make one, whose names are told apart by a prefix that the server never sees.
func TestToolsOfServers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	type seen struct {
		Names, Some, Filtered, Merged []string
		Schema                        any
		Called                        []string
		Unknown, Missing, Clash       string
		NoTool                        bool
	}
	b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
		both := []toolset.Options{{Server: "fixed"}, {Server: "counter"}}
		return got, toolset.WithAll(ctx, both, func(ctx workflow.Context, all []*toolset.Toolset) error {
			fixed, err := all[0].Discover(ctx)
			if err != nil {
				return err
			}
			counter, err := all[1].Discover(ctx)
			if err != nil {
				return err
			}
			got.Names = fixed.Names()
			some, err := fixed.Select("tool-5", "tool-1")
			if err != nil {
				return err
			}
			got.Some = some.Names()
			got.Filtered = fixed.Filter(func(t *toolset.Tool) bool { return t.Name > "tool-5" }).Names()
			one, ok := fixed.Lookup("tool-3")
			got.NoTool = !ok
			got.Schema = one.Definition.InputSchema

			_, clash := toolset.Merge(fixed, some)
			got.Clash = fmt.Sprint(clash)
			_, missing := fixed.Select("tool-1", "tool-x", "tool-y")
			got.Missing = fmt.Sprint(missing)
			merged, err := toolset.Merge(some.WithPrefix("f_"), counter.WithPrefix("c_"))
			if err != nil {
				return err
			}
			for t := range merged.All() {
				got.Merged = append(got.Merged, t.Name)
			}
			for _, name := range []string{"c_incr", "f_tool-1", "c_incr"} {
				result, err := merged.Call(ctx, name, nil)
				if err != nil {
					return err
				}
				got.Called = append(got.Called, fixture.Text(result))
			}
			incr, _ := merged.Lookup("c_incr")
			var result *mcp.CallToolResult
			if err := incr.CallAsync(ctx, nil).Get(ctx, &result); err != nil {
				return err
			}
			got.Called = append(got.Called, fixture.Text(result))
			_, err = merged.Call(ctx, "incr", nil)
			var unknown *toolset.UnknownToolError
			if errors.As(err, &unknown) {
				got.Unknown = unknown.Name
			}
			return nil
		})
	}, inMemory("fixed", fixed), stdio("counter"))
	run := b.start()
	var got seen
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"tool-0", "tool-1", "tool-2", "tool-3", "tool-4", "tool-5", "tool-6", "tool-7"}, got.Names); diff != "" {
		t.Errorf("the names are %v", got.Names)
	}
	if fmt.Sprint(got.Some, got.Filtered, got.Called) != "[tool-5 tool-1] [tool-6 tool-7] [1 ok 2 3]" {
		t.Errorf("some %v, filtered %v, called %v", got.Some, got.Filtered, got.Called)
	}
	if len(got.Merged) < 3 || got.Merged[0] != "f_tool-5" || got.NoTool || got.Unknown != "incr" || fmt.Sprint(got.Schema) != "map[type:object]" {
		t.Errorf("merged %v, schema %v, unknown %q", got.Merged, got.Schema, got.Unknown)
	}
	mentions(t, got.Clash, `"tool-5"`, "WithPrefix")
	mentions(t, got.Missing, `"tool-x"`, `"tool-y"`, `"tool-0"`)
	for _, call := range b.activities(run, "mcp.counter.call-tool") {
		if call.summary != "counter: incr" {
			t.Errorf("a call is of %q", call.summary)
		}
	}
	if n := len(b.activities(run, "mcp.fixed.list-tools")); n != 1 {
		t.Errorf("the tools were listed %d times", n)
	}
}

// Rediscover reads the list again, though the block keeps one; what was discovered
// before stays as it is.
func TestRediscover(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (got []int, err error) {
		options := toolset.Options{Server: "counter", CacheTools: true}
		return got, toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
			first, err := ts.Discover(ctx)
			if err != nil {
				return err
			}
			again, err := ts.Discover(ctx)
			if err != nil {
				return err
			}
			fresh, err := ts.Rediscover(ctx)
			if err != nil {
				return err
			}
			got = []int{first.Len(), again.Len(), fresh.Len()}
			return nil
		})
	}, stdio("counter"))
	run := b.start()
	var got []int
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 3 || got[0] == 0 || got[0] != got[1] || got[0] != got[2] {
		t.Errorf("the sets have %v tools", got)
	}
	if n := len(b.activities(run, "mcp.counter.list-tools")); n != 2 {
		t.Errorf("the tools were listed %d times, want once and once again", n)
	}
}

// Of several blocks that are to open at once, all are closed when one can't be, and
// the error is that one's. When the body fails, all are closed as well.
func TestWithAllCloses(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string]bool{"one does not open": true, "the body fails": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			b.worker(worker.Options{}, func(ctx workflow.Context) (text string, err error) {
				options := []toolset.Options{{Server: "counter"}, {Server: "counter"}, {Server: "counter"}}
				if missing {
					options[1].Server = "absent"
				}
				err = toolset.WithAll(ctx, options, func(workflow.Context, []*toolset.Toolset) error { return errors.New("the body fails") })
				return fmt.Sprint(err), nil
			}, b.counted(ownedFixture(b.taskQueue)), session.Server{Name: "absent", Connect: transport.Command("no-such-program")})
			var text string
			if err := b.begin(client.StartWorkflowOptions{}).Get(b.ctx, &text); err != nil {
				t.Fatal(err)
			}
			if missing {
				mentions(t, text, `"absent"`)
			} else {
				mentions(t, text, "the body fails")
			}
			b.eventually("no server is left", func() bool { return len(b.processes()) == 0 })
		})
	}
}

// schemaOf is a tool with an input schema.
func schemaOf(schema string, annotations *mcp.ToolAnnotations, handler mcp.ToolHandler) func() *mcp.Server {
	return func() *mcp.Server {
		s := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		s.AddTool(&mcp.Tool{Name: "tool", InputSchema: json.RawMessage(schema), Annotations: annotations}, handler)
		return s
	}
}

// Arguments that a listed tool's schema does not allow are refused before they are
// sent, with the path of the field, where the block asks for it.
func TestArgumentsAreValidated(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.worker(worker.Options{}, func(ctx workflow.Context) (got []string, err error) {
		options := toolset.Options{Server: "test", ValidateArguments: true}
		return got, toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
			if _, err := ts.ListTools(ctx); err != nil {
				return err
			}
			_, err := ts.CallTool(ctx, "tool", map[string]any{"to": map[string]any{"zip": 5}})
			var fault *toolset.ArgumentError
			if !errors.As(err, &fault) {
				return fmt.Errorf("the arguments were not refused: %w", err)
			}
			text, err := call(ctx, ts, "tool", map[string]any{"to": map[string]any{"zip": "5"}})
			got = []string{fault.Path, text}
			return err
		})
	}, inMemory("test", schemaOf(`{"type":"object","properties":{"to":{"type":"object","properties":{"zip":{"type":"string"}}}}}`, nil,
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return texts("ok"), nil })))
	run := b.start()
	var got []string
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != "[/to/zip ok]" {
		t.Errorf("got %v", got)
	}
	if n := len(b.activities(run, "mcp.test.call-tool")); n != 1 {
		t.Errorf("%d calls were scheduled", n)
	}
}
