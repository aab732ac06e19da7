package tests

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/toolset"
	"github.com/mcpsession/mcpsession/transport"
)

// A shown is what a caller saw of an event: the fault of a call that was pending,
// that of one made later, or of neither where the event has none.
type shown struct{ pending, later *fault }

func pendingOnly(err error) shown { f := faultOf(err); return shown{pending: &f} }

// pendingAndLater begins a call, brings about an event, and makes another call.
func pendingAndLater(b *bundle, d *driver, event func(*drivenBlock)) shown {
	b.Helper()
	block := d.open()
	began := b.file("began")
	call := block.beginCall(fixture.Block, fixture.BlockArguments{Began: began})
	b.awaitLines(began, 1)
	event(block)
	pending := faultOf(call.err())
	later := faultOf(block.callUnscheduled())
	return shown{&pending, &later}
}

// laterOnly brings about an event, and makes a call.
func laterOnly(b *bundle, d *driver, event func(*drivenBlock)) shown {
	b.Helper()
	block := d.open()
	event(block)
	b.awaitSessionEnd(d.run)
	later := faultOf(block.callUnscheduled())
	return shown{later: &later}
}

// inBlock makes one call in a block of a session in this process.
func inBlock(b *bundle, change func(*toolset.Options), tool string, arguments any) shown {
	b.Helper()
	b.host(worker.Options{}, session.Options{})
	options := b.options(longHeartbeat)
	if change != nil {
		change(&options)
	}
	_, err := b.drive(options).open().call(tool, arguments)
	return pendingOnly(err)
}

// overHTTPWith makes one call in a block over HTTP after a fault was put.
func overHTTPWith(b *bundle, fault httpFault) shown {
	b.Helper()
	s := b.site(fixture.NewHTTP(nil))
	block := b.hostSite(s).open()
	s.put(fault)
	_, err := block.call(fixture.Incr, nil)
	return pendingOnly(err)
}

