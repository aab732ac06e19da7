// Package workflows is what the program mcpsession runs on its task queue: workflows
// that make one call, or read one list, each in a session of its own. Programs in
// other languages may start them, too: types, inputs and results are kept.
package workflows

import (
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/stateless"
	"github.com/mcpsession/mcpsession/toolset"
)

// The types of the workflows.
const (
	// TypeCall calls a tool: a [CallInput] gives an MCP CallToolResult.
	TypeCall = "mcpsession.call"
	// TypeList reads a server's lists: a [ListInput] gives a [Lists].
	TypeList = "mcpsession.list"
	// TypeServers tells which servers the worker hosts: no input gives a [Servers].
	TypeServers = "mcpsession.servers"

	// typeHosted is the activity that TypeServers asks.
	typeHosted = "mcpsession.hosted-servers"
)

// A CallInput is the input of [TypeCall].
type CallInput struct {
	// Server and Tool name what is called.
	Server string `json:"server"`
	Tool   string `json:"tool"`
	// Arguments are the tool's arguments, a JSON object; empty is one without members.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Argument is for the server's connector. Files for session.Load have no use for it.
	Argument json.RawMessage `json:"argument,omitempty"`
	// Timeout bounds the call; toolset.DefaultCallTimeout when zero.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// A ListInput is the input of [TypeList].
type ListInput struct {
	Server   string          `json:"server"`
	Argument json.RawMessage `json:"argument,omitempty"`
	Timeout  time.Duration   `json:"timeout,omitempty"`
	// Prompts and Resources ask for these lists instead of the tools.
	Prompts   bool `json:"prompts,omitempty"`
	Resources bool `json:"resources,omitempty"`
}

// Lists are the result of [TypeList]: what was asked for, all pages of it.
type Lists struct {
	Tools             []*mcp.Tool             `json:"tools,omitempty"`
	Prompts           []*mcp.Prompt           `json:"prompts,omitempty"`
	Resources         []*mcp.Resource         `json:"resources,omitempty"`
	ResourceTemplates []*mcp.ResourceTemplate `json:"resourceTemplates,omitempty"`
}

// A Servers is the result of [TypeServers].
type Servers struct {
	// Servers are the names of the servers, in the order of the configuration.
	Servers []string `json:"servers"`
}

// Register registers the workflows on a worker.
func Register(registry worker.WorkflowRegistry) {
	registry.RegisterWorkflowWithOptions(Call, workflow.RegisterOptions{Name: TypeCall})
	registry.RegisterWorkflowWithOptions(List, workflow.RegisterOptions{Name: TypeList})
	registry.RegisterWorkflowWithOptions(HostedServers, workflow.RegisterOptions{Name: TypeServers})
}

// Call is the workflow of [TypeCall]. Its errors are those of package failure; a result
// with IsError is a result.
//
// A server that keeps no state between calls can't be opened as a session, and one call
// needs none: it is made without.
func Call(ctx workflow.Context, in CallInput) (result *mcp.CallToolResult, err error) {
	options := in.options()
	err = toolset.With(ctx, options, func(ctx workflow.Context, server *toolset.Toolset) (err error) {
		result, err = server.CallTool(ctx, in.Tool, in.arguments())
		return err
	})
	if !sessionless(err) {
		return result, err
	}
	server, err := stateless.New(ctx, stateless.Options{Server: in.Server, Argument: options.Argument, CallTimeout: in.Timeout})
	if err != nil {
		return nil, err
	}
	return server.CallTool(ctx, in.Tool, in.arguments())
}

// List is the workflow of [TypeList]. Its errors are those of package failure.
func List(ctx workflow.Context, in ListInput) (lists *Lists, err error) {
	options := CallInput{Server: in.Server, Argument: in.Argument, Timeout: in.Timeout}.options()
	err = toolset.With(ctx, options, func(ctx workflow.Context, server *toolset.Toolset) (err error) {
		lists, err = in.read(ctx, server)
		return err
	})
	if !sessionless(err) {
		return lists, err
	}
	server, err := stateless.New(ctx, stateless.Options{Server: in.Server, Argument: options.Argument, CallTimeout: in.Timeout})
	if err != nil {
		return nil, err
	}
	return in.read(ctx, server)
}

// A lister is a session, or a client without one.
type lister interface {
	ListTools(ctx workflow.Context) (*mcp.ListToolsResult, error)
	ListPrompts(ctx workflow.Context) (*mcp.ListPromptsResult, error)
	ListResources(ctx workflow.Context) (*mcp.ListResourcesResult, error)
	ListResourceTemplates(ctx workflow.Context) (*mcp.ListResourceTemplatesResult, error)
}

func (in ListInput) read(ctx workflow.Context, server lister) (*Lists, error) {
	var lists Lists
	if !in.Prompts && !in.Resources {
		tools, err := server.ListTools(ctx)
		if err != nil {
			return nil, err
		}
		lists.Tools = tools.Tools
	}
	if in.Prompts {
		prompts, err := server.ListPrompts(ctx)
		if err != nil {
			return nil, err
		}
		lists.Prompts = prompts.Prompts
	}
	if in.Resources {
		resources, err := server.ListResources(ctx)
		if err != nil {
			return nil, err
		}
		templates, err := server.ListResourceTemplates(ctx)
		if err != nil {
			return nil, err
		}
		lists.Resources, lists.ResourceTemplates = resources.Resources, templates.ResourceTemplates
	}
	return &lists, nil
}

// hostedTimeout bounds the question which servers there are.
const hostedTimeout = 10 * time.Second

// HostedServers is the workflow of [TypeServers].
func HostedServers(ctx workflow.Context) (*Servers, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout:    hostedTimeout,
		ScheduleToStartTimeout: hostedTimeout,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 3},
	})
	var servers Servers
	if err := workflow.ExecuteActivity(ctx, typeHosted).Get(ctx, &servers); err != nil {
		return nil, err
	}
	return &servers, nil
}

func (in CallInput) options() toolset.Options {
	options := toolset.Options{Server: in.Server, CallTimeout: in.Timeout}
	if len(in.Argument) > 0 {
		options.Argument = in.Argument
	}
	return options
}

// arguments keeps a nil message from becoming an argument.
func (in CallInput) arguments() any {
	if len(in.Arguments) == 0 {
		return nil
	}
	return in.Arguments
}

func sessionless(err error) bool {
	d, ok := failure.Open(err)
	return ok && d.Reason == failure.ReasonSessionless
}
