package transport

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The events of a stream, as servers write them. One that is cut is no event.
func TestEventReader(t *testing.T) {
	t.Parallel()
	type seen struct {
		Name, ID, Data string
		Retry          time.Duration
	}
	for _, test := range []struct {
		name, text string
		want       []seen
		cut        bool
	}{
		{name: "empty"},
		{name: "comments", text: ": hello\n\n:\n\n"},
		{name: "one", text: "event: message\nid: 1\ndata: {}\n\n", want: []seen{{Name: "message", ID: "1", Data: "{}"}}},
		{name: "without spaces", text: "id:1\ndata:{}\n\n", want: []seen{{ID: "1", Data: "{}"}}},
		{name: "carriage returns", text: "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", want: []seen{{Data: "a\nb"}, {Data: "c"}}},
		{name: "priming", text: "id: 7\nretry: 250\ndata:\n\n", want: []seen{{ID: "7", Retry: 250 * time.Millisecond}}},
		{name: "bad retry", text: "retry: soon\ndata: x\n\n", want: []seen{{Data: "x"}}},
		{name: "unknown fields", text: "foo\nbar: x\ndata: x\n\n", want: []seen{{Data: "x"}}},
		{name: "the last lacks its end", text: "data: x\n\ndata: y", want: []seen{{Data: "x"}, {Data: "y"}}},
		{name: "the last is cut", text: "data: x\n\ndata: y", want: []seen{{Data: "x"}}, cut: true},
	} {
		var in io.Reader = strings.NewReader(test.text)
		if test.cut {
			in = io.MultiReader(in, iotest.ErrReader(io.ErrUnexpectedEOF))
		}
		events := newEventReader(in)
		var got []seen
		for {
			e, err := events.next()
			if err != nil {
				if want := errors.Is(err, io.ErrUnexpectedEOF); want != test.cut {
					t.Errorf("%s: %v", test.name, err)
				}
				break
			}
			got = append(got, seen{e.name, e.id, string(e.data), e.retry})
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.name, diff)
		}
	}
}

// What is handed on has no id, or the MCP SDK would take the stream up itself.
func TestEventAppend(t *testing.T) {
	t.Parallel()
	e := event{name: "message", id: "1", retry: time.Second, data: []byte("{\n}")}
	if got := string(e.appendTo(nil)); got != "data: {\ndata: }\n\n" {
		t.Errorf("%q", got)
	}
}
