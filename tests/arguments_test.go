package tests

import (
	"encoding/json"
	"strings"
	"testing"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

type point struct {
	X    int64    `json:"x"`
	Tags []string `json:"tags,omitempty"`
	skip int
}

// bigNumbers has digits that a float64 does not hold. (C15)
const bigNumbers = `{"n":9007199254740993,"m":1234567890123456789,"s":"1e400","e":1e400,"f":0.1000000000000000055511151231257827,"list":[-9007199254740993]}`

// arguments are what a caller may pass, and what the server must get.
func argumentsOfEveryKind() []struct {
	name string
	pass any
	want string
} {
	var none map[string]any
	var nobody *point
	return []struct {
		name string
		pass any
		want string
	}{
		{"nil", nil, `{}`},
		{"nil map", none, `{}`},
		{"nil pointer", nobody, `{}`},
		{"null", json.RawMessage("null"), `{}`},
		{"empty raw message", json.RawMessage(nil), `{}`},
		{"empty map", map[string]any{}, `{}`},
		{"map", map[string]any{"a": 1, "b": []any{true, nil, "ü <&> \u2028"}, "c": map[string]any{"d": 1.5}}, `{"a":1,"b":[true,null,"ü <&> \u2028"],"c":{"d":1.5}}`},
		{"map of ints", map[string]int64{"max": 9223372036854775807}, `{"max":9223372036854775807}`},
		{"struct", point{X: 9007199254740993, skip: 1}, `{"x":9007199254740993}`},
		{"pointer", &point{X: -1, Tags: []string{"t"}}, `{"x":-1,"tags":["t"]}`},
		{"raw message", json.RawMessage(bigNumbers), bigNumbers},
		{"raw message with space", json.RawMessage(" {\n \"a\" : 1 }\n"), `{"a":1}`},
		{"pointer to raw message", ptr(json.RawMessage(`{"a":1}`)), `{"a":1}`},
		{"number", map[string]json.Number{"n": "1e400"}, `{"n":1e400}`},
		{"a long text", map[string]string{"t": strings.Repeat("ä", 100_000)}, `{"t":"` + strings.Repeat("ä", 100_000) + `"}`},
	}
}

func ptr[T any](v T) *T { return &v }

// Arguments of every kind that encodes to a JSON object reach the server as that
// object, with all the digits of its numbers.
func TestArgumentsReachTheServer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	cases := argumentsOfEveryKind()
	b.worker(worker.Options{}, func(ctx workflow.Context) (got []string, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			for _, c := range cases {
				echoed, err := call(ctx, ts, fixture.Echo, c.pass)
				if err != nil {
					return err
				}
				got = append(got, echoed)
			}
			return nil
		})
		return got, err
	}, stdio("counter"))
	var got []string
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	for i, c := range cases {
		if got, want := asJSON(t, json.RawMessage(got[i])), asJSON(t, json.RawMessage(c.want)); got != want {
			t.Errorf("%s: the server got %.300s, want %.300s", c.name, got, want)
		}
	}
}

// The text and the structured content of a result come as an MCP client gets them
// that stands next to the server: the text digit by digit. Structured numbers
// over 2^53 are rounded by the MCP SDK's own decoder, not by us. (C15)
func TestNumbersInResults(t *testing.T) {
	t.Parallel()
	quoted, err := json.Marshal(bigNumbers)
	if err != nil {
		t.Fatal(err)
	}
	w := returning(t, `{"content":[{"type":"text","text":`+string(quoted)+`}],"structuredContent":{"n":9007199254740993,"s":"1e400","small":3}}`)
	direct, got := callBoth(t, w, "numbers")
	if got, want := asJSON(t, got), asJSON(t, direct); got != want {
		t.Errorf("got %s, a direct client %s", got, want)
	}
	if text := fixture.Text(got); !strings.Contains(text, "9007199254740993") || !strings.Contains(text, "1234567890123456789") {
		t.Errorf("digits are lost in the text %s", text)
	}
}
