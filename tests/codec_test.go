package tests

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// An encryption is a codec as users have it: no payload of it is plain.
type encryption struct{ cipher.AEAD }

func newEncryption(t *testing.T) encryption {
	t.Helper()
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		t.Fatal(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		t.Fatal(err)
	}
	return encryption{aead}
}

func (e encryption) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return convertEach(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		nonce := make([]byte, e.NonceSize())
		_, _ = rand.Read(nonce) // it never fails
		return &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte("binary/encrypted")},
			Data:     e.Seal(nonce, nonce, plain, nil),
		}, nil
	})
}

func (e encryption) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return convertEach(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != "binary/encrypted" {
			return p, nil
		}
		plain, err := e.Open(nil, p.Data[:e.NonceSize()], p.Data[e.NonceSize():], nil)
		if err != nil {
			return nil, err
		}
		decoded := &commonpb.Payload{}
		return decoded, proto.Unmarshal(plain, decoded)
	})
}

func convertEach(payloads []*commonpb.Payload, convert func(*commonpb.Payload) (*commonpb.Payload, error)) ([]*commonpb.Payload, error) {
	converted := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		var err error
		if converted[i], err = convert(p); err != nil {
			return nil, err
		}
	}
	return converted, nil
}

// encrypted makes the test's client one that encrypts everything, failures too.
func (b *bundle) encrypted(codec converter.PayloadCodec) {
	b.Helper()
	b.client = b.dial(func(o *client.Options) {
		o.DataConverter = converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), codec)
		o.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
			DataConverter: o.DataConverter, EncodeCommonAttributes: true,
		})
	})
}

// secret is in arguments, results and failures of the test below.
const secret = "xyzzy-canary"

// With a codec that encrypts all payloads and failures a block opens, although
// nothing but the worker can read its markers, and everything comes through: what
// the server says, refusals with their data, failures with their details. The
// history has none of it in the open.
func TestEncryptingCodec(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.encrypted(newEncryption(t))
	type seen struct {
		Echo    string
		Refused refusal
		TooBig  fault
		Sizes   failure.SizeDetails
		Count   string
		Tools   int
		Lost    fault
	}
	k := &bulk{}
	w := b.worker(worker.Options{}, func(ctx workflow.Context) (got seen, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "counter", Argument: secret}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			if got.Echo, err = call(ctx, ts, fixture.Echo, map[string]string{"secret": secret}); err != nil {
				return err
			}
			_, refused := ts.CallTool(ctx, fixture.Refuse, nil)
			got.Refused.Fault = faultOf(refused)
			d, _ := failure.MCPProtocol(refused)
			got.Refused.Code, got.Refused.Data = d.Code, d.Data
			list, err := ts.ListTools(ctx)
			if err != nil {
				return err
			}
			got.Tools = len(list.Tools)
			// The marker of the open session is what the server has, and unreadable.
			if err := await(ctx, "check the marker"); err != nil {
				return err
			}
			if got.Count, err = call(ctx, ts, fixture.Incr, nil); err != nil {
				return err
			}
			_, lost := ts.CallTool(ctx, fixture.Exit, fixture.ExitArguments{Status: 3, Stderr: secret})
			got.Lost = faultOf(lost)
			return nil
		})
		if !failure.IsDedicatedWorker(err) {
			return got, fmt.Errorf("the block was not lost: %w", err)
		}
		bulky, err := callBulk(ctx, bulkArguments{"text", 3_000_000})
		got.TooBig, got.Sizes = bulky.Fault, bulky.Sizes
		return got, err
	}, stdio("counter"), inMemory("bulk", func() *mcp.Server { return serverOf("bulk", k.call) }))
	activityNamed(w, "check the marker", func(ctx context.Context) error {
		open, err := b.described(ctx, b.taskQueue, "")
		if err != nil {
			return err
		}
		for _, pending := range open {
			if pending.GetActivityType().GetName() != "mcp.counter.session" {
				continue
			}
			details := pending.GetHeartbeatDetails().GetPayloads()
			if len(details) != 3 || string(details[0].GetMetadata()[converter.MetadataEncoding]) != "binary/encrypted" {
				return temporal.NewNonRetryableApplicationError(fmt.Sprintf("the heartbeat details are %v", details), "", nil)
			}
			return nil
		}
		return temporal.NewNonRetryableApplicationError("no session activity is open", "", nil)
	})
	run := b.start()
	var got seen
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got.Echo != `{"secret":"`+secret+`"}` || got.Count != "1" || got.Tools == 0 {
		t.Errorf("echo %s, count %s, %d tools", got.Echo, got.Count, got.Tools)
	}
	if r := got.Refused; r.Fault.Type != failure.TypeMCPProtocol || r.Code != -32602 || string(r.Data) != `{"field":"x"}` {
		t.Errorf("the refused call ended with %+v", r)
	}
	if got.Lost.Type != failure.TypeDedicatedWorker || got.Lost.Details.Reason != failure.ReasonServerGone {
		t.Errorf("the exit ended with %+v", got.Lost)
	}
	mentions(t, got.Lost.Text, "status 3")
	if got.TooBig.Type != failure.TypeResultTooLarge || got.Sizes.Size < 3_000_000 || got.Sizes.Limit != 2<<20 || k.runs.Load() != 2 {
		t.Errorf("%d calls, of which one was too large, ended with %+v, %+v", k.runs.Load(), got.TooBig, got.Sizes)
	}
	b.checkHidden(run, secret, "no such thing", "status 3")
}

// checkHidden fails the test when the run's history has one of the words.
func (b *bundle) checkHidden(run client.WorkflowRun, words ...string) {
	b.Helper()
	events := b.client.GetWorkflowHistory(b.ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			b.Fatal(err)
		}
		// As JSON its payloads would be base64, in which nothing is found.
		raw, err := proto.Marshal(event)
		if err != nil {
			b.Fatal(err)
		}
		for _, word := range words {
			if strings.Contains(string(raw), word) {
				b.Errorf("event %d has %q: %.2000s", event.GetEventId(), word, protojson.Format(event))
			}
		}
	}
}

// An inflation is a codec that makes payloads larger, here four times.
type inflation struct{}

func (inflation) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return convertEach(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		plain, err := proto.Marshal(p)
		return &commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte("binary/inflated")},
			Data:     append(plain, make([]byte, 3*len(plain))...),
		}, err
	})
}

func (inflation) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	return convertEach(payloads, func(p *commonpb.Payload) (*commonpb.Payload, error) {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != "binary/inflated" {
			return p, nil
		}
		decoded := &commonpb.Payload{}
		return decoded, proto.Unmarshal(p.Data[:len(p.Data)/4], decoded)
	})
}

// What counts is a result's size after the codec: one that the codec brings over
// the limit is ResultTooLarge, too.
func TestResultOverTheLimitByTheCodec(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.encrypted(inflation{})
	got, _, _ := b.bulkIn(bulkArguments{"text", 1_000_000})
	if got.Fault.Type != failure.TypeResultTooLarge || got.Sizes.Limit != 2<<20 {
		t.Errorf("the call ended with %+v, %+v", got.Fault, got.Sizes)
	}
}
