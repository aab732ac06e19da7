package tests

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/proto"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
)

// A folder is external payload storage on disk: a file for each payload, named by
// its content.
type folder string

func (folder) Name() string { return "folder" }
func (folder) Type() string { return "tests.folder" }

func (f folder) Store(_ converter.StorageDriverStoreContext, payloads []*commonpb.Payload) ([]converter.StorageDriverClaim, error) {
	claims := make([]converter.StorageDriverClaim, len(payloads))
	for i, p := range payloads {
		encoded, err := proto.Marshal(p)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(encoded)
		name := hex.EncodeToString(sum[:])
		if err := os.WriteFile(filepath.Join(string(f), name), encoded, 0o600); err != nil {
			return nil, err
		}
		claims[i] = converter.StorageDriverClaim{ClaimData: map[string]string{"file": name}}
	}
	return claims, nil
}

func (f folder) Retrieve(_ converter.StorageDriverRetrieveContext, claims []converter.StorageDriverClaim) ([]*commonpb.Payload, error) {
	payloads := make([]*commonpb.Payload, len(claims))
	for i, claim := range claims {
		encoded, err := os.ReadFile(filepath.Join(string(f), claim.ClaimData["file"]))
		if err != nil {
			return nil, err
		}
		payloads[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(encoded, payloads[i]); err != nil {
			return nil, err
		}
	}
	return payloads, nil
}

// external gives the test's client external payload storage for payloads of that
// many bytes and more.
func (b *bundle) external(threshold int) folder {
	b.Helper()
	f := folder(b.TempDir())
	b.client = b.dial(func(o *client.Options) {
		o.ExternalStorage = converter.ExternalStorage{Drivers: []converter.StorageDriver{f}, PayloadSizeThreshold: threshold}
	})
	return f
}

// With the SDK's external payload storage a result over the payload limit arrives
// whole, in one attempt. (C9)
func TestResultInExternalStorage(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"text", "image"} {
		for _, size := range []int{3_000_000, 6_000_000} {
			t.Run(fmt.Sprint(kind, " ", size), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				b.external(0)
				got, run, _ := b.bulkIn(bulkArguments{kind, size})
				if got.Bytes != size || got.Fault.Text != "" {
					t.Errorf("got %d bytes and %+v", got.Bytes, got.Fault)
				}
				for _, call := range b.activities(run, "mcp.bulk.call-tool") {
					if attempt := call.started.GetAttempt(); attempt != 1 {
						t.Errorf("a call took %d attempts", attempt)
					}
				}
			})
		}
	}
}

// Storage that takes every payload takes the markers, too: the block opens, and
// the loss of its session is told with its details.
func TestMarkersInExternalStorage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.external(1)
	b.worker(worker.Options{}, func(ctx workflow.Context) (got seenLoss, err error) {
		err = toolset.With(ctx, toolset.Options{Server: "counter"}, func(ctx workflow.Context, ts *toolset.Toolset) error {
			if got.Count, err = call(ctx, ts, fixture.Incr, nil); err != nil {
				return err
			}
			_, err = ts.CallTool(ctx, fixture.Exit, fixture.ExitArguments{Status: 3})
			got.Fault = faultOf(err)
			return nil
		})
		return got, ignoreLoss(err)
	}, stdio("counter"))
	var got seenLoss
	if err := b.start().Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got.Count != "1" || got.Fault.Type != failure.TypeDedicatedWorker || got.Fault.Details.Reason != failure.ReasonServerGone {
		t.Errorf("the workflow saw %+v", got)
	}
	stored, err := os.ReadDir(string(f))
	if err != nil || len(stored) == 0 {
		t.Errorf("%d payloads are stored: %v", len(stored), err)
	}
}

type seenLoss struct {
	Count string
	Fault fault
}

// ignoreLoss returns err unless it is the loss that a test brought about.
func ignoreLoss(err error) error {
	if failure.IsDedicatedWorker(err) {
		return nil
	}
	return err
}

// A bound of the block's own, below the limit: what is over it is ResultTooLarge in
// the first attempt, with the size, the bound and the option, and history has no
// part of it. What is not arrives. With external storage, too, which would take it.
func TestResultOverTheBlocksBound(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.external(0)
	const bound = 1000
	k := &bulk{}
	b.worker(worker.Options{}, func(ctx workflow.Context, bytes int) (got bulkSeen, err error) {
		options := toolset.Options{Server: "bulk", MaxResult: bound}
		err = toolset.With(ctx, options, func(ctx workflow.Context, ts *toolset.Toolset) error {
			_, err := ts.CallTool(ctx, "bulk", bulkArguments{Bytes: bytes})
			got.Fault = faultOf(err)
			got.Sizes, _ = failure.ResultTooLarge(err)
			if _, err := ts.ListTools(ctx); err != nil {
				return err
			}
			got.Next, err = call(ctx, ts, "bulk", bulkArguments{Bytes: 900})
			got.Bytes = len(got.Next)
			return err
		})
		return got, err
	}, inMemory("bulk", func() *mcp.Server { return serverOf("bulk", k.call) }))
	run := b.start(500_000)
	var got bulkSeen
	if err := run.Get(b.ctx, &got); err != nil {
		t.Fatal(err)
	}
	if got.Fault.Type != failure.TypeResultTooLarge || got.Fault.Ran != failure.RanYes || got.Bytes != 900 || k.runs.Load() != 2 {
		t.Errorf("the workflow saw %+v, and the tool ran %d times", got, k.runs.Load())
	}
	if s := got.Sizes; s.Tool != "bulk" || s.Limit != bound || s.Size < 500_000 || s.Size > 501_000 {
		t.Errorf("the details are %+v", s)
	}
	mentions(t, got.Fault.Text, `"bulk"`, fmt.Sprint(got.Sizes.Size), "1000", "ask the tool for less", "Options.MaxResult")
	for _, call := range b.activities(run, "mcp.bulk.call-tool") {
		if attempt := call.started.GetAttempt(); attempt != 1 {
			t.Errorf("a call took %d attempts", attempt)
		}
	}
	if stored, err := os.ReadDir(string(f)); err != nil || len(stored) != 0 {
		t.Errorf("%d payloads are stored: %v", len(stored), err)
	}
}
