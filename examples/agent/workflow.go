package agent

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/toolset"
)

// Names that the workflow and the worker agree on.
const (
	TaskQueue = "agent"
	Server    = "cart" // the MCP server
)

// lostNotice tells the model of a loss: what it has done is undone, and it would
// otherwise go on as if it were not.
const lostNotice = "The session was lost, and the cart with it. It is empty again."

const (
	maxTurns  = 20
	maxLosses = 2
)

// A Request is what to shop.
type Request struct {
	Text string
	// Sessions is the task queue of the workers that hold carts; the workflow's own
	// when empty.
	Sessions string
}

// A Reply is what came of a request.
type Reply struct {
	Text     string
	Losses   int
	Messages []Message
}

// Shop does what a request asks for, with a cart of its own.
//
// A lost session is a lost cart: the block ends, a new one opens with an empty cart,
// and the conversation goes on with a notice of it. The other way, to stop, is right
// where a tool has effects outside of its session.
func Shop(ctx workflow.Context, request Request) (Reply, error) {
	c := &conversation{messages: []Message{{Role: "user", Text: request.Text}}}
	options := toolset.Options{Server: Server, Session: workflow.ActivityOptions{TaskQueue: request.Sessions}}
	for {
		err := toolset.With(ctx, options, c.converse)
		if err == nil {
			return Reply{c.answer, c.losses, c.messages}, nil
		}
		loss, lost := failure.DedicatedWorker(err)
		if !lost || c.losses == maxLosses {
			return Reply{}, err
		}
		c.losses++
		c.messages = append(c.messages, Message{Role: "system", Text: fmt.Sprintf("%s (%s)", lostNotice, loss.Reason)})
	}
}

// A conversation is what the model has heard and said.
type conversation struct {
	messages []Message
	answer   string
	losses   int
}

// converse takes turns with the model until it has an answer.
func (c *conversation) converse(ctx workflow.Context, cart *toolset.Toolset) error {
	discovered, err := cart.Discover(ctx)
	if err != nil {
		return err
	}
	// With several servers each would have a prefix, and toolset.Merge make one set.
	tools := discovered.WithPrefix("cart_")
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute})
	for range maxTurns {
		var said Message
		turn := Turn{Messages: c.messages, Tools: specs(tools)}
		if err := workflow.ExecuteActivity(ctx, ModelActivity, turn).Get(ctx, &said); err != nil {
			return err
		}
		c.messages = append(c.messages, said)
		if len(said.Calls) == 0 {
			c.answer = said.Text
			return nil
		}
		if err := c.call(ctx, tools, said.Calls); err != nil {
			return err
		}
	}
	return fmt.Errorf("the model has no answer after %d turns", maxTurns)
}

// call calls the tools that the model wants. Each call has an answer, since model
// APIs want one; what a model can mend, it is told. Only the loss of the session,
// and what else is no matter of the model's, ends the turn.
func (c *conversation) call(ctx workflow.Context, tools *toolset.Tools, calls []ToolCall) error {
	for i, wanted := range calls {
		result, err := tools.Call(ctx, wanted.Name, wanted.Arguments)
		if failure.IsDedicatedWorker(err) {
			for _, unanswered := range calls[i:] {
				c.messages = append(c.messages, Message{Role: "tool", ID: unanswered.ID, Text: "the session was lost", Error: true})
			}
			return err
		}
		if err != nil && ctx.Err() != nil {
			return err // cancelled
		}
		if err != nil { // an unknown tool, arguments that are refused, no answer in time
			c.messages = append(c.messages, Message{Role: "tool", ID: wanted.ID, Text: err.Error(), Error: true})
			continue
		}
		c.messages = append(c.messages, Message{Role: "tool", ID: wanted.ID, Text: failure.Text(result), Error: result.IsError})
	}
	return nil
}

// specs returns tools in the shape that model APIs take.
func specs(tools *toolset.Tools) []ToolSpec {
	specs := make([]ToolSpec, 0, tools.Len())
	for tool := range tools.All() {
		specs = append(specs, ToolSpec{tool.Name, tool.Definition.Description, tool.Definition.InputSchema})
	}
	return specs
}
