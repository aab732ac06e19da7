package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/internal/calls"
	"github.com/mcpsession/mcpsession/queue"
)

// A Conn is the MCP session that a script runs on: see [RegisterScript]. Several
// goroutines of the script may use it at once. It is the script's until that returns;
// later uses fail with a failure of type failure.TypeSessionClosed, and send nothing.
//
// Each request is bounded by the CallTimeout that the workflow sets, and by its own
// context; when that ends, the request is cancelled on the server, too. Errors are
// those of package failure, such as failure.TypeCall and failure.TypeMCPProtocol; once
// the script's own context has ended they may be a CanceledError, or tell of the loss
// of the session. A script that returns such an error hands it to the workflow.
type Conn struct {
	script *preparedScript
	asker  asker
	// ctx ends with the script.
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	over     bool
	requests sync.WaitGroup
}

// An asker makes requests on a session: a block, or a script's attempt.
type asker interface {
	// initialized is what the server said in the handshake.
	initialized() *mcp.InitializeResult
	// request makes one request, with the limits of the session.
	request(ctx context.Context, op queue.Operation, tool string, asks request) (any, error)
}

func newConn(ctx context.Context, script *preparedScript, asker asker) *Conn {
	c := &Conn{script: script, asker: asker}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	return c
}

// Server returns the server's name on the worker.
func (c *Conn) Server() string { return c.script.server }

// Initialize returns the server's answer to the MCP handshake: protocol version,
// capabilities, name and version, instructions. It must not be changed.
func (c *Conn) Initialize() *mcp.InitializeResult { return c.asker.initialized() }

// CallTool calls a tool. The arguments are anything that encodes to a JSON object; nil
// is an empty object. A result with IsError set is a result; see [Call] for one that
// is an error then.
func (c *Conn) CallTool(ctx context.Context, tool string, arguments any) (*mcp.CallToolResult, error) {
	fault := func(err error) error {
		return fmt.Errorf("session: tool %q of server %q: %w", calls.Clip(tool), c.Server(), err)
	}
	if err := calls.CheckTool(tool); err != nil {
		return nil, fault(err)
	}
	raw, err := calls.EncodeArguments(arguments, maxConnArguments)
	if err != nil {
		return nil, fault(err)
	}
	return ask[mcp.CallToolResult](ctx, c, tool, requestCallTool(queue.CallTool{Tool: tool, Arguments: raw}))
}

// maxConnArguments bounds the arguments of a call, which pass through no payload.
const maxConnArguments = 1 << 30

// ListTools returns all tools of the server, every page of them.
func (c *Conn) ListTools(ctx context.Context) (*mcp.ListToolsResult, error) {
	return ask[mcp.ListToolsResult](ctx, c, "", requestListTools(queue.ListTools{}))
}

// ListPrompts returns all prompts of the server, every page of them.
func (c *Conn) ListPrompts(ctx context.Context) (*mcp.ListPromptsResult, error) {
	return ask[mcp.ListPromptsResult](ctx, c, "", requestListPrompts(queue.ListPrompts{}))
}

// GetPrompt returns a prompt, filled in with arguments, which may be nil.
func (c *Conn) GetPrompt(ctx context.Context, name string, arguments map[string]string) (*mcp.GetPromptResult, error) {
	return ask[mcp.GetPromptResult](ctx, c, "", requestGetPrompt(queue.GetPrompt{Name: name, Arguments: arguments}))
}

// ListResources returns all resources of the server, every page of them.
func (c *Conn) ListResources(ctx context.Context) (*mcp.ListResourcesResult, error) {
	return ask[mcp.ListResourcesResult](ctx, c, "", requestListResources(queue.ListResources{}))
}

// ListResourceTemplates returns all resource templates of the server, every page of
// them.
func (c *Conn) ListResourceTemplates(ctx context.Context) (*mcp.ListResourceTemplatesResult, error) {
	return ask[mcp.ListResourceTemplatesResult](ctx, c, "", requestListResourceTemplates(queue.ListResourceTemplates{}))
}

// ReadResource returns the contents of a resource.
func (c *Conn) ReadResource(ctx context.Context, uri string) (*mcp.ReadResourceResult, error) {
	return ask[mcp.ReadResourceResult](ctx, c, "", requestReadResource(queue.ReadResource{URI: uri}))
}

// Complete returns completions of an argument of a prompt or of a resource template.
func (c *Conn) Complete(ctx context.Context, params *mcp.CompleteParams) (*mcp.CompleteResult, error) {
	return ask[mcp.CompleteResult](ctx, c, "", requestComplete(queue.Complete{Params: params}))
}

// Call calls a tool with in as its arguments, and returns its result as an Out, by the
// rules of toolset.Call: a type may encode its arguments itself, by
// EncodeToolArguments() (any, error), and decode a result itself, by
// DecodeToolResult(*mcp.CallToolResult) error on the pointer.
//
// A result with IsError is an error that wraps a *[failure.Tool]; a script may go on
// after it. A result that is no Out is an error, too: the tool ran. Other errors are
// those of [Conn.CallTool].
func Call[Out any](ctx context.Context, conn *Conn, tool string, in any) (Out, error) {
	return calls.Typed[Out]("session", conn.Server(), tool, in, func(arguments any) (*mcp.CallToolResult, error) {
		return conn.CallTool(ctx, tool, arguments)
	})
}

// errCallerGone is the cause of a request that its caller in the script cancels.
var errCallerGone = errors.New("the context that the script gave to the request ended")

// ask makes a request, unless the script is over.
func ask[R any](ctx context.Context, c *Conn, tool string, asks request) (*R, error) {
	leave, err := c.enter(tool)
	if err != nil {
		return nil, err
	}
	defer leave()
	// The context that a script gives may be none that ends with the script.
	asked, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	ended := func() {
		if c.ctx.Err() != nil {
			cancel(context.Cause(c.ctx))
		} else {
			cancel(errCallerGone)
		}
	}
	defer context.AfterFunc(c.ctx, ended)()
	defer context.AfterFunc(ctx, ended)()
	if c.ctx.Err() != nil || ctx.Err() != nil {
		ended() // at once: AfterFunc does it a moment later
	}
	result, err := c.asker.request(asked, queue.Operation{Timeout: c.script.Timeout}, tool, asks)
	if err != nil {
		if d, ok := failure.Call(err); ok && errors.Is(context.Cause(asked), errCallerGone) {
			// For errors.Is, with what the caller knows its own context by.
			err = failure.New(failure.TypeCall, errCallerGone.Error()+"; the request was cancelled", d, context.Cause(ctx))
		}
		return nil, err
	}
	return result.(*R), nil
}

// enter counts a request in; it returns an error when the script is over.
func (c *Conn) enter(tool string) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil, failure.New(failure.TypeSessionClosed,
			fmt.Sprintf("the session of script %q was used after the script had ended; nothing was sent", c.script.Script),
			failure.Details{Server: c.Server(), Reason: failure.ReasonClosed, Tool: tool, ToolRan: failure.RanNo}, nil)
	}
	c.requests.Add(1)
	return c.requests.Done, nil
}

// end lets nothing more begin, cancels what goroutines have under way that outlive the
// script, and waits for that, in bounded time.
func (c *Conn) end() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	c.cancel(errScriptOver)
	settled := make(chan struct{})
	go func() { c.requests.Wait(); close(settled) }()
	select {
	case <-settled:
	case <-time.After(politeTimeout):
	}
}
