package bmv2

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"
)

// ErrExited marks a switch process that ended although nobody ended it.
var ErrExited = errors.New("the switch ended")

// Process is a BMv2 switch that runs.
type Process struct {
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has ended
	// err and output are written until exited is closed, and read only then.
	err    error
	output bytes.Buffer
}

// exitDelay is how long the children of an ended process may keep its output open.
const exitDelay = time.Second

// startProcess starts a switch by start, which is cmd.Start or a way around it.
func startProcess(cmd *exec.Cmd, start func() error) (*Process, error) {
	p := &Process{cmd: cmd, exited: make(chan struct{})}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &p.output, &p.output, exitDelay
	if err := start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// PID returns the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited returns a channel that is closed when the process has ended.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Failure waits until the process has ended. It returns [ErrExited] with the reason and
// what the process printed last.
func (p *Process) Failure() error {
	<-p.exited
	return fmt.Errorf("%w: %v: %s", ErrExited, p.err, p.said())
}

// End kills the process, waits for its end, and returns its last output.
func (p *Process) End() string {
	_ = p.cmd.Process.Kill() // an error means that it has ended
	<-p.exited
	return p.said()
}

// said returns the end of what a process printed that has ended.
func (p *Process) said() string {
	const most = 2000 // octets
	b := bytes.TrimSpace(p.output.Bytes())
	return string(b[max(0, len(b)-most):])
}

// Command sends simple_switch_CLI commands to a simple_switch with its Thrift server on a loopback
// port, like [Command]. Command gives up when the process ends.
func (p *Process) Command(ctx context.Context, thrift int, script string) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		said string
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		said, err := Command(ctx, thrift, script)
		done <- answer{said, err}
	}()
	select {
	case a := <-done:
		return a.said, a.err
	case <-p.exited:
		cancel()
		<-done
		return "", p.Failure()
	}
}
