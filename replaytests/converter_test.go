package replaytests_test

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A salted codec gives other bytes each time, as one that encrypts does.
type salted struct{}

const salt = "salted/"

func (salted) Encode(payloads []*commonpb.Payload) (encoded []*commonpb.Payload, err error) {
	for _, p := range payloads {
		inner, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		encoded = append(encoded, &commonpb.Payload{
			Metadata: map[string][]byte{"encoding": []byte(salt)}, Data: append([]byte(rand.Text()), inner...),
		})
	}
	return encoded, nil
}

func (salted) Decode(payloads []*commonpb.Payload) (decoded []*commonpb.Payload, err error) {
	for _, p := range payloads {
		if string(p.GetMetadata()["encoding"]) != salt {
			return nil, fmt.Errorf("not salted: %v", p)
		}
		inner := new(commonpb.Payload)
		if err := proto.Unmarshal(p.GetData()[len(rand.Text()):], inner); err != nil {
			return nil, err
		}
		decoded = append(decoded, inner)
	}
	return decoded, nil
}

// Inputs are compared as they were before the codec, whose bytes are others each time.
func TestReplayWithACodec(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"completed", "three", "operations", "ended-in-call"} {
		h := read(t, name)
		for i, event := range h.Events {
			h.Events[i] = proto.Clone(event).(*historypb.HistoryEvent)
			encodePayloads(t, h.Events[i].ProtoReflect())
		}
		options := ours()
		options.Exact = true
		if err := h.Replay(options); err == nil {
			t.Errorf("%s: with no codec it replays", name)
		}
		options.Replayer.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), salted{})
		if err := h.Replay(options); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		plain := read(t, name)
		if got, want := h.Commands(options.Replayer.DataConverter), plain.Commands(nil); !slices.Equal(got, want) {
			t.Errorf("%s: commands %q, want %q", name, got, want)
		}
	}
}

// encodePayloads encodes the inputs and results in a message, and not what the SDK
// does not: headers, summaries.
func encodePayloads(t *testing.T, m protoreflect.Message) {
	t.Helper()
	if p, ok := m.Interface().(*commonpb.Payloads); ok {
		encoded, err := salted{}.Encode(p.GetPayloads())
		if err != nil {
			t.Fatal(err)
		}
		p.Payloads = encoded
		return
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Kind() == protoreflect.MessageKind && !field.IsList() && !field.IsMap() {
			encodePayloads(t, value.Message())
		}
		return true
	})
}

// impatient is an interceptor that gives activities another timeout, and sends those
// of a type elsewhere.
type impatient struct {
	interceptor.WorkerInterceptorBase
	elsewhere string
}

func (i *impatient) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &impatientInbound{interceptor.WorkflowInboundInterceptorBase{Next: next}, i}
}

type impatientInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	*impatient
}

func (i *impatientInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	return i.Next.Init(&impatientOutbound{interceptor.WorkflowOutboundInterceptorBase{Next: next}, i.impatient})
}

type impatientOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	*impatient
}

func (o *impatientOutbound) ExecuteActivity(ctx workflow.Context, activityType string, args ...any) workflow.Future {
	ctx = workflow.WithStartToCloseTimeout(ctx, 7*time.Minute)
	if strings.HasSuffix(activityType, o.elsewhere) && o.elsewhere != "" {
		ctx = workflow.WithTaskQueue(ctx, "elsewhere")
	}
	return o.Next.ExecuteActivity(ctx, activityType, args...)
}

// What counts is what interceptors have made of a call, as on a worker.
func TestReplayWithInterceptors(t *testing.T) {
	t.Parallel()
	options := ours()
	options.Replayer.Interceptors = []interceptor.WorkerInterceptor{&impatient{}}
	if err := read(t, "completed").Replay(options); err != nil {
		t.Errorf("another timeout is no difference, unless all of it counts: %v", err)
	}
	options.Exact = true
	if err := read(t, "completed").Replay(options); err == nil || !strings.Contains(err.Error(), "start-to-close 7m0s") {
		t.Errorf("another timeout, when all of it counts: %v", err)
	}
	options.Exact = false
	options.Replayer.Interceptors = []interceptor.WorkerInterceptor{&impatient{elsewhere: ".session"}}
	if err := read(t, "completed").Replay(options); err == nil || !strings.Contains(err.Error(), "another task queue") {
		t.Errorf("another task queue: %v", err)
	}
	// One that both releases poll is none.
	var asked []string
	options.AllowTaskQueue = func(activityType, recorded, wanted string) bool {
		asked = append(asked, activityType+" "+recorded+" "+wanted)
		return wanted == "elsewhere"
	}
	if err := read(t, "completed").Replay(options); err != nil || asked[0] != "mcp.counter.session replaytests elsewhere" {
		t.Errorf("an allowed task queue: %v, asked %q", err, asked)
	}
}
