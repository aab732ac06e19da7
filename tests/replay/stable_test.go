package replay

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/queue"
	"github.com/mcpsession/mcpsession/replaytests"
)

// fixedTime is when everything in a recorded history happens.
const fixedTime = "2026-01-01T00:00:00Z"

// stable returns the history as it would be if nothing that is random or of a machine
// were in it, so that a new recording differs only where the code or an SDK does: run
// ids, keys, instances and times are fixed ones, ids of the server's and stack traces
// are left out. The keys are those that the code draws for the fixed run id.
func (r recording) stable(b *bundle, register func(worker.WorkflowRegistry), together []recording) *replaytests.History {
	b.Helper()
	var names []string
	for _, other := range together {
		names = append(names, other.history.RunID, fixedRunID(other.Name))
	}
	drawn := keysOf(b, register, renamed(b, r.history, names))
	for i, key := range keysIn(b, r.history) {
		names = append(names, key, drawn[i])
	}
	for i, instance := range instancesIn(b, r.history) {
		names = append(names, instance, fmt.Sprintf("instance-%d", i+1))
	}
	h := renamed(b, r.history, names)
	h.Shows = r.Shows
	return h
}

var timestamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

// fixedRunID is a UUID that goes by the situation's name.
func fixedRunID(name string) string {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(name)))
	return sum[:8] + "-" + sum[8:12] + "-7" + sum[13:16] + "-8" + sum[17:20] + "-" + sum[20:32]
}

// leftOut are fields of events that are the server's own.
var leftOut = map[string]bool{
	"taskId": true, "requestId": true, "workerVersion": true, "historySizeBytes": true, "stackTrace": true,
	"encodedAttributes": true, "workerInstanceKey": true,
	"namespaceId": true, "parentWorkflowNamespaceId": true,
}

// renamed returns a copy of a history with names replaced, each by the one after it.
func renamed(b *bundle, h *replaytests.History, names []string) *replaytests.History {
	b.Helper()
	raw, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(&historypb.History{Events: h.Events})
	if err != nil {
		b.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		b.Fatal(err)
	}
	replacer := strings.NewReplacer(names...)
	replace := func(s string) string { return timestamp.ReplaceAllString(replacer.Replace(s), fixedTime) }
	if raw, err = json.Marshal(walk(value, replace)); err != nil {
		b.Fatal(err)
	}
	var history historypb.History
	if err := (temporalproto.CustomJSONUnmarshalOptions{}).Unmarshal(raw, &history); err != nil {
		b.Fatal(err)
	}
	return &replaytests.History{WorkflowID: h.WorkflowID, RunID: replacer.Replace(h.RunID), Events: history.Events}
}

// walk returns a JSON value with its strings replaced, in payloads too.
func walk(value any, replace func(string) string) any {
	switch v := value.(type) {
	case string:
		return replace(v)
	case []any:
		for i := range v {
			v[i] = walk(v[i], replace)
		}
	case map[string]any:
		data, isPayload := v["data"].(string)
		if decoded, err := base64.StdEncoding.DecodeString(data); isPayload && err == nil && v["metadata"] != nil {
			v["data"] = base64.StdEncoding.EncodeToString([]byte(replace(string(decoded))))
			return v
		}
		if v["kind"] == "TASK_QUEUE_KIND_STICKY" {
			v["name"] = "sticky"
		}
		for key := range v {
			if leftOut[key] {
				delete(v, key)
			} else {
				v[key] = walk(v[key], replace)
			}
		}
	}
	return value
}

// keysIn returns the keys of the blocks that a history has, in their order.
func keysIn(b *bundle, h *replaytests.History) (keys []string) {
	b.Helper()
	for _, event := range h.Events {
		a := event.GetActivityTaskScheduledEventAttributes()
		if a == nil || !strings.HasSuffix(a.GetActivityType().GetName(), ".session") {
			continue
		}
		var input queue.SessionInput
		if err := json.Unmarshal(a.GetInput().GetPayloads()[0].GetData(), &input); err != nil {
			b.Fatal(err)
		}
		keys = append(keys, input.Key)
	}
	return keys
}

// instancesIn returns the instances of those blocks that came to have one.
func instancesIn(b *bundle, h *replaytests.History) (instances []string) {
	b.Helper()
	keys := keysIn(b, h)
	byKey := make(map[string]string)
	for _, event := range h.Events {
		for _, p := range event.GetActivityTaskScheduledEventAttributes().GetInput().GetPayloads() {
			var o queue.Operation
			if err := json.Unmarshal(p.GetData(), &o); err == nil && o.Instance != "" {
				byKey[o.Key] = o.Instance
			}
		}
	}
	for _, key := range keys {
		if instance, opened := byKey[key]; opened {
			instances = append(instances, instance)
		}
	}
	return instances
}

// keysOf replays a history and returns the keys that the code draws for its run.
func keysOf(b *bundle, register func(worker.WorkflowRegistry), h *replaytests.History) []string {
	b.Helper()
	drawn := new(draws)
	// What does not match is the keys, which are about to.
	_ = h.Replay(replaytests.Options{Register: register, Replayer: worker.WorkflowReplayerOptions{
		Interceptors: []interceptor.WorkerInterceptor{drawn},
	}})
	if len(drawn.keys) != len(keysIn(b, h)) {
		b.Fatalf("the history has %d blocks, its replay %d", len(keysIn(b, h)), len(drawn.keys))
	}
	return drawn.keys
}

// draws sees the keys that blocks are opened with.
type draws struct {
	interceptor.WorkerInterceptorBase
	keys []string
}

func (d *draws) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &drawsInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, d}
}

type drawsInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	draws *draws
}

func (i *drawsInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&drawsOutbound{interceptor.WorkflowOutboundInterceptorBase{Next: next}, i.draws})
}

type drawsOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	draws *draws
}

func (o *drawsOutbound) ExecuteActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	for _, arg := range args {
		if input, ok := arg.(queue.SessionInput); ok {
			o.draws.keys = append(o.draws.keys, input.Key)
		}
	}
	return o.Next.ExecuteActivity(ctx, activityType, args...)
}
