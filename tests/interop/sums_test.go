package interop

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.temporal.io/sdk/workflow"
)

// sums is what there is to say to npm's everything: a sum is made of the last
// answer, and becomes a file. Whether the server logs is the session's.
func sums(s *speaker) conversation { return &sum{speaker: s, last: 1} }

type sum struct {
	*speaker
	last int // the id of the resource that was asked for last
}

func (s *sum) round(ctx workflow.Context, n int) error {
	want := s.last + n
	text, err := s.text(ctx, "get-sum", map[string]any{"a": s.last, "b": n})
	if err != nil {
		return err
	}
	if err := same(fmt.Sprintf("The sum of %d and %d is %d.", s.last, n, want), text); err != nil {
		return err
	}
	echo, err := s.text(ctx, "echo", map[string]any{"message": text})
	if err != nil {
		return err
	}
	if err := same("Echo: "+text, echo); err != nil {
		return err
	}
	if err := s.zip(ctx, fmt.Sprintf("%s-%d.gz", s.name, n), echo); err != nil {
		return err
	}
	s.last = len(echo) + want%10
	if err := s.refer(ctx, s.last); err != nil {
		return err
	}
	verb, err := s.toggle(ctx)
	if err != nil {
		return err
	}
	return same([]string{"Started", "Stopped"}[n%2], verb)
}

// zip makes a file, which the server sends back. It keeps it under its name as a
// resource, of which all sessions of a process share the names.
func (s *sum) zip(ctx workflow.Context, name, content string) error {
	result, err := s.call(ctx, "gzip-file-as-resource", map[string]any{
		"name": name, "data": "data:text/plain," + url.PathEscape(content), "outputType": "resource",
	})
	if err != nil {
		return err
	}
	file, ok := result.Content[0].(*mcp.EmbeddedResource)
	if !ok {
		return fmt.Errorf("the file has come as %T", result.Content[0])
	}
	if err := same("demo://resource/session/"+name, file.Resource.URI); err != nil {
		return err
	}
	zipped, err := gzip.NewReader(bytes.NewReader(file.Resource.Blob))
	if err != nil {
		return err
	}
	got, err := io.ReadAll(zipped)
	if err != nil {
		return err
	}
	return same(content, string(got))
}

func (s *sum) refer(ctx workflow.Context, id int) error {
	result, err := s.call(ctx, "get-resource-reference", map[string]any{"resourceType": "Text", "resourceId": id})
	if err != nil {
		return err
	}
	return same([]string{
		fmt.Sprintf("Returning resource reference for Resource %d:", id),
		fmt.Sprintf("You can access this resource using the URI: demo://resource/dynamic/text/%d", id),
	}, texts(result))
}

// toggle turns the session's log messages on or off, and returns what it did.
func (s *sum) toggle(ctx workflow.Context) (string, error) {
	text, err := s.text(ctx, "toggle-simulated-logging", nil)
	verb, _, _ := strings.Cut(text, " ") // the rest of it may hold the session id
	return verb, err
}

// remembers tells what the next toggle does, and takes that back.
func (s *sum) remembers(ctx workflow.Context) (string, error) {
	verb, err := s.toggle(ctx)
	if err != nil {
		return "", err
	}
	_, err = s.toggle(ctx)
	return verb, err
}
