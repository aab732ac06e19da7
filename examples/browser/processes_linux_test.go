package browser_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
)

// A process is what /proc tells of one.
type process struct {
	pid, parent, session int
	born                 string // with the id, unique
	command              string
}

// processes returns what works in the bundle's directory: servers, browsers,
// supervisors, workers, and whatever descends from one of them or is in its session.
// Of Chromium's processes, only some have an environment, a parent or a session by
// which they can be told from others.
func (b *bundle) processes() map[int]process {
	b.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		b.Fatal(err)
	}
	all, ours := make(map[int]process), make(map[int]process)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		p, ok := readProcess(pid)
		if !ok {
			continue
		}
		all[pid] = p
		environment, _ := os.ReadFile("/proc/" + entry.Name() + "/environ")
		if strings.Contains(p.command, b.scratch) || strings.Contains(string(environment), b.scratch) {
			ours[pid] = p
		}
	}
	for grown := true; grown; {
		grown = false
		for pid, p := range all {
			_, known := ours[pid]
			_, child := ours[p.parent]
			_, member := ours[p.session]
			if !known && (child || member) {
				ours[pid], grown = p, true
			}
		}
	}
	return ours
}

// readProcess reports no zombie: that has ended, and waits for its parent to ask.
func readProcess(pid int) (process, bool) {
	directory := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(directory + "/stat")
	if err != nil {
		return process{}, false
	}
	// The name of the program, in parentheses, may hold anything. The third field
	// comes after it.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if state := fields[0]; state == "Z" || state == "X" {
		return process{}, false
	}
	parent, _ := strconv.Atoi(fields[4-3])
	session, _ := strconv.Atoi(fields[6-3])
	command, _ := os.ReadFile(directory + "/cmdline")
	return process{
		pid: pid, parent: parent, session: session, born: fields[22-3],
		command: strings.ReplaceAll(string(command), "\x00", " "),
	}, true
}

// find returns the processes of the bundle whose command line holds a text.
func (b *bundle) find(part string) (found []process) {
	b.Helper()
	for _, p := range b.processes() {
		if strings.Contains(p.command, part) {
			found = append(found, p)
		}
	}
	return found
}

// chromium returns Chromium's first process, whose end is the browser's. It is the
// leader of its session.
func (b *bundle) chromium() process {
	b.Helper()
	for _, p := range b.find("--remote-debugging-pipe") {
		if p.pid == p.session {
			return p
		}
	}
	b.Fatal("no browser runs")
	return process{}
}

// server returns the process of an MCP server.
func (b *bundle) server() process {
	b.Helper()
	for _, p := range b.find("cli.js") {
		if strings.HasPrefix(p.command, installed.Node) { // and not the supervisor
			return p
		}
	}
	b.Fatal("no server runs")
	return process{}
}

// wantTree returns the processes of the bundle, and fails the test if one of the
// kinds that a browser is made of can't be seen.
func (b *bundle) wantTree(supervised bool) map[int]process {
	b.Helper()
	b.server()
	b.chromium()
	parts := []string{"--type=zygote", "--type=renderer"}
	if supervised {
		parts = append(parts, "mcpsession-lifeline")
	}
	for _, part := range parts {
		if len(b.find(part)) == 0 {
			b.Errorf("there is no process with %q", part)
		}
	}
	return b.processes()
}

// awaitGone returns when none of the processes is left, and none that works in the
// bundle's directory but those to be spared.
func (b *bundle) awaitGone(tree map[int]process, spared ...int) {
	b.Helper()
	for {
		left := b.processes()
		for pid, p := range tree {
			if now, ok := readProcess(pid); ok && now.born == p.born {
				left[pid] = now
			}
		}
		for _, pid := range spared {
			delete(left, pid)
		}
		if len(left) == 0 {
			return
		}
		var list strings.Builder
		for _, p := range slices.SortedFunc(maps.Values(left), func(p, q process) int { return p.pid - q.pid }) {
			fmt.Fprintf(&list, "\n%d, child of %d, in session %d: %.100s", p.pid, p.parent, p.session, p.command)
		}
		b.pause("processes are left:" + list.String())
	}
}

func (b *bundle) kill(p process) {
	b.Helper()
	handle, err := os.FindProcess(p.pid)
	if err != nil {
		b.Fatal(err)
	}
	if err := handle.Kill(); err != nil {
		b.Errorf("kill %d: %v", p.pid, err)
	}
}
