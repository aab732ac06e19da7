package toolsettest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Call is a call of a tool that was sent to a server, or would have been but for a
// planned fault. A call that is sent again is another one.
type Call struct {
	// Server is the server's name, and Session the number of the session among those
	// of that server, from 1; zero for a stateless call, and for one of a script that has
	// a session of its own.
	Server  string
	Session int
	// Tool is what was called, and Arguments are the JSON object that was sent.
	Tool      string
	Arguments json.RawMessage
	// WorkflowID is that of the workflow that called, and At when, on the workflow's
	// clock.
	WorkflowID string
	At         time.Time
	// Result is what the server answered, whether or not that came to the workflow; nil
	// without a result.
	Result *mcp.CallToolResult
	// Err is the failure that the workflow gets instead of the result, as far as the
	// server's side knows; nil if there is none.
	Err error
}

// String returns the call as it is shown when a test fails.
func (c Call) String() string {
	at := c.Server
	if c.Session > 0 {
		at = strings.TrimSpace(fmt.Sprintf("%s session %d", c.Server, c.Session))
	}
	if at != "" {
		at += ": "
	}
	text := at + c.Tool
	if len(c.Arguments) > 0 {
		text += " " + string(c.Arguments)
	}
	return text
}

// A record is a call as the kit keeps it.
type record struct {
	Call
	operation *operation
	fault     *CallFault // that the test has planned for it
}

// called notes a call that is about to be sent, and finds what is planned for it.
func (o *operation) called(params json.RawMessage) *record {
	var sent struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	_ = json.Unmarshal(params, &sent) // the MCP SDK has made it
	r := &record{operation: o, Call: Call{
		Server: o.server.Name, Tool: sent.Name, Arguments: sent.Arguments, WorkflowID: o.info.WorkflowExecution.ID, At: o.kit.env.Now(),
	}}
	k := o.kit
	k.mu.Lock()
	defer k.mu.Unlock()
	if o.session != nil {
		r.Session = o.session.told.N
	}
	k.calls = append(k.calls, r)
	o.calls = append(o.calls, r)
	r.fault = k.nextFault(o, sent.Name)
	if f := r.fault; f != nil && (f.effect == slow || f.effect == tooLarge || f.effect == lose && f.when == AfterAnswer) {
		o.after = f
	}
	return r
}

// answered notes the answer to a call.
func (r *record) answered(response *jsonrpc.Response) {
	k := r.operation.kit
	k.mu.Lock()
	defer k.mu.Unlock()
	if response.Error != nil {
		return // its operation's failure says more
	}
	var result mcp.CallToolResult
	if err := json.Unmarshal(response.Result, &result); err != nil {
		r.Err = fmt.Errorf("toolsettest: the server's answer can't be read: %w", err)
		return
	}
	r.Result = &result
}

// Calls returns the calls of tools so far, in the order in which they were sent: those
// of the named servers, or of all if none is named.
func (k *Kit) Calls(servers ...string) []Call {
	k.t.Helper()
	wanted := k.wanted(servers)
	k.mu.Lock()
	defer k.mu.Unlock()
	var all []Call
	for _, r := range k.calls {
		if wanted(r.Server) {
			all = append(all, r.Call)
		}
	}
	return all
}

// CallsOf returns the calls of one tool of a server, in the order in which they were
// sent.
func (k *Kit) CallsOf(server, tool string) []Call {
	k.t.Helper()
	return slices.DeleteFunc(k.Calls(server), func(c Call) bool { return c.Tool != tool })
}

// ExpectCalls fails the test unless the calls so far are these and no others, in this
// order. Of each, Server, Session, Tool, WorkflowID and Arguments count that are set
// here; arguments are equal as JSON.
func (k *Kit) ExpectCalls(want ...Call) bool {
	k.t.Helper()
	got := k.Calls()
	if slices.EqualFunc(want, got, Call.matches) {
		return true
	}
	first := 0
	for first < min(len(want), len(got)) && want[first].matches(got[first]) {
		first++
	}
	k.t.Errorf("toolsettest: the calls are not those that were expected%s\nexpected:%s\ngot:%s", difference(want, got, first), list(want, first), list(got, first))
	return false
}

// difference says in what the first call is not as expected that is not, where the
// lists need not show it.
func difference(want, got []Call, first int) string {
	if first == min(len(want), len(got)) {
		return fmt.Sprintf(": there are %d calls, not %d", len(got), len(want))
	}
	switch w, g := want[first], got[first]; {
	case len(w.Arguments) > 0 && !json.Valid(w.Arguments):
		return fmt.Sprintf(": the expected arguments of call %d are no JSON", first+1)
	case w.WorkflowID != "" && w.WorkflowID != g.WorkflowID:
		return fmt.Sprintf(": call %d was made by workflow %q, not %q", first+1, g.WorkflowID, w.WorkflowID)
	}
	return fmt.Sprintf(": call %d is another", first+1)
}

// matches reports whether what is set in a call is so in another.
func (c Call) matches(got Call) bool {
	return (c.Server == "" || c.Server == got.Server) && (c.Session == 0 || c.Session == got.Session) &&
		(c.Tool == "" || c.Tool == got.Tool) && (c.WorkflowID == "" || c.WorkflowID == got.WorkflowID) &&
		(len(c.Arguments) == 0 || sameJSON(c.Arguments, got.Arguments))
}

func sameJSON(a, b json.RawMessage) bool {
	decode := func(raw json.RawMessage) (value any, ok bool) {
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		return value, d.Decode(&value) == nil
	}
	x, ok := decode(a)
	y, also := decode(b)
	return ok && also && reflect.DeepEqual(x, y)
}

// list shows calls, and marks one of them.
func list(calls []Call, marked int) string {
	if len(calls) == 0 {
		return " none"
	}
	var b strings.Builder
	for i, c := range calls {
		mark := " "
		if i == marked {
			mark = ">"
		}
		fmt.Fprintf(&b, "\n%s %d. %v", mark, i+1, c)
	}
	return b.String()
}

// count says how many calls were made in a session.
func (k *Kit) count(s *held) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	var last *record
	n := 0
	for _, r := range k.calls {
		if r.operation.session == s {
			last = r
			n++
		}
	}
	switch n {
	case 0:
		return "no calls"
	case 1:
		return "1 call, of " + last.Tool
	}
	return fmt.Sprintf("%d calls, the last of %s", n, last.Tool)
}

// wanted returns whether a server is among those that were named.
func (k *Kit) wanted(servers []string) func(string) bool {
	k.t.Helper()
	for _, name := range servers {
		k.known(name)
	}
	return func(name string) bool { return len(servers) == 0 || slices.Contains(servers, name) }
}
