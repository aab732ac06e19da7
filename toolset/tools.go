package toolset

import (
	"fmt"
	"iter"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"
)

// A Caller calls tools: a [Toolset], or a stateless client.
type Caller interface {
	CallTool(ctx workflow.Context, tool string, arguments any) (*mcp.CallToolResult, error)
	CallToolAsync(ctx workflow.Context, tool string, arguments any) workflow.Future
}

// Tools is a set of tools, in the order in which their servers list them: what an
// agent is given to choose from. It does not change; its methods return other sets.
type Tools struct {
	list   []*Tool
	byName map[string]*Tool
}

// A Tool is one tool of a set.
type Tool struct {
	// Name is what the set calls the tool: the server's name for it, behind the
	// set's prefix.
	Name string
	// Definition is the server's own: name, title, description, input and output
	// schema, annotations. It must not be changed.
	Definition *mcp.Tool

	caller Caller
}

// Discover returns the tools of the server as a set. It reads them with the block's
// [Toolset.ListTools], so without an activity where the block keeps the list.
func (ts *Toolset) Discover(ctx workflow.Context) (*Tools, error) {
	listed, err := ts.ListTools(ctx)
	if err != nil {
		return nil, err
	}
	return NewTools(ts, listed.Tools)
}

// Rediscover reads the tools from the server again, whatever the block keeps, and
// returns them as a set. Sets that were made before stay as they are.
func (ts *Toolset) Rediscover(ctx workflow.Context) (*Tools, error) {
	if err := ts.usable(ctx, ""); err != nil {
		return nil, err
	}
	listed, err := ts.readTools(ctx)
	if err != nil {
		return nil, err
	}
	return NewTools(ts, listed.Tools)
}

// NewTools returns the set of the listed tools, called by caller. It is what
// [Toolset.Discover] uses. It returns an error for two tools of one name.
func NewTools(caller Caller, listed []*mcp.Tool) (*Tools, error) {
	list := make([]*Tool, 0, len(listed))
	for _, definition := range listed {
		list = append(list, &Tool{Name: definition.Name, Definition: definition, caller: caller})
	}
	return newTools(list)
}

func newTools(list []*Tool) (*Tools, error) {
	s := &Tools{list: list, byName: make(map[string]*Tool, len(list))}
	for _, t := range list {
		if s.byName[t.Name] != nil {
			return nil, fmt.Errorf("toolset: two tools of the set have the name %q; give each server's tools a prefix of their own (WithPrefix)", t.Name)
		}
		s.byName[t.Name] = t
	}
	return s, nil
}

// Len returns how many tools the set has.
func (s *Tools) Len() int { return len(s.list) }

// All returns the tools in their order.
func (s *Tools) All() iter.Seq[*Tool] { return slices.Values(s.list) }

// Names returns the names of the tools in their order.
func (s *Tools) Names() []string {
	names := make([]string, 0, len(s.list))
	for _, t := range s.list {
		names = append(names, t.Name)
	}
	return names
}

// Lookup returns the tool of a name.
func (s *Tools) Lookup(name string) (*Tool, bool) {
	t, ok := s.byName[name]
	return t, ok
}

// Select returns the set of the tools of these names, in their given order. It
// returns an error that names the ones that are not there.
func (s *Tools) Select(names ...string) (*Tools, error) {
	var list []*Tool
	var unknown []string
	for _, name := range names {
		if t, ok := s.byName[name]; ok {
			list = append(list, t)
		} else {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		return nil, fmt.Errorf("toolset: the set has no tools %q; it has %q", unknown, s.Names())
	}
	return newTools(list)
}

// Filter returns the set of the tools that keep returns true for.
func (s *Tools) Filter(keep func(*Tool) bool) *Tools {
	kept := &Tools{byName: make(map[string]*Tool)}
	for _, t := range s.list {
		if keep(t) {
			kept.list = append(kept.list, t)
			kept.byName[t.Name] = t
		}
	}
	return kept
}

// WithPrefix returns the set with prefix before each name. The server is called by
// its own names.
func (s *Tools) WithPrefix(prefix string) *Tools {
	named := &Tools{byName: make(map[string]*Tool, len(s.list))}
	for _, t := range s.list {
		renamed := *t
		renamed.Name = prefix + t.Name
		named.list = append(named.list, &renamed)
		named.byName[renamed.Name] = &renamed
	}
	return named
}

// Merge returns one set of the tools of several, in their order. It returns an
// error when two tools have the same name.
func Merge(sets ...*Tools) (*Tools, error) {
	var list []*Tool
	for _, s := range sets {
		list = append(list, s.list...)
	}
	return newTools(list)
}

// Call calls the tool of a name of the set. What a model asks for may not be there:
// then the error says which tools are, and no call is made. Other errors are those
// of [Toolset.CallTool].
func (s *Tools) Call(ctx workflow.Context, name string, arguments any) (*mcp.CallToolResult, error) {
	t, ok := s.byName[name]
	if !ok {
		return nil, &UnknownToolError{Name: name, Known: s.Names()}
	}
	return t.Call(ctx, arguments)
}

// An UnknownToolError says that a set has no tool of a name.
type UnknownToolError struct {
	Name  string
	Known []string
}

func (e *UnknownToolError) Error() string {
	return fmt.Sprintf("toolset: the set has no tool %q; it has %q", e.Name, e.Known)
}

// Call calls the tool, as [Toolset.CallTool] does.
func (t *Tool) Call(ctx workflow.Context, arguments any) (*mcp.CallToolResult, error) {
	return t.caller.CallTool(ctx, t.Definition.Name, arguments)
}

// CallAsync calls the tool, as [Toolset.CallToolAsync] does.
func (t *Tool) CallAsync(ctx workflow.Context, arguments any) workflow.Future {
	return t.caller.CallToolAsync(ctx, t.Definition.Name, arguments)
}
