package replay

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/replaytests"
	"github.com/mcpsession/mcpsession/replaytests/workflows"
)

var record = flag.Bool("record", false, "record the histories of replaytests that are missing or differ; read the diff before you commit it")

// histories is the folder of the recorded ones.
var histories = filepath.Join("..", "..", "replaytests", "histories")

// Every workflow of replaytests, run on a real server with real MCP servers and real
// faults, asks for what its newest history has: the same activities in the same
// order, on the same task queues, with the same options and inputs. Where it doesn't,
// the workflow side has changed, and a history of that is missing. That holds for runs
// that stay in the cache, and for runs that are thrown out of it all the time, which
// replays them from their start.
//
// With -record a run that asks for something else is recorded, and no other: the diff
// is what has changed. Remove a history to have it recorded anew.
func TestHistories(t *testing.T) {
	b := setup(t)
	runs := new(instances)
	w := b.worker(taskQueue, runs)
	workflows.Register(w)
	b.StartWorker(w)
	t.Run("cached", func(t *testing.T) { b.settleAll(t) })
	if b.records() {
		return
	}
	before := runs.count.Load()
	t.Run("evicted", func(t *testing.T) {
		stop := make(chan struct{})
		t.Cleanup(func() { close(stop) })
		go func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(5 * time.Millisecond):
					worker.PurgeStickyWorkflowCache()
				}
			}
		}()
		b.settleAll(t)
	})
	if n := runs.count.Load() - before; n < 2*int64(len(workflows.All)) {
		t.Errorf("the code of %d runs was started %d times: they were not replayed", len(workflows.All), n)
	}
}

// records reports whether histories are to be recorded, which CI must not.
func (b *bundle) records() bool {
	b.Helper()
	if *record && os.Getenv("CI") != "" {
		b.Fatal("CI does not record: run make record, read the diff and commit it")
	}
	return *record
}

// settleAll runs all situations.
func (b *bundle) settleAll(t *testing.T) {
	for _, s := range workflows.All {
		if s.Name == workflows.ChildBlock {
			continue // comes with its parent
		}
		t.Run(s.Name, func(t *testing.T) {
			if s.Name != "ended-in-call" && s.Name != "ended-in-call-waiting" {
				t.Parallel() // those two kill what polls their task queue
			}
			b := &bundle{b.In(t), b.programs}
			run := plays[s.Name]
			if run == nil {
				run = runToEnd
			}
			recordings := []recording{{s, b.fetch(workflowID(s.Name), run(b, s.Name).GetRunID())}}
			if s.Name == "child" {
				recordings = append(recordings, recording{situation(workflows.ChildBlock), b.fetch(workflowID(workflows.ChildBlock), "")})
			}
			for _, r := range recordings {
				r.settle(b, recordings)
			}
		})
	}
}

// instances counts how often the code of a workflow is started: once a run, and once
// more for each replay.
type instances struct {
	interceptor.WorkerInterceptorBase
	count atomic.Int64
}

func (i *instances) InterceptWorkflow(ctx workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	i.count.Add(1)
	return i.WorkerInterceptorBase.InterceptWorkflow(ctx, next)
}

func situation(name string) workflows.Situation {
	return workflows.All[slices.IndexFunc(workflows.All, func(s workflows.Situation) bool { return s.Name == name })]
}

// A recording is a situation's run.
type recording struct {
	workflows.Situation
	history *replaytests.History
}

// settle compares the run with the newest history, or records it.
func (r recording) settle(b *bundle, together []recording) {
	b.Helper()
	file, _ := workflows.Newest(histories, r.Name, workflows.Recording)
	var difference string
	if file != "" {
		recorded, err := replaytests.Read(file)
		if err != nil {
			b.Fatal(err)
		}
		difference = cmp.Diff(r.lines(recorded), r.lines(r.history))
	}
	switch {
	case !b.records() && file == "":
		b.Errorf("%s has no history: run make record", r.Name)
	case !b.records() && difference != "":
		b.Errorf("%s asks for something else than its newest history, %s, has (-recorded +now):\n%s\nIf that is meant, see CONTRIBUTING, \"Changes of the workflow side\".",
			r.Name, file, difference)
	case b.records() && (file == "" || difference != ""):
		stable := r.stable(b, workflows.Register, together)
		if err := stable.Write(filepath.Join(histories, workflows.Recording, r.Name+".json")); err != nil {
			b.Fatal(err)
		}
	}
}

var cancels = regexp.MustCompile(`^cancel activity (\d+)$`)

// lines are the commands of a history that do not hang on who is faster. A session
// that has closed completes its activity and answers close-session side by side: the
// loser of the two may be cancelled. So are, when a server goes, its session's
// activity and the call.
func (r recording) lines(h *replaytests.History) []string {
	commands := h.Commands(nil)
	return slices.DeleteFunc(slices.Clone(commands), func(line string) bool {
		canceled := cancels.FindStringSubmatch(line)
		if canceled == nil {
			return false
		}
		return r.Name == "server-gone" || slices.ContainsFunc(commands, func(scheduled string) bool {
			return strings.HasPrefix(scheduled, canceled[1]+": ") && strings.Contains(scheduled, ".close-session on ")
		})
	})
}
