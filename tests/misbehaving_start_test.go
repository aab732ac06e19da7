package tests

import (
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/mcpsession/mcpsession/failure"
	"github.com/mcpsession/mcpsession/session"
	"github.com/mcpsession/mcpsession/tests/fixture"
	"github.com/mcpsession/mcpsession/transport"
)

// A coldStart is a server that does not answer initialize until it is warm.
type coldStart struct {
	connect transport.Connector
	warmUp  func()
	asked   func() int // how many times initialize has come
	waiting func() int // how many of its clients, or processes, there are now
	tool    string     // one that it has
}

// progress is what the server says meanwhile: on stderr, or on the event stream in
// which the answer would come.
const progress = "downloading 3 of 9"

// coldStarts are such servers over stdio and over HTTP. The latter may begin to
// answer, with a word of progress, and then never does.
var coldStarts = map[string]func(b *bundle, talks bool) coldStart{
	"stdio": func(b *bundle, _ bool) coldStart {
		warm, asked := b.file("warm"), b.file("asked")
		return coldStart{
			connect: b.playing(at("initialize",
				fixture.Act{Note: asked, Mutter: progress + "\n"}, fixture.Act{Await: warm, Say: "$good"})),
			warmUp: func() {
				if err := fixture.AppendLine(warm, "warm"); err != nil {
					b.Error(err)
				}
			},
			asked:   func() int { return len(b.lines(asked)) },
			waiting: func() int { return len(b.processes()) },
			tool:    "fine",
		}
	},
	"http": func(b *bundle, talks bool) coldStart {
		warm := newLatch()
		var asked, waiting atomic.Int32
		s := b.site(fixture.NewHTTP(nil))
		b.Cleanup(warm.open)
		s.put(func(w http.ResponseWriter, request *http.Request, method string) bool {
			if method != "initialize" {
				return false
			}
			asked.Add(1)
			waiting.Add(1)
			defer waiting.Add(-1)
			if talks && !warm.isOpen() {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"`+progress+`"}}`+"\n\n")
				_ = http.NewResponseController(w).Flush()
				<-request.Context().Done()
				return true
			}
			select {
			case <-request.Context().Done():
				return true
			case <-warm.opened:
				return false
			}
		})
		return coldStart{
			connect: transport.HTTP(s.URL), warmUp: warm.open, tool: fixture.Incr,
			asked: func() int { return int(asked.Load()) }, waiting: func() int { return int(waiting.Load()) },
		}
	},
}

// A server that takes three times the heartbeat timeout to answer initialize opens
// with the defaults: heartbeats flow meanwhile, and nothing is tried twice (C17).
func TestColdStart(t *testing.T) {
	t.Parallel()
	for name, start := range coldStarts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			cold := start(b, false)
			b.host(worker.Options{}, session.Options{Servers: []session.Server{b.counted(cold.connect)}})
			d := b.drive(b.options(2 * shortHeartbeat))
			opening := d.beginOpen()
			b.eventually("initialize has come", func() bool { return cold.asked() == 1 })
			began := time.Now()
			b.eventually("three heartbeat timeouts have passed", func() bool { return time.Since(began) > 3*2*shortHeartbeat })
			if attempt := d.sessionActivity().GetAttempt(); attempt != 1 {
				t.Errorf("attempt %d of the session activity runs", attempt)
			}
			cold.warmUp()
			block, err := opening.block()
			if err != nil {
				t.Fatal(err)
			}
			block.must(cold.tool)
			if err := block.close(); err != nil {
				t.Error(err)
			}
			if n := cold.asked(); n != 1 {
				t.Errorf("initialize came %d times", n)
			}
			b.wantConnects("here")
		})
	}
}

// A start that takes longer than ConnectTimeout fails as that, with what the server
// has said meanwhile, and its process or request is ended. The workflow opens again,
// and meets nothing of the first start (C17).
func TestColdStartOverTheLimit(t *testing.T) {
	t.Parallel()
	for name, start := range coldStarts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setupFaults(t)
			cold := start(b, true)
			s := b.counted(cold.connect)
			s.ConnectTimeout = shortConnect
			b.host(worker.Options{}, session.Options{Servers: []session.Server{s}})
			options := b.options(longHeartbeat)
			options.Session.RetryPolicy = attempts(1).RetryPolicy
			d := b.drive(options)
			_, err := d.tryOpen()
			if err == nil {
				t.Fatal("the block opened")
			}
			f := faultOf(err)
			checkOpenFailure(t, f, "counter", failure.ReasonConnectTimeout, "handshake", "ConnectTimeout 2s", "raise Server.ConnectTimeout")
			mentions(t, f.Text+f.Details.Peer, progress)
			b.eventually("nothing of the first start is left", func() bool { return cold.waiting() == 0 })

			cold.warmUp()
			block := d.open()
			block.must(cold.tool)
			if err := block.close(); err != nil {
				t.Error(err)
			}
			if n := cold.asked(); n != 2 {
				t.Errorf("initialize came %d times", n)
			}
			b.wantConnects("here", "here")
		})
	}
}