// failureRows bring about the events of README's table of failures, each named by
// its first cell.
var failureRows = map[string]func(b *bundle) shown{
	"the session's host is killed": func(b *bundle) shown {
		host := b.startHost(hostConfig{Name: "first"})
		return pendingAndLater(b, b.drive(b.options(shortHeartbeat)), func(*drivenBlock) { host.Kill() })
	},
	"the host is paused or cut off for a heartbeat timeout": func(b *bundle) shown {
		host := b.startHost(hostConfig{Name: "first"})
		d := b.drive(b.options(shortHeartbeat))
		var pid int
		saw := pendingAndLater(b, d, func(k *drivenBlock) { pid = k.pid(); host.Signal(syscall.SIGSTOP) })
		host.Signal(syscall.SIGCONT)
		b.awaitGone(pid)
		return saw
	},
	"its worker is stopped": func(b *bundle) shown {
		host := b.host(worker.Options{}, session.Options{})
		return pendingAndLater(b, b.drive(b.options(longHeartbeat)), func(*drivenBlock) { host.Stop() })
	},
	"the MCP server exits or closes the connection": func(b *bundle) shown {
		b.host(worker.Options{}, session.Options{})
		return pendingAndLater(b, b.drive(b.options(longHeartbeat)), func(k *drivenBlock) {
			if err := kill(k.pid()); err != nil {
				b.Fatal(err)
			}
		})
	},
	"no operation for `session.Server.IdleTimeout`": func(b *bundle) shown {
		idle := b.counted(ownedFixture(b.taskQueue))
		idle.IdleTimeout = 300 * time.Millisecond
		b.host(worker.Options{}, session.Options{Servers: []session.Server{idle}})
		return laterOnly(b, b.drive(b.options(longHeartbeat)), func(*drivenBlock) {})
	},
	"the session's own timeout (24 h) passes": func(b *bundle) shown {
		b.host(worker.Options{}, session.Options{})
		options := b.options(longHeartbeat)
		options.Session.StartToCloseTimeout = 15 * time.Second
		return pendingAndLater(b, b.drive(options), func(*drivenBlock) {})
	},
	"an operator resets the session activity": func(b *bundle) shown {
		b.host(worker.Options{}, session.Options{})
		d := b.drive(b.options(shortHeartbeat))
		return pendingAndLater(b, d, func(*drivenBlock) { resetDropping(d, d.sessionActivity().GetActivityId()) })
	},
	"an operator resets the workflow into a block": func(b *bundle) shown {
		b.host(worker.Options{}, session.Options{})
		options := b.options(shortHeartbeat)
		var goOn atomic.Bool
		w := b.worker(worker.Options{}, func(ctx workflow.Context) (later fault, err error) {
			ts, err := toolset.Open(ctx, options)
			if err != nil {
				return later, err
			}
			if err := await(ctx, "in the block"); err != nil {
				return later, err
			}
			if err := await(ctx, "go on"); err != nil {
				return later, err
			}
			_, err = ts.CallTool(ctx, fixture.Get, nil)
			later = faultOf(err)
			_ = ts.Close(ctx) // lost, as the call has told
			return later, nil
		})
		condition(w, "in the block", func() bool { return true })
		condition(w, "go on", goOn.Load)
		run := b.begin(client.StartWorkflowOptions{})
		b.eventually("the block is open", func() bool { return b.begun(run, "go on") > 0 })
		again := b.reset(run, b.taskAfter(run, "in the block"))
		b.awaitSessionEnd(again)
		goOn.Store(true)
		var later fault
		if err := again.Get(b.ctx, &later); err != nil {
			b.Fatal(err)
		}
		return shown{later: &later}
	},
	"the worker of the block's own task queue fails for good": func(b *bundle) shown {
		fatal := newCallbacks(b)
		host := *b
		host.client = b.dial(func(o *client.Options) { o.Plugins = append(o.Plugins, fatal) })
		host.host(worker.Options{}, session.Options{})
		return pendingAndLater(b, b.drive(b.options(longHeartbeat)), func(k *drivenBlock) { fatal.fail(k.TaskQueue) })
	},
	"no worker polls the task queue of `Options.Session`": func(b *bundle) shown {
		options := b.options(longHeartbeat)
		options.Session.ScheduleToStartTimeout = time.Second
		_, err := b.drive(options).tryOpen()
		return pendingOnly(err)
	},
	"the block can't be opened: no such executable, a handshake that fails or takes too long, and the like": func(b *bundle) shown {
		b.host(worker.Options{}, session.Options{Servers: []session.Server{b.counted(transport.Command("no-such-program"))}})
		_, err := b.drive(b.options(longHeartbeat)).tryOpen()
		return pendingOnly(err)
	},
	"an MCP server over HTTP no longer knows the session (404, 410, \"no valid session\", a restart), or can't be reached": func(b *bundle) shown {
		s := b.site(fixture.NewHTTP(nil))
		s.put(withoutStream) // else the loss is told before the call
		block := b.hostSite(s).open()
		s.fixture.Evict()
		_, err := block.call(fixture.Incr, nil)
		pending, later := faultOf(err), faultOf(block.callUnscheduled())
		return shown{&pending, &later}
	},
	"it answers 401, 403, 429, 503 or another refusal": func(b *bundle) shown {
		return overHTTPWith(b, answering("tools/call", 401, "text/plain", ""))
	},
	"it, or a gateway before it, answers 500, 502 or 504": func(b *bundle) shown {
		return overHTTPWith(b, answering("tools/call", 502, "text/plain", ""))
	},
	"the server answers with a JSON-RPC error": func(b *bundle) shown { return inBlock(b, nil, fixture.Refuse, nil) },
	"the tool's result says `isError`":         func(b *bundle) shown { return inBlock(b, nil, fixture.Fail, nil) },
	"`toolset.Options.CallTimeout` (1 min) passes": func(b *bundle) shown {
		return inBlock(b, func(o *toolset.Options) { o.CallTimeout = time.Second }, fixture.Block, nil)
	},
	"the result is over the payload limit": func(b *bundle) shown {
		return inBlock(b, nil, fixture.Big, fixture.BigArguments{Bytes: 3 << 20})
	},
	"the result is over `toolset.Options.MaxResult`": func(b *bundle) shown {
		return inBlock(b, func(o *toolset.Options) { o.MaxResult = 1000 }, fixture.Big, fixture.BigArguments{Bytes: 2000})
	},
	"the block is closed while a call is pending": func(b *bundle) shown {
		b.host(worker.Options{}, session.Options{})
		block := b.drive(b.options(longHeartbeat)).open()
		began := b.file("began")
		call := block.beginCall(fixture.Block, fixture.BlockArguments{Began: began})
		b.awaitLines(began, 1)
		if err := block.close(); err != nil {
			b.Error(err)
		}
		return pendingOnly(call.err())
	},
	"the workflow is cancelled": func(b *bundle) shown {
		b.host(worker.Options{}, session.Options{})
		arguments := fixture.BlockArguments{Began: b.file("began"), Canceled: b.file("canceled")}
		b.worker(worker.Options{}, func(ctx workflow.Context) (pending fault, err error) {
			err = toolset.With(ctx, b.options(longHeartbeat), func(ctx workflow.Context, ts *toolset.Toolset) error {
				_, err := ts.CallTool(ctx, fixture.Block, arguments)
				pending = faultOf(err)
				return nil
			})
			return pending, err
		})
		run := b.begin(client.StartWorkflowOptions{})
		b.awaitLines(arguments.Began, 1)
		cancelRun(b, &driver{b, run})
		var pending fault
		if err := run.Get(b.ctx, &pending); err != nil {
			b.Fatal(err)
		}
		b.awaitLines(arguments.Canceled, 1)
		return shown{pending: &pending}
	},
}

