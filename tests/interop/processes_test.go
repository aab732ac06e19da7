package interop

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"

	"github.com/mcpsession/mcpsession/tests/fixture"
)

// Only Linux shows whose process a process is.
const processesShow = runtime.GOOS == "linux"

// killServer kills the server of a block over stdio: of the processes whose command
// line has the mark, the one that has started none of the others.
func (b *bundle) killServer(block, mark string) {
	b.Helper()
	var marked []int
	parents := make(map[int]bool)
	for _, pid := range fixture.Owned(blockVariable, b.blockOwner(block)) {
		if command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.Contains(command, []byte(mark)) {
			marked = append(marked, pid)
			parents[parent(pid)] = true
		}
	}
	marked = slices.DeleteFunc(marked, func(pid int) bool { return parents[pid] })
	if len(marked) != 1 {
		b.Fatalf("the server of block %s can't be told among the processes %v", block, marked)
	}
	server, err := os.FindProcess(marked[0])
	if err == nil {
		err = server.Kill()
	}
	if err != nil {
		b.Fatal(err)
	}
}

func parent(pid int) int {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name is in parentheses and may hold any; then come the state and the parent.
	id, _ := strconv.Atoi(string(bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])[1]))
	return id
}

// wantNoProcess fails the test if a process of a block is left.
func (b *bundle) wantNoProcess(block string) {
	b.Helper()
	if left := fixture.Owned(blockVariable, b.blockOwner(block)); len(left) > 0 {
		b.Errorf("processes of block %s are left: %v", block, left)
	}
}
