package interop

import (
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"
)

// greetings is what there is to say to the Go SDK's everything: each name is the
// greeting before it. Two of its tools make the server turn to its client.
func greetings(s *speaker) conversation { return &greeting{speaker: s, last: s.name} }

type greeting struct {
	*speaker
	last string
}

func (g *greeting) round(ctx workflow.Context, n int) error {
	// The names would double with each greeting of a greeting.
	name := map[string]any{"name": fmt.Sprintf("%s %d %s", g.name, n, g.last[:min(len(g.last), 12)])}
	want := fmt.Sprintf("Hi %s", name["name"])
	if err := g.hears(ctx, want, "greet", name); err != nil {
		return err
	}
	var answer struct{ Message string }
	if err := g.structured(ctx, "greet (structured)", map[string]any{"name": want}, &answer); err != nil {
		return err
	}
	if err := same("Hi "+want, answer.Message); err != nil {
		return err
	}
	link, err := g.call(ctx, "greet (content with ResourceLink)", map[string]any{"name": fmt.Sprint(len(answer.Message))})
	if err != nil {
		return err
	}
	target, ok := link.Content[0].(*mcp.ResourceLink)
	if !ok || len(target.Icons) != 1 {
		return fmt.Errorf("the link has come as %T", link.Content[0])
	}
	if err := same(fmt.Sprintf("data:text/plain,Hi%%20%d", len(answer.Message)), target.URI); err != nil {
		return err
	}
	_, g.last, _ = strings.Cut(target.URI, ",")
	for _, tool := range []string{"ping", "log"} {
		if _, err := g.call(ctx, tool, nil); err != nil {
			return err
		}
	}
	return nil
}

func (*greeting) remembers(workflow.Context) (string, error) { return "", nil }
