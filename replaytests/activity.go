package replaytests

import (
	"encoding/json"
	"strings"

	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/proto"
)

// now returns a text of before a reset with the run's id of after it.
func (c comparison) now(text string) string {
	for _, id := range c.earlier {
		text = strings.ReplaceAll(text, id, c.run)
	}
	return text
}

func (c comparison) differInActivity(a, w *historypb.ActivityTaskScheduledEventAttributes) string {
	name := a.GetActivityType().GetName()
	ours := strings.HasPrefix(name, "mcp.")
	recorded, wanted := c.now(a.GetTaskQueue().GetName()), w.GetTaskQueue().GetName()
	input, wantedInput := c.now(inputOf(c.dataConverter, a.GetInput())), inputOf(c.dataConverter, w.GetInput())
	switch {
	case name != w.GetActivityType().GetName():
		return "activity type"
	case w.GetActivityId() != "" && a.GetActivityId() != w.GetActivityId():
		return "activity id"
	case recorded != wanted && (c.allowTaskQueue == nil || !c.allowTaskQueue(name, recorded, wanted)):
		return "task queue"
	case ours && identitiesOf(input) != identitiesOf(wantedInput):
		return "block, instance or tool in the input"
	case !c.exact:
		return ""
	case input != wantedInput:
		return "input"
	case !proto.Equal(a.GetScheduleToCloseTimeout(), w.GetScheduleToCloseTimeout()):
		return "schedule-to-close timeout"
	case !proto.Equal(a.GetScheduleToStartTimeout(), w.GetScheduleToStartTimeout()):
		return "schedule-to-start timeout"
	case !proto.Equal(a.GetStartToCloseTimeout(), w.GetStartToCloseTimeout()):
		return "start-to-close timeout"
	case !proto.Equal(a.GetHeartbeatTimeout(), w.GetHeartbeatTimeout()):
		return "heartbeat timeout"
	case policyOf(a.GetRetryPolicy()) != policyOf(w.GetRetryPolicy()):
		return "retry policy"
	}
	return ""
}

// identities are what an open run and the session that serves it must agree on,
// whatever fields a later release has added: which block and session, and what is
// asked for.
type identities struct {
	RunID     string          `json:"runID"`
	Key       string          `json:"key"`
	Instance  string          `json:"instance"`
	Tool      string          `json:"tool"`
	Name      string          `json:"name"`
	URI       string          `json:"uri"`
	Argument  json.RawMessage `json:"argument"`
	Arguments json.RawMessage `json:"arguments"`
	Params    json.RawMessage `json:"params"`
	// Operation is that of a stateless call.
	Operation json.RawMessage `json:"operation"`
}

func identitiesOf(input string) string {
	var i identities
	if json.Unmarshal([]byte(input), &i) != nil {
		return input
	}
	if nested := i.Operation; nested != nil {
		i.Operation = json.RawMessage(identitiesOf(string(nested)))
	}
	encoded, err := json.Marshal(i)
	if err != nil {
		return input
	}
	return string(encoded)
}
