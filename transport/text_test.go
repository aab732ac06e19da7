package transport

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestLineReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 10_000)
	type line struct {
		Text string
		Cut  bool
	}
	for _, test := range []struct {
		text  string
		limit int
		want  []line
	}{
		{"", 10, nil},
		{"one\ntwo\r\n\nlast", 10, []line{{"one", false}, {"two", false}, {"", false}, {"last", false}}},
		{"12345\n123456\n1\n", 5, []line{{"12345", false}, {"12345", true}, {"1", false}}},
		{long + "\n" + long, 10_000, []line{{long, false}, {long, false}}},
		{long + "x\nnext\n", 10_000, []line{{long, true}, {"next", false}}},
		{strings.Repeat("x", 4095) + "\r\nnext", 5000, []line{{strings.Repeat("x", 4095), false}, {"next", false}}},
	} {
		lines := newLineReader(strings.NewReader(test.text), test.limit)
		var got []line
		for {
			text, cut, err := lines.next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Errorf("%.20q: %v", test.text, err)
				}
				break
			}
			got = append(got, line{string(text), cut})
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%.20q (-want +got):\n%s", test.text, diff)
		}
	}
}

// A line that is too long is returned as soon as that is known, also if it never
// ends.
func TestLineWithoutEnd(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	defer func() { _ = out.Close() }()
	told := make(chan struct{})
	go func() {
		_, _ = io.WriteString(out, strings.Repeat("x", 5000))
		select {
		case <-told:
			_, _ = io.WriteString(out, "and the rest\nnext\n")
		case <-time.After(10 * time.Second):
			_ = out.CloseWithError(errors.New("the line was not returned before its end"))
		}
	}()
	lines := newLineReader(in, 10)
	if text, cut, err := lines.next(); string(text) != strings.Repeat("x", 10) || !cut || err != nil {
		t.Errorf("the line is %q, cut %v, %v", text, cut, err)
	}
	close(told)
	if text, cut, err := lines.next(); string(text) != "next" || cut || err != nil {
		t.Errorf("the line after it is %q, cut %v, %v", text, cut, err)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		limit int
		lines []string
		want  string
	}{
		{10, nil, ""},
		{10, []string{"one", "two"}, "one\ntwo"},
		{7, []string{"one", "two"}, "one\ntwo"},
		{6, []string{"one", "two"}, "two"},
		{3, []string{"one", "two"}, "two"},
		{2, []string{"one", "two"}, "wo"},
		{4, []string{"", "äöü"}, "öü"},
		{3, []string{"äöü"}, "ü"},
		{5, slices.Repeat([]string{"one"}, 1000), "one"},
		{7, slices.Repeat([]string{"one"}, 1000), "one\none"},
	} {
		tail := &tail{limit: test.limit}
		for _, line := range test.lines {
			tail.add(line)
		}
		if got := tail.String(); got != test.want {
			t.Errorf("the last %d bytes of %q are %q, not %q", test.limit, test.lines, got, test.want)
		}
	}
}

func TestRedactor(t *testing.T) {
	t.Parallel()
	const limit = 20
	for _, test := range []struct {
		name    string
		secrets []string
		line    string
		want    string
	}{
		{"nothing to hide", nil, "a line", "a line"},
		{"one", []string{"secret"}, "a secret.", "a [redacted]."},
		{"too short to be one", []string{"short", "", "  x  "}, "short x", "short x"},
		{"the longer of two", []string{"secret", "secret-too"}, "secret-too", "[redacted]"},
		{"each line of one", []string{"first-line\nx\nthird-line\n"}, "third-line", "[redacted]"},
		{"cut", nil, strings.Repeat("x", 25), strings.Repeat("x", 20) + "…"},
		{"across the cut", []string{"a-long-secret"}, strings.Repeat("x", 15) + "a-long-secret", strings.Repeat("x", 15) + "[reda…"},
		{"cut in a character", nil, strings.Repeat("x", 19) + "ä", strings.Repeat("x", 19) + "\uFFFD…"},
		{"no text", nil, "\xff\xfe", "\uFFFD"},
	} {
		r := newRedactor(test.secrets)
		line := test.line[:min(len(test.line), limit+r.longest)]
		if got := r.line([]byte(line), limit, len(line) < len(test.line)); got != test.want {
			t.Errorf("%s: %q became %q, not %q", test.name, test.line, got, test.want)
		}
	}
}
