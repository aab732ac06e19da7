package tests

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/proto"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// A server that needs a token, and repeats all that it knows in every error that it
// has: neither the token, nor the URL's key, nor the session's id comes to be part
// of history, heartbeats, failures or logs (C11). The token is asked for at each
// connection.
func TestHTTPSecrets(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	logs := new(logged)
	options, err := server.ClientOptions()
	if err != nil {
		t.Fatal(err)
	}
	options.Logger = logs
	if b.client, err = client.DialContext(b.ctx, options); err != nil {
		t.Fatal(err)
	}
	b.Cleanup(b.client.Close)

	s := b.site(fixture.NewHTTP(nil))
	const key, token = "key-that-nobody-may-see", "token-that-nobody-may-see"
	echo := func(r *http.Request) string {
		return fmt.Sprintf("session %s; Authorization: %s; at %s", r.Header.Get("Mcp-Session-Id"), r.Header.Get("Authorization"), r.URL)
	}
	guarded := func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer "+token) || r.URL.Query().Get("key") != key {
			http.Error(w, "who are you? "+echo(r), http.StatusUnauthorized)
			return true
		}
		return false
	}
	s.put(guarded)
	var mu sync.Mutex
	asked := 0
	connector := transport.HTTP(s.URL+"/?key="+key, transport.WithHeaders(func(context.Context) (http.Header, error) {
		mu.Lock()
		defer mu.Unlock()
		asked++
		return http.Header{"Authorization": {fmt.Sprintf("Bearer %s-%d", token, asked)}}, nil
	}))
	b.host(worker.Options{}, session.Options{Servers: []session.Server{b.counted(connector)}})
	d := b.drive(b.options(longHeartbeat))

	block := d.open()
	block.must(fixture.Incr)
	texts := []string{b.heartbeatsOf(d.run)}
	fail := func(reason failure.Reason, fault httpFault) {
		s.put(both(guarded, fault))
		_, err := block.call(fixture.Incr, nil)
		if err == nil {
			t.Fatal("the call succeeded")
		}
		texts = append(texts, err.Error())
		if dd, ok := failure.Call(err); ok && dd.Reason != reason || !ok && !failure.IsMCPProtocol(err) && !failure.IsDedicatedWorker(err) {
			t.Errorf("the error is %v, want reason %s", err, reason)
		}
	}
	for status, reason := range map[int]failure.Reason{401: failure.ReasonUnauthorized, 503: failure.ReasonUnavailable, 500: failure.ReasonServerError, 422: failure.ReasonRejected} {
		fail(reason, func(w http.ResponseWriter, r *http.Request, method string) bool {
			return answering("tools/call", status, "text/plain", echo(r))(w, r, method)
		})
	}
	fail("", func(w http.ResponseWriter, r *http.Request, method string) bool {
		return answering("tools/call", 200, "application/json", rpcError(messageID(r), -32000, echo(r)))(w, r, method)
	})
	fail(failure.ReasonRedirect, func(w http.ResponseWriter, r *http.Request, method string) bool {
		if method == "tools/call" {
			http.Redirect(w, r, "https://elsewhere.example/?"+r.Header.Get("Authorization"), http.StatusFound)
		}
		return method == "tools/call"
	})
	fail(failure.ReasonNoAnswer, severed("tools/call"))
	s.put(guarded)
	block.wantCounter(1)
	fail(failure.ReasonServerGone, func(w http.ResponseWriter, r *http.Request, method string) bool {
		return answering("tools/call", 404, "text/plain", "session not found: "+echo(r))(w, r, method)
	})
	b.awaitSessionEnd(d.run)
	s.put(guarded)
	again := d.open()
	if err := again.close(); err != nil {
		t.Error(err)
	}
	s.put(func(w http.ResponseWriter, r *http.Request, method string) bool {
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, echo(r))
		return true
	})
	_, err = d.tryOpen()
	if dd, ok := failure.Open(err); !ok || dd.Reason != failure.ReasonForbidden {
		t.Errorf("open: %v", err)
	}
	d.end(returns)
	if err := d.run.Get(b.ctx, nil); err != nil {
		t.Error(err)
	}
	if asked != 3 {
		t.Errorf("the headers were asked for %d times", asked)
	}

	secrets := []string{key, token}
	for _, header := range s.headers {
		secrets = append(secrets, header.Get("Mcp-Session-Id"))
	}
	isSilentOn(t, "an error", strings.Join(texts, "\n"), secrets...)
	isSilentOn(t, "the history", b.historyText(d.run), secrets...)
	isSilentOn(t, "the log", logs.String(), secrets...)
	mentions(t, strings.Join(texts, "\n"), "[redacted]")
}

// heartbeatsOf returns what the server shows of a run's open activities.
func (b *bundle) heartbeatsOf(run client.WorkflowRun) string {
	b.Helper()
	response, err := b.client.WorkflowService().DescribeWorkflowExecution(b.ctx, &workflowservice.DescribeWorkflowExecutionRequest{
		Namespace: "default", Execution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
	})
	if err != nil {
		b.Fatal(err)
	}
	var text strings.Builder
	for _, pending := range response.GetPendingActivities() {
		for _, payload := range pending.GetHeartbeatDetails().GetPayloads() {
			text.Write(payload.GetData())
		}
	}
	if text.Len() == 0 {
		b.Error("no heartbeat is shown")
	}
	return text.String()
}

// historyText returns a run's history, in which payloads are as they are.
func (b *bundle) historyText(run client.WorkflowRun) string {
	b.Helper()
	var history historypb.History
	events := b.client.GetWorkflowHistory(b.ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			b.Fatal(err)
		}
		history.Events = append(history.Events, event)
	}
	// In JSON the payloads would be base64, in which nothing is found.
	raw, err := proto.Marshal(&history)
	if err != nil {
		b.Fatal(err)
	}
	text := string(raw)
	mentions(b, text, `"runID":`) // of the input of every activity
	return text
}

// logged is a logger that keeps all.
type logged struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logged) log(message string, keyvals ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(&l.text, append([]any{message}, keyvals...)...)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logged) Debug(message string, keyvals ...any) { l.log(message, keyvals...) }
func (l *logged) Info(message string, keyvals ...any)  { l.log(message, keyvals...) }
func (l *logged) Warn(message string, keyvals ...any)  { l.log(message, keyvals...) }
func (l *logged) Error(message string, keyvals ...any) { l.log(message, keyvals...) }

// A connection by the MCP SDK's own transport is scrubbed too, as far as texts tell
// what is a secret.
func TestHTTPSecretsOfTheSDK(t *testing.T) {
	t.Parallel()
	b := setupFaults(t)
	s := b.site(fixture.NewHTTP(nil))
	b.host(worker.Options{}, session.Options{Servers: []session.Server{b.counted(overSDK(s.URL + "/?key=key-that-nobody-may-see"))}})
	d := b.drive(b.options(longHeartbeat))
	block := d.open()
	block.must(fixture.Incr)
	s.put(answering("tools/call", 404, "text/plain", "session not found"))
	_, err := block.call(fixture.Incr, nil)
	b.wantLoss(err, failure.ReasonServerGone, "")
	b.awaitSessionEnd(d.run)
	secrets := []string{"key-that-nobody-may-see"}
	for _, header := range s.headers {
		secrets = append(secrets, header.Get("Mcp-Session-Id"))
	}
	isSilentOn(t, "the error", err.Error(), secrets...)
	isSilentOn(t, "the history", b.historyText(d.run), secrets...)
}
