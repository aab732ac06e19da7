// Package opensessions finds the open MCP sessions of a namespace, from what Temporal
// itself knows: visibility lists the running workflows, and describe shows of each the
// session activities that are pending, with what their last heartbeat said.
package opensessions

import (
	"context"
	"errors"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"golang.org/x/sync/errgroup"

	"github.com/mcpsession/mcpsession/heartbeat"
	"github.com/mcpsession/mcpsession/queue"
)

// Defaults and bounds of [Options].
const (
	// DefaultLimit is how many running workflows are looked at.
	DefaultLimit = 1000
	// concurrency is how many of them are described at once.
	concurrency = 16
	pageSize    = 200
)

// A State says what a session is at.
type State string

const (
	// Waiting: no worker has taken the session yet, or it waits for another attempt.
	Waiting State = "waiting"
	// Opening: a worker is connecting.
	Opening State = "opening"
	// Open: the session is open.
	Open State = "open"
	// Closing: its activity is asked to end.
	Closing State = "closing"
	// Unknown: its heartbeats can't be read here.
	Unknown State = "unknown"
)

// A Session is one session activity that is pending.
type Session struct {
	Server     string `json:"server"`
	WorkflowID string `json:"workflowID"`
	RunID      string `json:"runID"`
	// Key is the block's key; empty when the heartbeats don't tell it.
	Key string `json:"key,omitempty"`
	// Host is the identity of the worker that holds the session, or tried to last.
	Host  string `json:"host,omitempty"`
	State State  `json:"state"`
	// Paused says that an operator has paused the session activity. The session
	// itself goes on.
	Paused bool `json:"paused,omitempty"`
	// Since is when the session opened; before that, when its attempt began or was
	// scheduled.
	Since time.Time `json:"since"`
	// Calls and Running are how many tool calls it has begun, and how many of them are
	// under way, as of HeardAt; nil when the heartbeats don't tell.
	Calls   *int64 `json:"calls,omitempty"`
	Running *int64 `json:"running,omitempty"`
	// HeardAt is when its last heartbeat came; nil before the first.
	HeardAt *time.Time `json:"heardAt,omitempty"`
	Attempt int32      `json:"attempt"`
}

// Options say where to look.
type Options struct {
	// Client is connected to the namespace; required.
	Client client.Client
	// Namespace is its name; required.
	Namespace string
	// Converter decodes heartbeats; the SDK's default when nil.
	Converter converter.DataConverter
	// Query narrows the workflows, in the language of visibility. It must not order.
	Query string
	// Limit is how many running workflows are looked at; DefaultLimit when zero.
	Limit int
}

// A Found is what was found.
type Found struct {
	Sessions []Session `json:"sessions"`
	// Workflows is how many running workflows were looked at, and More says that
	// there are others beyond the limit.
	Workflows int  `json:"workflows"`
	More      bool `json:"more,omitempty"`
}

// Find looks for sessions. Its errors are Temporal's own. A workflow that ends while it
// looks is passed over.
func Find(ctx context.Context, options Options) (*Found, error) {
	if options.Converter == nil {
		options.Converter = converter.GetDefaultDataConverter()
	}
	if options.Limit == 0 {
		options.Limit = DefaultLimit
	}
	running, more, err := list(ctx, options)
	if err != nil {
		return nil, err
	}
	perWorkflow := make([][]Session, len(running))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrency)
	for i, w := range running {
		group.Go(func() (err error) {
			perWorkflow[i], err = sessionsOf(ctx, options, w)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	found := &Found{Sessions: []Session{}, Workflows: len(running), More: more}
	for _, sessions := range perWorkflow {
		found.Sessions = append(found.Sessions, sessions...)
	}
	return found, nil
}

func list(ctx context.Context, options Options) (running []*workflowpb.WorkflowExecutionInfo, more bool, err error) {
	query := `ExecutionStatus = "Running"`
	if options.Query != "" {
		query += " AND (" + options.Query + ")"
	}
	var token []byte
	for {
		page, err := options.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: options.Namespace, Query: query, PageSize: int32(min(pageSize, options.Limit)), NextPageToken: token,
		})
		if err != nil {
			return nil, false, err
		}
		running = append(running, page.GetExecutions()...)
		token = page.GetNextPageToken()
		switch {
		case len(running) > options.Limit:
			return running[:options.Limit], true, nil
		case len(token) == 0:
			return running, false, nil
		case len(running) == options.Limit:
			return running, true, nil
		}
	}
}

func sessionsOf(ctx context.Context, options Options, w *workflowpb.WorkflowExecutionInfo) ([]Session, error) {
	execution := w.GetExecution()
	described, err := options.Client.DescribeWorkflow(ctx, execution.GetWorkflowId(), execution.GetRunId())
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var sessions []Session
	for _, pending := range described.RawResponse.GetPendingActivities() {
		if server, ok := serverOf(pending.GetActivityType().GetName()); ok {
			s := sessionOf(pending, options.Converter)
			s.Server, s.WorkflowID, s.RunID = server, execution.GetWorkflowId(), execution.GetRunId()
			sessions = append(sessions, s)
		}
	}
	return sessions, nil
}

// serverOf is the inverse of queue.SessionActivity.
func serverOf(activityType string) (server string, ok bool) {
	parts := strings.Split(activityType, ".")
	if len(parts) != 3 || queue.ValidateServer(parts[1]) != nil || queue.SessionActivity(parts[1]) != activityType {
		return "", false
	}
	return parts[1], true
}

func sessionOf(pending *workflowpb.PendingActivityInfo, codec converter.DataConverter) Session {
	s := Session{
		Host: pending.GetLastWorkerIdentity(), Paused: pending.GetPaused(), Attempt: pending.GetAttempt(),
		Since: pending.GetScheduledTime().AsTime(), State: Waiting,
	}
	started := pending.GetState() != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED && pending.GetState() != enumspb.PENDING_ACTIVITY_STATE_PAUSED
	if started {
		s.Since, s.State = pending.GetLastStartedTime().AsTime(), Opening
	}
	if heard := pending.GetLastHeartbeatTime(); heard != nil {
		at := heard.AsTime()
		s.HeardAt = &at
	}
	beat, err := heartbeat.ReadBeat(codec, pending.GetHeartbeatDetails())
	switch {
	case err != nil:
		s.State = Unknown
	case !started || beat.Author.Attempt != pending.GetAttempt():
		// What an earlier attempt has left.
	default:
		s.learn(beat)
	}
	if pending.GetState() == enumspb.PENDING_ACTIVITY_STATE_CANCEL_REQUESTED {
		s.State = Closing
	}
	return s
}

// learn takes over what the heartbeat of a running attempt says.
func (s *Session) learn(beat heartbeat.Beat) {
	s.Host, s.Since = beat.Author.Host, beat.Author.At
	if beat.Marker == heartbeat.Opened {
		s.State = Open
	}
	if tally := beat.Tally; tally != nil {
		s.Key, s.Calls, s.Running = tally.Key, &tally.Calls, &tally.Running
		if !tally.OpenedAt.IsZero() {
			s.Since = tally.OpenedAt
		}
	}
}
