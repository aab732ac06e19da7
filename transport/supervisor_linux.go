package transport

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

const canSupervise = true

// supervisorProgram is this program, also when its file was replaced by another
// version in the meantime.
const supervisorProgram = "/proc/self/exe"

// sweepTimeout is how long a supervisor tries to end what its server has left
// behind. Only a process that hangs in the kernel takes longer than an instant.
const sweepTimeout = 10 * time.Second

// supervise is the whole life of a supervisor. Its arguments are the server's
// directory, the path of the server's program, and the server's own arguments,
// the name first.
func supervise() {
	// The parent-death signal of the server goes by this thread.
	runtime.LockOSThread()
	runtime.GOMAXPROCS(1)
	for _, descriptor := range []int{lifelineDescriptor, reportDescriptor} {
		syscall.CloseOnExec(descriptor)
	}
	report := os.NewFile(reportDescriptor, "report")
	if report == nil || len(os.Args) < 4 {
		fmt.Fprintf(os.Stderr, "transport: the variable %s is set, but not by transport.Lifeline; unset it\n", lifelineVariable)
		os.Exit(2)
	}

	// Before the server is there: from then on a signal is for the server.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM)

	becomeSubreaper()
	tryHandles()
	server, err := syscall.ForkExec(os.Args[2], os.Args[3:], &syscall.ProcAttr{
		Dir:   os.Args[1],
		Env:   serverEnvironment(),
		Files: []uintptr{0, 1, 2},
		Sys:   &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		fmt.Fprintln(report, reportFailed, int(errno))
		syscall.Exit(1)
	}
	leaveStreams()
	fmt.Fprintln(report, reportStarted, server)

	// Not os.Exit, which would first do what is due at the end of the worker:
	// write its coverage, wait for races.
	status := watchServer(server, signals)
	if status.Signaled() {
		fmt.Fprintln(report, reportKilled, int(status.Signal()))
		syscall.Exit(128 + int(status.Signal()))
	}
	fmt.Fprintln(report, reportExited, status.ExitStatus())
	syscall.Exit(status.ExitStatus())
}

// watchServer returns the server's status once the server and all its
// descendants have ended. It ends them when the server exits, and when the
// lifeline closes.
func watchServer(server int, signals <-chan os.Signal) syscall.WaitStatus {
	cut := make(chan struct{})
	go func() {
		defer close(cut)
		_, _ = os.NewFile(lifelineDescriptor, "lifeline").Read(make([]byte, 1))
	}()
	exited := make(chan syscall.WaitStatus, 1)
	allGone := make(chan struct{})
	go reapAll(server, exited, allGone)

	var status syscall.WaitStatus
	for running := true; running; {
		select {
		case status = <-exited:
			running = false
		case <-cut:
			// Not reaped yet, or exited would have said so: nearly always the
			// group is still the server's. And if not, it is empty.
			_ = syscall.Kill(-server, syscall.SIGKILL)
			running = false
		case received := <-signals:
			_ = syscall.Kill(-server, received.(syscall.Signal))
		}
	}
	sweep(allGone)
	select {
	case status = <-exited:
	default:
	}
	return status
}

// reapAll reaps children until there is none: the server, and what was orphaned
// below it and came to this process.
func reapAll(server int, exited chan<- syscall.WaitStatus, allGone chan<- struct{}) {
	defer close(allGone)
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil: // ECHILD: whoever is left would be a descendant of a child
			return
		case pid == server:
			exited <- status
		}
	}
}

// sweep kills descendants until none is left. One that is being born when they
// are listed comes up in the next list.
func sweep(allGone <-chan struct{}) {
	deadline := time.Now().Add(sweepTimeout)
	for pause := time.Millisecond; time.Now().Before(deadline); pause = min(2*pause, 50*time.Millisecond) {
		select {
		case <-allGone:
			return
		default:
		}
		killDescendants(os.Getpid())
		select {
		case <-allGone:
			return
		case <-time.After(pause):
		}
	}
}

// becomeSubreaper makes orphans below this process its children, where otherwise
// they would become init's.
func becomeSubreaper() {
	const setChildSubreaper = 36 // PR_SET_CHILD_SUBREAPER
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, setChildSubreaper, 1, 0)
}

// tryHandles has package os find out whether it can use process handles. It does
// so with a child of its own, which reapAll would take away from it later.
func tryHandles() {
	if self, err := os.FindProcess(os.Getpid()); err == nil {
		_ = self.Release()
	}
}

// leaveStreams lets go of the server's standard streams: the ends of pipes are
// seen on the other side only when nobody holds them.
func leaveStreams() {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return
	}
	defer func() { _ = null.Close() }()
	for descriptor := range 3 {
		_ = syscall.Dup3(int(null.Fd()), descriptor, 0)
	}
}

func serverEnvironment() []string {
	count, _ := strconv.Atoi(os.Getenv(lifelineVariable))
	env := make([]string, 0, count)
	for i := range count {
		env = append(env, os.Getenv(lifelineEntry(i)))
	}
	return env
}

// killGroup sends SIGKILL to the process group that pid leads.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