// What README says of failures is what happens: each event of its table is brought
// about, and what the caller then sees is compared with the row's cells.
func TestReadmeFailureTable(t *testing.T) {
	t.Parallel()
	rows := readmeTable(t, "| event | what the caller sees |")
	var events []string
	for _, row := range rows {
		events = append(events, row[0])
		bringAbout, ok := failureRows[row[0]]
		if !ok {
			t.Errorf("no test brings about %q", row[0])
			continue
		}
		t.Run(row[0], func(t *testing.T) {
			t.Parallel()
			saw := bringAbout(setupFaults(t))
			ofPending, ofLater := toolRan(row[3])
			compare(t, "the pending call", saw.pending, row[1], ofPending)
			compare(t, "a later call", saw.later, row[1], ofLater)
		})
	}
	for event := range failureRows {
		if !slices.Contains(events, event) {
			t.Errorf("README.md has no row %q", event)
		}
	}
}

// readmeTable returns the cells of the rows of README's table that begins so.
func readmeTable(t *testing.T, head string) (rows [][]string) {
	t.Helper()
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(readme), "\n"+head)
	if !ok {
		t.Fatalf("README.md has no table %q", head)
	}
	for i, line := range strings.Split(table, "\n") {
		switch {
		case i < 2: // the rest of the head, and the rule under it
		case !strings.HasPrefix(line, "|"):
			return rows
		default:
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		}
	}
	return rows
}

func notALetter(r rune) bool { return (r < 'a' || 'z' < r) && (r < 'A' || 'Z' < r) }

// toolRan returns the parts of a last cell that are of the pending call and of
// later ones. A cell without parts is of the pending call.
func toolRan(cell string) (pending, later string) {
	for part := range strings.SplitSeq(cell, ";") {
		part = strings.TrimSpace(part)
		if of, ok := strings.CutPrefix(part, "later ones: "); ok {
			later = of
		} else {
			pending = strings.TrimPrefix(part, "pending call: ")
		}
	}
	return pending, later
}

// compare fails the test unless a call's fault is what the cells of a row say.
func compare(t *testing.T, which string, saw *fault, sees, ran string) {
	t.Helper()
	if (saw == nil) != (ran == "") {
		t.Errorf("of %s README says %q, and the event shows %+v", which, ran, saw)
	}
	if saw == nil || ran == "" {
		return
	}
	if sees == "a result" {
		if saw.Text != "" {
			t.Errorf("%s failed: %s", which, saw.Text)
		}
		return
	}
	code := backticked(sees)
	is := saw.Type
	if saw.Canceled {
		is = "CanceledError"
	}
	if is != code[0] || len(code) > 1 && string(saw.Details.Reason) != code[1] {
		t.Errorf("%s failed with %s, reason %q; README says %s: %s", which, is, saw.Details.Reason, sees, saw.Text)
	}
	if len(code) == 1 && strings.Contains(sees, "with the reason") && saw.Details.Reason == "" {
		t.Errorf("%s has no reason: %s", which, saw.Text)
	}
	// The SDK's own error says nothing of the tool, which is to say unknown; and
	// whether a tool that is refused by JSON-RPC has run is the server's to say.
	if saw.Ran != "" && ran != "the server decides" && !slices.Contains(strings.FieldsFunc(ran, notALetter), string(saw.Ran)) {
		t.Errorf("%s is told that the tool ran: %s; README says %q", which, saw.Ran, ran)
	}
	if saw.Ran == "" && !saw.Canceled && ran != "the server decides" {
		t.Errorf("%s is not told whether the tool ran: %s", which, saw.Text)
	}
}

// backticked returns the parts of a text that stand in backticks.
func backticked(text string) (code []string) {
	for i, part := range strings.Split(text, "`") {
		if i%2 == 1 {
			code = append(code, part)
		}
	}
	return code
}
