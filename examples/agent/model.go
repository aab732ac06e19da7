package agent

import (
	"context"
	"fmt"
	"strings"
)

// A ToolSpec is a tool in the shape that model APIs take.
type ToolSpec struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	InputSchema any    `json:"input_schema"`
}

// A Message is one of a conversation. Those of the role "tool" answer the call of
// their ID.
type Message struct {
	Role  string     `json:"role"` // system, user, assistant, tool
	Text  string     `json:"text,omitempty"`
	Calls []ToolCall `json:"calls,omitempty"` // of an assistant's message
	ID    string     `json:"id,omitempty"`    // of the call that a tool's message answers
	Error bool       `json:"error,omitempty"`
}

// A ToolCall is what a model wants done.
type ToolCall struct {
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Arguments map[string]any `json:"arguments,omitempty"`
}

// A Turn is what a model is asked.
type Turn struct {
	Messages []Message  `json:"messages"`
	Tools    []ToolSpec `json:"tools"`
}

// ModelActivity is the name of the activity that asks the model.
const ModelActivity = "ask-model"

// Script is a model that shops: it puts two things into the cart, asks what they
// come to, and says so. After a notice that the cart is lost it begins again.
func Script(_ context.Context, turn Turn) (Message, error) {
	since := turn.Messages
	for i, m := range turn.Messages {
		if m.Role == "system" && strings.Contains(m.Text, lostNotice) {
			since = turn.Messages[i+1:]
		}
	}
	said := 0
	for _, m := range since {
		if m.Role == "assistant" {
			said++
		}
	}
	call := func(i int, name string, arguments map[string]any) ToolCall {
		return ToolCall{ID: fmt.Sprint("call-", len(turn.Messages), "-", i), Name: name, Arguments: arguments}
	}
	switch said {
	case 0:
		return Message{Role: "assistant", Calls: []ToolCall{
			call(0, "cart_add", map[string]any{"item": "tea", "count": 2}),
			call(1, "cart_add", map[string]any{"item": "milk", "count": 1}),
		}}, nil
	case 1:
		return Message{Role: "assistant", Calls: []ToolCall{call(0, "cart_total", nil)}}, nil
	default:
		return Message{Role: "assistant", Text: "The cart has " + since[len(since)-1].Text + "."}, nil
	}
}
