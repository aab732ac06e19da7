package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
)

// Many arguments at once, far more than sessions are kept of, of which the oldest leave
// while theirs are being started, asked and handed out, and a stop in the middle: each
// opens, nobody gets another's, and no server is left.
func TestWarmArgumentsUnderLoad(t *testing.T) {
	t.Parallel()
	b := newWarmBench(t)
	b.slow = time.Millisecond
	uses := []*warmUse{newWarmUse(b.in, b.server(2)), newWarmUse(b.in, b.server(1))}
	for _, u := range uses {
		u.prewarm()
		defer u.stop()
	}
	var mu sync.Mutex
	given := make(map[string]int)
	var opening sync.WaitGroup
	next := make(chan int)
	for range 20 {
		opening.Go(func() {
			for i := range next {
				ctx, cancel := context.WithCancel(t.Context())
				if i%7 == 0 {
					time.AfterFunc(time.Duration(i%100)*20*time.Microsecond, cancel)
				}
				// Most are new, some come again at once.
				conn, err := b.opener(uses[i%2], fmt.Sprint(i/3)).open(ctx)
				if err == nil {
					mu.Lock()
					given[conn.InitializeResult().ServerInfo.Name]++
					mu.Unlock()
					_ = conn.close()
				} else if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				cancel()
			}
		})
	}
	const times = 400
	var stopping sync.WaitGroup
	for i := range times {
		if i == times*2/3 {
			stopping.Go(uses[1].stop)
		}
		next <- i
	}
	close(next)
	opening.Wait()
	stopping.Wait()
	for name, n := range given {
		if n != 1 {
			t.Errorf("server %s was given %d times", name, n)
		}
	}
	b.in.mu.Lock()
	sources := len(uses[0].sources)
	b.in.mu.Unlock()
	if sources > MaxWarmSpecifications {
		t.Errorf("%d sources are kept", sources)
	}
	for _, u := range uses {
		u.stop()
	}
	b.in.mu.Lock()
	pools := len(b.in.pools)
	b.in.mu.Unlock()
	left := func() int { b.mu.Lock(); defer b.mu.Unlock(); return len(b.started) - b.ended }
	for end := time.Now().Add(10 * time.Second); left() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // the bench counts a moment later
	}
	if left() != 0 || pools != 0 {
		t.Errorf("%d servers and %d pools are left", left(), pools)
	}
}
