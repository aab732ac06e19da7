package session

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/internal/thrown"
	"github.com/mcpsession/mcpsession/queue"
)

// A script is a registered one. Its types are hidden behind JSON: prepare decodes an
// input, and returns what is left to do on a session.
type script struct {
	name    string
	prepare func(input json.RawMessage) (body scriptBody, err error)
}

// A scriptBody is a script with its input.
type scriptBody func(ctx context.Context, mcp *Conn) (output any, err error)

// scripts are those of the process, as database/sql has its drivers: a script is
// code, the same on each worker of the process, and for each server.
var scripts = struct {
	sync.RWMutex
	byName map[string]*script
}{byName: make(map[string]*script)}

// RegisterScript makes a function known under a name, by which workflows run it: with
// toolset.RunScript on a session of its own, or with (*toolset.Toolset).Run on that of
// an open block. It makes as many calls as it likes on that one session, in one
// activity.
//
// The name has 1 to 64 letters, digits, '-' and '_'. Scripts are the process's: each of
// its workers runs each of them, for every server, and it may be registered before or
// after they start. It returns an error for a bad name, for one that is taken, and for
// a nil function.
//
// In and Out cross as JSON, like the arguments of a tool: a json.RawMessage in them
// keeps all digits. A workflow that gives no input gives the zero In.
//
// A script runs at most once, unless the workflow says that it may be repeated. Its
// context ends when the workflow cancels it, with its timeout, with its session, with
// the worker, and when the Temporal server has acknowledged no heartbeat for the
// heartbeat timeout. From then on its Conn sends nothing; a script that does not heed
// its context is left behind three seconds later. The context is otherwise that of an activity: it
// has the activity's info and logger. The heartbeats are the library's: a script must
// not call activity.RecordHeartbeat.
//
// An application error is what the workflow gets, with its type and details: that of
// a call, such as failure.TypeCall and failure.TypeTool, too. Any other error, and a
// panic, is a failure of type failure.TypeScript. Neither is retried.
func RegisterScript[In, Out any](name string, run func(ctx context.Context, mcp *Conn, in In) (Out, error)) error {
	if err := queue.ValidateScript(name); err != nil {
		return fmt.Errorf("session: RegisterScript: %w", err)
	}
	if run == nil {
		return fmt.Errorf("session: RegisterScript: the function of script %q is nil", name)
	}
	s := &script{name: name, prepare: func(input json.RawMessage) (scriptBody, error) {
		var in In
		if len(input) > 0 {
			if err := unmarshal(input, &in); err != nil {
				return nil, fmt.Errorf("its input is no %T: %w", in, err)
			}
		}
		return func(ctx context.Context, mcp *Conn) (any, error) { return run(ctx, mcp, in) }, nil
	}}
	scripts.Lock()
	defer scripts.Unlock()
	if scripts.byName[name] != nil {
		return fmt.Errorf("session: RegisterScript: there is a script %q already; a name has one function in a process", name)
	}
	scripts.byName[name] = s
	return nil
}

// unmarshal is json.Unmarshal, of which a panic of a type's own method is an error.
func unmarshal(raw json.RawMessage, into any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = thrown.Error("decoding it", p)
		}
	}()
	return json.Unmarshal(raw, into)
}

// A preparedScript is a script that may begin.
type preparedScript struct {
	queue.RunScript
	server string
	body   scriptBody
}

// prepareScript looks up the script of an operation, and gives it its input. No script
// has begun when it returns an error.
func prepareScript(server string, in queue.RunScript) (*preparedScript, error) {
	if in.Timeout <= 0 {
		in.Timeout = queue.DefaultCallTimeout
	}
	if in.ScriptTimeout <= 0 {
		in.ScriptTimeout = queue.DefaultScriptTimeout
	}
	p := &preparedScript{RunScript: in, server: server}
	scripts.RLock()
	s, known := scripts.byName[in.Script], slices.Sorted(maps.Keys(scripts.byName))
	scripts.RUnlock()
	if s == nil {
		// Retryable: where several releases of a worker run, another one may know it.
		return nil, failure.NewRetryable(failure.TypeScript,
			fmt.Sprintf("this worker has no script %q; it has %q (session.RegisterScript)", in.Script, known),
			p.details(failure.ReasonUnknownScript, failure.RanNo), nil)
	}
	body, err := s.prepare(in.Input)
	if err != nil {
		return nil, p.failed(failure.ReasonBadInput, failure.RanNo, fmt.Sprintf("script %q can't begin: %v", in.Script, err))
	}
	p.body = body
	return p, nil
}

func (p *preparedScript) details(reason failure.Reason, ran failure.ToolRan) failure.Details {
	return failure.Details{Server: p.server, Reason: reason, Tool: p.Script, ToolRan: ran}
}

func (p *preparedScript) failed(reason failure.Reason, ran failure.ToolRan, message string) error {
	return failure.NewScript(message, p.details(reason, ran), nil)
}

// encode returns a script's output as the JSON that the workflow gets.
func (p *preparedScript) encode(output any) (json.RawMessage, error) {
	raw, err := json.Marshal(output)
	if err != nil {
		return nil, p.failed(failure.ReasonScriptOutput, failure.RanYes,
			fmt.Sprintf("script %q ran, and its output (%T) does not encode as JSON: %v", p.Script, output, err))
	}
	if p.MaxResult > 0 && len(raw) > p.MaxResult {
		return nil, failure.NewResultOverBound(failure.SizeDetails{
			Server: p.server, Tool: p.Script, Size: int64(len(raw)), Limit: int64(p.MaxResult),
		})
	}
	return raw, nil
}
