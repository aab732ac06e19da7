package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// probeTimeout is how long a server may take to say that it knows a session, once
// there is reason to ask.
const probeTimeout = 5 * time.Second

// probeID is the id of the ping that asks. The MCP SDK's own ids are numbers.
var probeID, _ = jsonrpc.MakeID("mcpsession-probe")

// knows asks the server, once and in bounded time, whether it still knows the
// session of a request, and loses the session if it doesn't say so. The question
// goes its own way: the caller may leave before the answer, which counts all the
// same. Why is what gave reason to ask.
func (r *remote) knows(ctx context.Context, of *http.Request, why string) bool {
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		if found := r.ping(of); found != "" {
			r.lose(errors.New(why + "; asked for the session, " + found))
		}
	}()
	select {
	case <-answered:
	case <-ctx.Done():
	}
	return !r.isLost() // also by what another request has found
}

// isLost reports whether the session is known to be lost.
func (r *remote) isLost() bool {
	select {
	case <-r.ending:
		return !r.asked
	default:
		return false
	}
}

// ping returns what is wrong with the session; nothing when the server answers in
// any way that does not say that the session is unknown to it.
func (r *remote) ping(of *http.Request) string {
	ctx, cancel := context.WithTimeout(r.ctx, probeTimeout)
	defer cancel()
	data, err := jsonrpc.EncodeMessage(&jsonrpc.Request{ID: probeID, Method: "ping"})
	if err != nil {
		return ""
	}
	request, err := r.newPost(ctx, of, data)
	if err != nil {
		return ""
	}
	response, _, err := r.send(ctx, context.Background(), request)
	switch {
	case r.ctx.Err() != nil:
		return ""
	case ctx.Err() != nil:
		return fmt.Sprintf("it did not answer within %v", probeTimeout)
	case err != nil && errors.As(err, new(*uncreditedError)):
		return "" // it can't be asked
	case err != nil:
		return "it can't be reached: " + r.told(err.Error())
	}
	defer func() { _ = response.Body.Close() }()
	re := reply{status: response.StatusCode, otherSession: r.otherSession(request, response)}
	if r.options.legacy && response.StatusCode < 300 {
		return "" // the answer comes by the stream, where nobody waits for it
	}
	body, readErr := readPong(response)
	a, isAnswer := parseAnswer(body)
	re.rpc, re.answers, re.text = a.rpc, isAnswer && a.id == probeID, textOf(response, body)
	switch v := re.judge(inSession); {
	case r.ctx.Err() != nil:
		return ""
	case v.action == lose:
		return "it " + re.told(r)
	case v.action == probe:
		return "it said so again"
	case readErr != nil && ctx.Err() != nil:
		return fmt.Sprintf("it did not answer within %v", probeTimeout)
	case readErr != nil && response.StatusCode < 300:
		return "its answer broke off: " + r.told(readErr.Error())
	}
	return ""
}

// readPong reads what a server answered to the ping.
func readPong(response *http.Response) ([]byte, error) {
	if mediaType(response) != "text/event-stream" || response.StatusCode >= 300 {
		return io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	}
	events := newEventReader(response.Body)
	for {
		e, err := events.next()
		if err != nil {
			return nil, err
		}
		if a, ok := parseAnswer(e.data); ok && a.id == probeID {
			return e.data, nil
		}
	}
}

// told returns what a reply was, for people.
func (re reply) told(r *remote) string {
	text := fmt.Sprintf("answered HTTP %d %s", re.status, http.StatusText(re.status))
	if re.otherSession {
		text += " in the name of another session"
	}
	said := re.text
	if re.rpc != nil {
		said = fmt.Sprintf("JSON-RPC error %d: %s", re.rpc.Code, re.rpc.Message)
	}
	if said = r.told(strings.TrimSpace(said)); said != "" && re.rpc != nil || said != "" && re.status >= 300 {
		text += fmt.Sprintf(" (%q)", said)
	}
	return text
}
