package transport

import (
	"os"
	"strconv"
	"strings"
)

// A process is one entry of /proc.
type process struct {
	parent int
	born   string // start time in clock ticks since boot: with the id, unique
}

// killDescendants sends SIGKILL to all processes below root. Who starts while it
// looks may be missed.
func killDescendants(root int) {
	all := listProcesses()
	for pid, listed := range all {
		if !descends(all, pid, root) {
			continue
		}
		// The handle is bound to the process that has the id now. Only if that
		// is still the one which was listed is it ours to kill.
		handle, err := os.FindProcess(pid)
		if err != nil {
			continue
		}
		if now, ok := readProcess(pid); ok && now.born == listed.born {
			_ = handle.Kill()
		}
		_ = handle.Release()
	}
}

func descends(all map[int]process, pid, root int) bool {
	// A parent may have ended and its id been given away while the list was
	// made, so the chain may not even be one: its length is bounded.
	for range len(all) {
		entry, ok := all[pid]
		if !ok {
			return false
		}
		if entry.parent == root {
			return true
		}
		pid = entry.parent
	}
	return false
}

func listProcesses() map[int]process {
	all := make(map[int]process)
	directory, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer func() { _ = directory.Close() }()
	names, _ := directory.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if entry, ok := readProcess(pid); ok {
			all[pid] = entry
		}
	}
	return all
}

// readProcess reads /proc/PID/stat, in which the program's name stands in
// parentheses and may hold anything, parentheses and spaces too. The fields
// after it are counted from the third.
func readProcess(pid int) (process, bool) {
	const parentField, bornField = 4 - 3, 22 - 3
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) <= bornField {
		return process{}, false
	}
	parent, err := strconv.Atoi(fields[parentField])
	if err != nil {
		return process{}, false
	}
	return process{parent: parent, born: fields[bornField]}, true
}
