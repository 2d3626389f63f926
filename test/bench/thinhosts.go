package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/api/hostapi"
)

// hostsCommand is the argument that makes this program run thin hosts; the comma-separated
// addresses of their controllers and the hosts' names follow. Hosts take turns among the
// controllers. Thin hosts run in a separate process, as hosts run on separate machines, so the
// measured memory belongs only to the controller.
const hostsCommand = "hosts-process"

// What is said to the process, one a line, and what it answers.
const (
	awaitDenials   = "deny"  // from now on, count the hosts that come to deny EVs
	awaitNoDenials = "allow" // or those that come to deny none
	hostsCount     = "counting"
	hostsDone      = "done" // it was the last; the ms that a host took for its update follow
)

// startingHosts is how many hosts may have connected and hold nothing yet. All of them share two
// processors here: more would not read for so long that the controller gives them up.
const startingHosts = 256

// hostsMemory and hostMemory bound the memory of a process of hosts, with garbage: so much, and for
// each host so much more.
const (
	hostsMemory = 1 << 30
	hostMemory  = 640 << 10
)

// answerLimit bounds how long hosts take for anything.
const answerLimit = 5 * time.Minute

// failuresMeasured is how often something fails.
const failuresMeasured = 100

// thinHosts is the starter's end of the process.
type thinHosts struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan string
	// applying has for each wait the ms that the host in the middle took for its update.
	applying runs
}

// startThinHosts starts hosts, which connect to controllers at addresses with commas in between.
// Their first wait has begun: for hosts that deny nothing. Very many get what the controller leaves
// of the processors.
func startThinHosts(ctx context.Context, controllers string, names []string) (*thinHosts, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := append([]string{self, hostsCommand, controllers}, names...)
	if len(names) >= apartFrom {
		args = append([]string{"nice", "-n", "19"}, args...)
	}
	t := &thinHosts{cmd: exec.CommandContext(ctx, args[0], args[1:]...), answers: make(chan string)}
	t.cmd.Stderr = os.Stderr
	if t.in, err = t.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(t.answers)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			t.answers <- lines.Text()
		}
	}()
	return t, nil
}

// freeze stops hosts until thaw. Frozen hosts leave received data in their sockets.
func (t *thinHosts) freeze() error { return t.cmd.Process.Signal(syscall.SIGSTOP) }

func (t *thinHosts) thaw() error { return t.cmd.Process.Signal(syscall.SIGCONT) }

// stop ends the hosts, which may have ended by themselves.
func (t *thinHosts) stop() error {
	_ = t.in.Close()
	for range t.answers { // until the end of its output, which Wait wants to be read
	}
	return t.cmd.Wait()
}

// await begins a wait.
func (t *thinHosts) await(ctx context.Context, what string) error {
	if _, err := fmt.Fprintln(t.in, what); err != nil {
		return err
	}
	return t.answer(ctx, hostsCount)
}

// wait ends a wait.
func (t *thinHosts) wait(ctx context.Context) error { return t.answer(ctx, hostsDone) }

func (t *thinHosts) answer(ctx context.Context, want string) error {
	select {
	case got, ok := <-t.answers:
		switch {
		case !ok:
			return errors.New("the hosts have ended")
		case got == want:
			return nil
		}
		var took float64
		if _, err := fmt.Sscanf(got, want+" %f", &took); err != nil {
			return fmt.Errorf("the hosts say %q, want %q", got, want)
		}
		t.applying = append(t.applying, took)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(answerLimit):
		return fmt.Errorf("the hosts do not say %q after %v", want, answerLimit)
	}
}

// hostsProcess is the hosts, until its input ends.
func hostsProcess(controllers []string, names []string) error {
	debug.SetGCPercent(-1) // hosts do not stop for each other's garbage
	debug.SetMemoryLimit(hostsMemory + int64(len(names))*hostMemory)
	ctx, cancel := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	a := &awaited{last: make(chan struct{}, 1)}
	a.begin(false, len(names))
	starting := make(chan struct{}, startingHosts)
	group.Go(func() error {
		for i, name := range names {
			select {
			case starting <- struct{}{}:
			case <-ctx.Done():
				return nil
			}
			started := sync.OnceFunc(func() { <-starting })
			counted := a.host()
			group.Go(func() error {
				return runThinHost(ctx, name, controllers[i%len(controllers)], func(s *hostapi.State) {
					started()
					counted(s)
				}, a.took)
			})
		}
		return nil
	})
	group.Go(func() error {
		for {
			select {
			case <-a.last:
				fmt.Println(hostsDone, a.taken())
			case <-ctx.Done():
				return nil
			}
		}
	})
	over := make(chan struct{})
	go func() {
		defer close(over)
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); fmt.Println(hostsCount) {
			runtime.GC() // and none is late for the garbage of all
			a.begin(lines.Text() == awaitDenials, len(names))
		}
	}()
	select {
	case <-over:
	case <-ctx.Done(): // a host has failed
	}
	cancel()
	return group.Wait()
}

// awaited is the hosts that are waited for.
type awaited struct {
	denial atomic.Bool // what is waited for: that EVs are denied, or that none is
	open   atomic.Int64
	last   chan struct{}

	mu    sync.Mutex
	times runs // ms for an update, by host
}

// took notes how long a host took for an update.
func (a *awaited) took(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.times = append(a.times, float64(d.Microseconds())/1000)
}

// taken returns the ms that the host in the middle took since the last call; 0: none has said so
// yet.
func (a *awaited) taken() float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.times) == 0 {
		return 0
	}
	m := a.times.median()
	a.times = a.times[:0]
	return m
}

// begin waits for n hosts.
func (a *awaited) begin(denial bool, n int) {
	a.denial.Store(denial)
	a.open.Store(int64(n))
}

// host is told what one host holds.
func (a *awaited) host() func(*hostapi.State) {
	held := true // nothing yet, which is neither
	return func(s *hostapi.State) {
		denies := slices.ContainsFunc(s.Profiles, func(p *hostapi.Profile) bool {
			return len(p.Denied) > 0
		})
		if denies != held && denies == a.denial.Load() && a.open.Add(-1) == 0 {
			a.last <- struct{}{}
		}
		held = denies
	}
}

// failing is something that fails and comes back, again and again.
type failing struct {
	fail    func(i int) func() error // prepares what fails
	restore func(i int) error
	settled func() bool // the controller has heard all that hosts had to say of the last change
}

// measure measures the time from each failure to the last host having applied what it denies. Each
// comes to a controller at rest.
func (t *thinHosts) measure(ctx context.Context, out *report, name string, f failing,
	more []field) error {
	var took runs
	cpu := processorTime()
	for i := range failuresMeasured {
		for !f.settled() {
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := t.await(ctx, awaitDenials); err != nil {
			return err
		}
		fail := f.fail(i)
		start := time.Now()
		if err := fail(); err != nil {
			return err
		}
		if err := t.wait(ctx); err != nil {
			return err
		}
		took = append(took, float64(time.Since(start).Microseconds())/1000)
		if err := t.await(ctx, awaitNoDenials); err != nil {
			return err
		}
		if err := f.restore(i); err != nil {
			return err
		}
		if err := t.wait(ctx); err != nil {
			return err
		}
	}
	cpu = processorTime() - cpu
	slices.Sort(took)
	return out.print(figure{bench: name, unit: "ms", value: took.p99(), more: append(more,
		field{"median", took.median()}, field{"max", took[len(took)-1]},
		field{"cpuMillis", float64(cpu.Microseconds()) / 1000 / failuresMeasured},
		field{"runs", len(took)})})
}
