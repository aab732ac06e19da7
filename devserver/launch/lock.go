package launch

import (
	"context"
	"fmt"
	"io"
	"time"
)

// lockPoll is how often a lock that another process has is tried again.
const lockPoll = 100 * time.Millisecond

// lock takes the lock that the file stands for, and waits while another process has it.
func lock(ctx context.Context, path string, progress io.Writer) (unlock func(), err error) {
	pause := time.NewTicker(lockPoll)
	defer pause.Stop()
	for waiting := false; ; waiting = true {
		unlock, err := tryLock(path)
		if err != nil {
			return nil, fmt.Errorf("cannot lock %s: %w", path, err)
		}
		if unlock != nil {
			return unlock, nil
		}
		if !waiting {
			fmt.Fprintln(progress, "devserver: another process builds it; waiting for that")
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("another process did not finish building the devserver in time: %w; if no process does, delete %s",
				context.Cause(ctx), path)
		}
	}
}
