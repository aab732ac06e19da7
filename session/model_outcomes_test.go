package session

import (
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/mcpsession/mcpsession/failure"
)

// A world is what one exploration shares: its rules, and the tables of what states
// name by a number.
type world struct {
	config
	rules    rules
	outcomes []settledAs
	byName   map[string]outcomeID
	endings  []*ending
	tells    [256]failure.ToolRan // what each outcome says of a call's tool
	told     map[telltale]outcomeID
}

// An outcomeID is how an activity ended.
type outcomeID uint8

const (
	pending   outcomeID = iota // not yet
	completed                  // with the result that goes with it
	canceledOutcome
	startToClose
	noHost
	heartbeatTimeout // and what the last heartbeat's details were, by markerID
	fixedOutcomes    = heartbeatTimeout + outcomeID(garbled) + 1
)

// What a call has been told, besides an outcome.
const (
	notMade outcomeID = 0
	waiting outcomeID = 255
)

// A settledAs is an outcome as history has it.
type settledAs struct {
	name    string
	err     error // what the worker returned
	timeout enumspb.TimeoutType
	marker  markerID
}

// An endingID is why a session ended.
type endingID uint8

const noEnding endingID = 0

func newWorld(c config) *world {
	w := &world{config: c, byName: make(map[string]outcomeID), told: make(map[telltale]outcomeID), endings: []*ending{nil}}
	w.outcomes = make([]settledAs, fixedOutcomes)
	w.outcomes[pending].name = "pending"
	w.outcomes[completed].name = "completed"
	w.outcomes[canceledOutcome] = settledAs{name: "canceled", err: temporal.NewCanceledError()}
	w.outcomes[startToClose] = settledAs{name: "start-to-close timeout", timeout: enumspb.TIMEOUT_TYPE_START_TO_CLOSE}
	w.outcomes[noHost] = settledAs{name: "schedule-to-start timeout", timeout: enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START}
	for m := noMarker; m <= garbled; m++ {
		w.outcomes[heartbeatTimeout+outcomeID(m)] = settledAs{
			name: fmt.Sprintf("heartbeat timeout with marker %q", markers[m]), timeout: enumspb.TIMEOUT_TYPE_HEARTBEAT, marker: m,
		}
	}
	w.tells[completed] = failure.RanYes
	w.rules = w.codeRules()
	return w
}

// failed returns the number of what a worker reports by returning err.
func (w *world) failed(err error) outcomeID {
	switch {
	case err == nil:
		return completed
	case temporal.IsCanceledError(err):
		return canceledOutcome
	}
	var application *temporal.ApplicationError
	if !errors.As(err, &application) {
		panic(fmt.Sprintf("the model knows no outcome for %v", err))
	}
	name := application.Type()
	for _, read := range []func(error) (failure.Details, bool){failure.DedicatedWorker, failure.Open, failure.Call, failure.SessionClosed} {
		if d, ok := read(err); ok {
			name += fmt.Sprintf(", tool ran: %s", failure.RanOf(err))
			if d.Reason == failure.ReasonWorkerStopped && failure.IsOpen(err) {
				name += ", passed on" // the one reason that toolset goes by
			}
			break
		}
	}
	if !application.NonRetryable() {
		name += ", retryable"
	}
	id, ok := w.byName[name]
	if !ok {
		id = outcomeID(len(w.outcomes))
		w.outcomes = append(w.outcomes, settledAs{name: name, err: err})
		w.byName[name] = id
		w.tells[id] = failure.RanOf(err)
	}
	return id
}

func (w *world) err(id outcomeID) error { return w.outcomes[id].err }

// retryable reports whether the server retries an attempt that ended so.
func (w *world) retryable(id outcomeID) bool {
	o := w.outcomes[id]
	if o.timeout != enumspb.TIMEOUT_TYPE_UNSPECIFIED {
		return w.retryTimeouts && o.timeout != enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START
	}
	var application *temporal.ApplicationError
	return errors.As(o.err, &application) && !application.NonRetryable()
}

// endingOf returns the number of an ending. Losses differ in what they tell people
// only.
func (w *world) endingOf(e *ending) endingID {
	for id, known := range w.endings {
		if known != nil && known.kind == e.kind {
			return endingID(id)
		}
	}
	w.endings = append(w.endings, e)
	return endingID(len(w.endings) - 1)
}

// The endings that the code has no function for: it makes them where they happen.
func (w *world) closedByBlock() endingID { return w.endingOf(&ending{kind: endClosed}) }
func (w *world) lost(reason failure.Reason) endingID {
	return w.endingOf(lost(reason, "in the model"))
}
