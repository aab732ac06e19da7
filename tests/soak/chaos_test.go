package soak

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpsession/mcpsession/tests/fixture"
)

// What can befall a process.
const (
	killHost      = "host killed"
	terminateHost = "host terminated"
	pauseHost     = "host paused"
	killServer    = "stdio server killed"
	restartHTTP   = "HTTP server killed and restarted"
)

// An act is one fault that was brought about.
type act struct {
	what string
	host string // the name of the host, for those that befall one
	pid  int    // of the MCP server, for those that befall one
	at   time.Time
	// until is when a pause was over; a host that it did not cost its sessions goes
	// on, and may lose them later for another reason.
	until time.Time
}

// explains reports whether the act is what a loss tells of.
func (a act) explains(l loss) bool {
	if a.at.After(l.Seen) {
		return false
	}
	switch l.Reason {
	case "server-gone":
		return a.pid != 0 && a.pid == l.Pid
	case "worker-stopped":
		return a.what == terminateHost && a.host == l.Host
	case "host-lost":
		return a.host == l.Host && (a.what == killHost || a.what == pauseHost && l.Seen.Before(a.until.Add(heartbeatTimeout)))
	}
	return false
}

// Chaos has the processes of a soak, and harms them.
type chaos struct {
	*testing.T
	random *rand.Rand
	owner  string
	queue  string
	log    string
	addr   string
	hosts  map[string]*exec.Cmd
	http   *exec.Cmd
	made   int
	acts   []act
}

const hostCount = 3

// start starts what is not there.
func (c *chaos) start() {
	c.Helper()
	if c.http == nil {
		c.http = c.process(roleHTTP, "")
	}
	for len(c.hosts) < hostCount {
		c.made++
		name := fmt.Sprint("host-", c.made)
		c.hosts[name] = c.process(roleHost, name)
	}
}

// process starts one of the test's processes, and returns when it is ready.
func (c *chaos) process(role, name string) *exec.Cmd {
	c.Helper()
	self, err := os.Executable()
	if err != nil {
		c.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), server.Environ()...),
		"GORACE=atexit_sleep_ms=0", roleVariable+"="+role, nameVariable+"="+name,
		ownerVariable+"="+c.owner, queueVariable+"="+c.queue, logVariable+"="+c.log, addressVariable+"="+c.addr)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		c.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		c.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		c.Fatalf("the process %s %s is not ready: %q, %v\n%s", role, name, line, err, stderr.String())
	}
	return cmd
}

// harm does something at random every second or so, until ctx is done.
func (c *chaos) harm(ctx context.Context) {
	c.Helper()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(300*time.Millisecond + time.Duration(c.random.IntN(1700))*time.Millisecond):
		}
		switch c.random.IntN(10) {
		case 0, 1:
			c.endHost(killHost, syscall.SIGKILL)
		case 2, 3:
			c.endHost(terminateHost, syscall.SIGTERM)
		case 4:
			c.pause(ctx)
		case 5:
			c.acts = append(c.acts, act{what: restartHTTP, pid: c.http.Process.Pid, at: time.Now()})
			c.kill(c.http)
			c.http = nil
		default:
			c.killServer()
		}
		c.start()
	}
}

// anyHost picks a host. The order of a map is no choice of the seed's.
func (c *chaos) anyHost() string {
	for {
		if name := fmt.Sprint("host-", 1+c.random.IntN(c.made)); c.hosts[name] != nil {
			return name
		}
	}
}

func (c *chaos) endHost(what string, signal syscall.Signal) {
	name := c.anyHost()
	c.acts = append(c.acts, act{what: what, host: name, at: time.Now()})
	_ = c.hosts[name].Process.Signal(signal)
	_ = c.hosts[name].Wait()
	delete(c.hosts, name)
}

// pause stops a host for longer than its heartbeat timeout. Its sessions are lost
// meanwhile; then it goes on, beside those that took its place.
func (c *chaos) pause(ctx context.Context) {
	name := c.anyHost()
	c.acts = append(c.acts, act{what: pauseHost, host: name, at: time.Now()})
	_ = c.hosts[name].Process.Signal(syscall.SIGSTOP)
	select {
	case <-ctx.Done():
	case <-time.After(heartbeatTimeout + 2*time.Second):
	}
	_ = c.hosts[name].Process.Signal(syscall.SIGCONT)
	c.acts[len(c.acts)-1].until = time.Now()
}

func (c *chaos) killServer() {
	var servers []int
	for _, pid := range fixture.Owned(ownerVariable, c.owner) {
		environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if strings.Contains(string(environ), roleVariable+"="+roleStdio+"\x00") && strings.HasPrefix(string(command), os.Args[0]) {
			servers = append(servers, pid)
		}
	}
	if len(servers) == 0 {
		return
	}
	pid := servers[c.random.IntN(len(servers))]
	c.acts = append(c.acts, act{what: killServer, pid: pid, at: time.Now()})
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func (c *chaos) kill(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// stop ends the hosts as an operator does, and returns the processes that are left.
func (c *chaos) stop() (left []int) {
	for name, host := range c.hosts {
		_ = host.Process.Signal(syscall.SIGTERM)
		_ = host.Wait()
		delete(c.hosts, name)
	}
	if c.http != nil {
		c.kill(c.http)
		c.http = nil
	}
	// The supervisors of killed hosts may be at their last step.
	deadline := time.Now().Add(30 * time.Second)
	for {
		left = fixture.Owned(ownerVariable, c.owner)
		if len(left) == 0 || time.Now().After(deadline) {
			return left
		}
		time.Sleep(50 * time.Millisecond)
	}
}
