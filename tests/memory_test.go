package tests

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// memoryServer is the package of a server that none of us wrote: an example of the
// MCP SDK's authors. The module names it as a tool, so its version is the SDK's.
const memoryServer = "github.com/modelcontextprotocol/go-sdk/examples/server/memory"

// memoryProgram returns the path of the server, which the go command builds and
// keeps.
func memoryProgram(t *testing.T) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "tool", "-n", memoryServer).Output()
	if err != nil {
		t.Fatalf("build %s: %v", memoryServer, err)
	}
	return strings.TrimSpace(string(out))
}

// The types of the server's graph, as it puts them into structured content.
type (
	entity struct {
		Name         string   `json:"name"`
		EntityType   string   `json:"entityType"`
		Observations []string `json:"observations"`
	}
	relation struct {
		From         string `json:"from"`
		To           string `json:"to"`
		RelationType string `json:"relationType"`
	}
	observation struct {
		EntityName   string   `json:"entityName"`
		Contents     []string `json:"contents"`
		Observations []string `json:"observations,omitempty"`
	}
	graph struct {
		Entities  []entity   `json:"entities"`
		Relations []relation `json:"relations"`
	}
)

// A scribe writes a graph by calls of which each needs the answers to the ones
// before it, and keeps what it wrote.
type scribe struct {
	ts    *toolset.Toolset
	calls int
	wrote graph
}

// call calls a tool and decodes the structured content of its result.
func (s *scribe) call(ctx workflow.Context, tool string, arguments, into any) error {
	s.calls++
	result, err := s.ts.CallTool(ctx, tool, arguments)
	if err != nil {
		return err
	}
	if result.IsError {
		return fmt.Errorf("%s failed: %v", tool, result.Content)
	}
	if into == nil {
		return nil
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, into)
}

func (s *scribe) create(ctx workflow.Context, name, seen string) error {
	e := entity{Name: name, EntityType: "link", Observations: []string{seen}}
	var created struct{ Entities []entity }
	if err := s.call(ctx, "create_entities", map[string]any{"entities": []entity{e}}, &created); err != nil {
		return err
	}
	if diff := cmp.Diff([]entity{e}, created.Entities); diff != "" {
		return fmt.Errorf("created something else: %s", diff)
	}
	s.wrote.Entities = append(s.wrote.Entities, created.Entities...)
	return nil
}

// link adds to the chain an entity whose name and observations are made of what
// the server says of the last one. It makes five calls.
func (s *scribe) link(ctx workflow.Context) error {
	last := s.wrote.Entities[len(s.wrote.Entities)-1]
	var opened graph
	if err := s.call(ctx, "open_nodes", map[string]any{"names": []string{last.Name}}, &opened); err != nil {
		return err
	}
	if diff := cmp.Diff([]entity{last}, opened.Entities); diff != "" {
		return fmt.Errorf("opened something else: %s", diff)
	}
	heard := opened.Entities[0].Observations
	name := fmt.Sprintf("after %s", heard[len(heard)-1])
	if err := s.create(ctx, name, opened.Entities[0].Name); err != nil {
		return err
	}
	r := relation{From: last.Name, To: name, RelationType: "leads to"}
	if err := s.call(ctx, "create_relations", map[string]any{"relations": []relation{r}}, nil); err != nil {
		return err
	}
	s.wrote.Relations = append(s.wrote.Relations, r)
	var found graph
	if err := s.call(ctx, "search_nodes", map[string]any{"query": "LINK"}, &found); err != nil {
		return err
	}
	o := observation{EntityName: name, Contents: []string{fmt.Sprintf("one of %d", len(found.Entities))}}
	var added struct{ Observations []observation }
	if err := s.call(ctx, "add_observations", map[string]any{"observations": []observation{o}}, &added); err != nil {
		return err
	}
	e := &s.wrote.Entities[len(s.wrote.Entities)-1]
	e.Observations = append(e.Observations, added.Observations[0].Contents...)
	return nil
}

// prune takes back the first link's first observation, the first relation and the
// root. It makes three calls.
func (s *scribe) prune(ctx workflow.Context) error {
	root, first := s.wrote.Entities[0], &s.wrote.Entities[1]
	gone := observation{EntityName: first.Name, Contents: []string{}, Observations: first.Observations[:1]}
	if err := s.call(ctx, "delete_observations", map[string]any{"deletions": []observation{gone}}, nil); err != nil {
		return err
	}
	first.Observations = first.Observations[1:]
	if err := s.call(ctx, "delete_relations", map[string]any{"relations": s.wrote.Relations[1:2]}, nil); err != nil {
		return err
	}
	if err := s.call(ctx, "delete_entities", map[string]any{"entityNames": []string{root.Name}}, nil); err != nil {
		return err
	}
	// The root's own relation goes with it.
	s.wrote.Entities, s.wrote.Relations = s.wrote.Entities[1:], s.wrote.Relations[2:]
	return nil
}

// Fifty calls of which each depends on the answers to those before it all reach one
// session of a server that knows nothing of us: the graph that it has in the end
// is the one that was written. The next block's server knows nothing of it.
func TestFiftyDependentCalls(t *testing.T) {
	t.Parallel()
	program := memoryProgram(t)
	b := setup(t)
	type seen struct {
		Calls              int
		Wrote, Read, After graph
	}
	b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "memory"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			s := &scribe{ts: ts}
			if err := s.create(ctx, "root", "nothing"); err != nil {
				return err
			}
			for range 9 {
				if err := s.link(ctx); err != nil {
					return err
				}
			}
			if err := s.prune(ctx); err != nil {
				return err
			}
			if err := s.call(ctx, "read_graph", nil, &got.Read); err != nil {
				return err
			}
			got.Calls, got.Wrote = s.calls, s.wrote
			return nil
		})
		if err != nil {
			return got, err
		}
		return got, toolset.With(ctx, toolset.Options{Server: "memory"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			return (&scribe{ts: ts}).call(ctx, "read_graph", nil, &got.After)
		})
	}, session.Server{
		Name:    "memory",
		Connect: transport.CommandWithOptions(transport.CommandOptions{Logger: slog.New(slog.DiscardHandler)}, program),
	})
	run := b.start()
	var got seen
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got.Wrote, got.Read); diff != "" {
		t.Errorf("the graph that was read is not the one that was written (-wrote +read):\n%s", diff)
	}
	if got.Calls != 50 || len(got.Read.Entities) != 9 || len(got.Read.Relations) != 7 {
		t.Errorf("%d calls left %d entities and %d relations", got.Calls, len(got.Read.Entities), len(got.Read.Relations))
	}
	if n := len(got.After.Entities) + len(got.After.Relations); n != 0 {
		t.Errorf("another block's server has %d things in its graph", n)
	}
	calls := b.activities(run, "mcp.memory.call-tool")
	if len(calls) != 51 {
		t.Errorf("the history has %d calls, want 51", len(calls))
	}
	for _, call := range calls {
		if attempt := call.started.GetAttempt(); attempt != 1 {
			t.Errorf("call %q took %d attempts", call.summary, attempt)
		}
	}
}
