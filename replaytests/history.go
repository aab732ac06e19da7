package replaytests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
)

// A History is what a file of a folder of histories holds.
type History struct {
	// Shows is a line that says what the history is an example of.
	Shows string
	// WorkflowID and RunID name the run. A replay needs them where the workflow goes
	// by them; without a RunID it takes the one of the first event, which is another
	// in a run that was reset.
	WorkflowID, RunID string
	// Events are the run's, from the first one on.
	Events []*historypb.HistoryEvent
}

// Record writes the history of a run to a file, for [Replay]. The run may still be
// open; then see [History.Cut]. An empty runID means the last run of the workflow.
func Record(ctx context.Context, c client.Client, workflowID, runID, file string) error {
	h, err := Fetch(ctx, c, workflowID, runID)
	if err != nil {
		return err
	}
	return h.Write(file)
}

// Fetch reads the history of a run from the server, and cuts it.
func Fetch(ctx context.Context, c client.Client, workflowID, runID string) (*History, error) {
	if runID == "" {
		described, err := c.DescribeWorkflow(ctx, workflowID, "")
		if err != nil {
			return nil, fmt.Errorf("replaytests: find the run of workflow %q: %w", workflowID, err)
		}
		runID = described.WorkflowExecution.RunID
	}
	h := &History{WorkflowID: workflowID, RunID: runID}
	for events := c.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		event, err := events.Next()
		if err != nil {
			return nil, fmt.Errorf("replaytests: read the history of workflow %q, run %s: %w", workflowID, runID, err)
		}
		h.Events = append(h.Events, event)
	}
	if err := h.Cut(); err != nil {
		return nil, fmt.Errorf("replaytests: workflow %q, run %s: %w", workflowID, runID, err)
	}
	return h, nil
}

// A file is what is written: the SDK's own replayer and the temporal command read
// it too, as they go by "events" and ignore the rest. Commands is for people, whose
// tools show how a new recording differs.
type file struct {
	Shows     string          `json:"shows,omitempty"`
	Execution execution       `json:"execution"`
	Commands  []string        `json:"commands,omitempty"`
	Events    json.RawMessage `json:"events"`
}

type execution struct {
	WorkflowID string `json:"workflowId,omitempty"`
	RunID      string `json:"runId,omitempty"`
}

// Write writes the history to a file as JSON, the same bytes each time, and makes the
// folder that it is in.
func (h *History) Write(name string) error {
	raw, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(&historypb.History{Events: h.Events})
	if err != nil {
		return fmt.Errorf("replaytests: encode the history for %s: %w", name, err)
	}
	// The encoder of protocol buffers puts in blanks at random, and keys in the order
	// of their declaration.
	var decoded struct {
		Events []map[string]any `json:"events"`
	}
	if err := json.Unmarshal(raw, &decoded); err != nil {
		return fmt.Errorf("replaytests: encode the history for %s: %w", name, err)
	}
	events, err := json.Marshal(decoded.Events)
	if err != nil {
		return fmt.Errorf("replaytests: encode the history for %s: %w", name, err)
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(file{h.Shows, execution{h.WorkflowID, h.RunID}, h.Commands(nil), events}); err != nil {
		return fmt.Errorf("replaytests: encode the history for %s: %w", name, err)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("replaytests: %w", err)
	}
	if err := os.WriteFile(name, out.Bytes(), 0o644); err != nil {
		return fmt.Errorf("replaytests: %w", err)
	}
	return nil
}

// Read reads a history from a file that [Record], the temporal command or its web
// page has written, with payloads in full: "temporal workflow show --output json
// --no-json-shorthand-payloads".
func Read(name string) (*History, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("replaytests: %w", err)
	}
	var f file
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, fmt.Errorf("replaytests: %s is not the JSON of a history: %w", name, err)
	}
	var history historypb.History
	// What a later server has added is nothing that the SDK replays.
	if err := (temporalproto.CustomJSONUnmarshalOptions{DiscardUnknown: true}).Unmarshal(raw, &history); err != nil {
		return nil, fmt.Errorf("replaytests: %s is not the JSON of a history: %w", name, err)
	}
	if len(history.Events) == 0 {
		return nil, fmt.Errorf("replaytests: %s has no events", name)
	}
	return &History{f.Shows, f.Execution.WorkflowID, f.Execution.RunID, history.Events}, nil
}

// Cut drops what comes after the last workflow task that was completed, with its
// commands. A history that ends anywhere else is a replay of less than it looks: the
// SDK does not compare the commands before a task that has only begun.
//
// It returns an error for a history that would show nothing: without a first event, or
// before any workflow task was completed.
func (h *History) Cut() error {
	if len(h.Events) == 0 || h.Events[0].GetEventType() != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED {
		return errors.New("the history does not begin with WorkflowExecutionStarted; record it from its first event on")
	}
	for end := len(h.Events); end > 0; end-- {
		if h.Events[end-1].GetEventType() != enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			continue
		}
		for end < len(h.Events) && isCommand(h.Events[end].GetEventType()) {
			end++
		}
		h.Events = h.Events[:end:end]
		return nil
	}
	return errors.New("no workflow task was completed yet, so the history shows nothing; record it later")
}

// isCommand reports whether events of a type are what a workflow's code has asked
// for. The server writes those of a workflow task right behind its completion.
func isCommand(eventType enumspb.EventType) bool {
	switch eventType {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
		enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED,
		enumspb.EVENT_TYPE_TIMER_STARTED,
		enumspb.EVENT_TYPE_TIMER_CANCELED,
		enumspb.EVENT_TYPE_MARKER_RECORDED,
		enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED,
		enumspb.EVENT_TYPE_REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
		enumspb.EVENT_TYPE_SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED,
		enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
		enumspb.EVENT_TYPE_WORKFLOW_PROPERTIES_MODIFIED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED,
		enumspb.EVENT_TYPE_NEXUS_OPERATION_SCHEDULED,
		enumspb.EVENT_TYPE_NEXUS_OPERATION_CANCEL_REQUESTED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_FAILED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCELED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		return true
	}
	return false
}
