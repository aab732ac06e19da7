package replaytests

import (
	"encoding/json"
	"fmt"
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
	}
	if ours {
		if field := differInIdentity(input, wantedInput); field != "" {
			return field
		}
	}
	switch {
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
var identities = []string{
	"runID", "key", "instance", "tool", "script", "name", "uri", "argument", "arguments", "input", "params",
}

// differInIdentity returns in which identity two inputs of the library's own activities
// differ, with both; empty if in none.
func differInIdentity(recorded, wanted string) string {
	var r, w map[string]json.RawMessage
	if json.Unmarshal([]byte(recorded), &r) != nil || json.Unmarshal([]byte(wanted), &w) != nil {
		if recorded == wanted {
			return ""
		}
		return "input"
	}
	for _, name := range identities {
		if recorded, wanted := given(r[name]), given(w[name]); recorded != wanted {
			return fmt.Sprintf("%s: recorded %s, wanted %s", name, clip(recorded), clip(wanted))
		}
	}
	if nested := r["operation"]; nested != nil || w["operation"] != nil { // of a call without a block
		return differInIdentity(string(nested), string(w["operation"]))
	}
	return ""
}

// given returns the JSON of a field, by a name where there is none.
func given(field json.RawMessage) string {
	if field == nil || string(field) == "null" {
		return "none"
	}
	return string(field)
}
