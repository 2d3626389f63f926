package etcd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stopTime bounds the time that a server takes to stop in order; then it is killed.
const stopTime = 10 * time.Second

// process is a server in a process of its own.
type process struct {
	cmd     *exec.Cmd
	control *net.UnixConn
	log     *slog.Logger
	ready   chan struct{} // closed when it takes requests
	ended   chan struct{} // closed when it has ended
	err     error         // why it has ended, nil when it was to; set before ended is closed
	leads   atomic.Bool
	yielded chan error // of capacity 1
	differs chan error // of capacity 1: why it is to stop for good
	stopped atomic.Bool

	// mu guards the fields below it, which say why it ends.
	mu      sync.Mutex
	last    string // the last error in its log
	crash   string // what the Go runtime wrote first
	said    *word  // its last word
	isReady bool
}

// spawn starts a server.
func spawn(c *Config, lock *os.File) (*process, error) {
	pair, err := socketpair(unix.SOCK_SEQPACKET)
	if err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	control, err := unixConn(pair[0])
	if err != nil {
		return nil, err
	}
	self := "/proc/self/exe" // the program that runs, also when a newer one has taken its place
	if _, err := os.Stat(self); err != nil {
		if self, err = os.Executable(); err != nil {
			return nil, errors.Join(err, control.Close())
		}
	}
	p := &process{control: control, log: slog.New(slog.DiscardHandler), ready: make(chan struct{}),
		ended: make(chan struct{}), yielded: make(chan error, 1),
		differs: make(chan error, 1)}
	if c.Log != nil {
		p.log = c.Log.With("component", "etcd")
	}
	p.cmd = &exec.Cmd{
		Path: self, Args: []string{os.Args[0], "etcd", c.Dir}, Env: append(os.Environ(), serverMark+"=1"),
		ExtraFiles: []*os.File{theirs, lock},
		// It writes nothing there: a caller that waits for the end of this process's output waits for
		// both.
		Stdout: os.Stdout,
		// A stopped process does not notice a closed socket.
		SysProcAttr: endWithParent(),
	}
	out, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, errors.Join(err, control.Close())
	}
	started := make(chan error)
	go func() {
		// The kernel sends Pdeathsig when the thread that started the process ends, so this thread must
		// last as long as the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		if started <- err; err != nil {
			return
		}
		var read sync.WaitGroup
		read.Go(func() { p.readLog(out) })
		read.Go(p.listen)
		read.Wait()
		p.end(c, p.cmd.Wait())
		_ = control.Close()
		close(p.ended)
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(fmt.Errorf("etcd in a process of its own: %w", err), control.Close())
	}
	return p, p.send(order{Start: c.order()})
}

// unixConn returns a connection of a descriptor, which it takes.
func unixConn(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return c.(*net.UnixConn), nil
}

func (p *process) send(o order, files ...int) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, _, err = p.control.WriteMsgUnix(text, unix.UnixRights(files...), nil)
	return err
}

// connect returns a connection to the server.
func (p *process) connect() (net.Conn, error) {
	pair, err := socketpair(unix.SOCK_STREAM)
	if err != nil {
		return nil, fmt.Errorf("socketpair: %w", err)
	}
	defer unix.Close(pair[1])
	c, err := unixConn(pair[0])
	if err != nil {
		return nil, err
	}
	if err := p.send(order{Do: "connect"}, pair[1]); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// listen takes the words of the server until it ends.
func (p *process) listen() {
	text := make([]byte, maxMessage)
	for {
		n, err := p.control.Read(text)
		if err != nil {
			return
		}
		var w word
		if json.Unmarshal(text[:n], &w) != nil {
			continue
		}
		switch {
		case w.Ready:
			p.mu.Lock()
			p.isReady = true
			p.mu.Unlock()
			close(p.ready)
		case w.Leads != nil:
			p.leads.Store(*w.Leads)
		case w.Yielded:
			var err error
			if w.Fault != "" {
				err = errors.New(w.Fault)
			}
			select {
			case p.yielded <- err:
			default:
			}
		case w.Differs != "":
			select {
			case p.differs <- &reason{w.Differs, ErrDiffers}:
			default:
			}
		case w.Ended:
			p.mu.Lock()
			p.said = &w
			p.mu.Unlock()
		}
	}
}

// maxLine is the longest log line read.
const maxLine = 1 << 20

// readLog forwards the server's log, and remembers messages that explain the server's end.
func (p *process) readLog(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		p.line(lines.Bytes())
	}
	_, _ = io.Copy(io.Discard, r) // a line was too long
}

func (p *process) line(text []byte) {
	var l struct {
		Level  slog.Level     `json:"level"`
		Msg    string         `json:"msg"`
		Detail map[string]any `json:"detail"`
		// Members is in the message of a starting member about the members that it waits for.
		Members string `json:"members"`
	}
	if json.Unmarshal(text, &l) != nil || l.Msg == "" {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.crash == "" {
			p.crash = string(bytes.TrimSpace(text))
		}
		return
	}
	var args []any
	if l.Members != "" {
		args = append(args, "members", l.Members)
	}
	if l.Detail != nil {
		args = append(args, "detail", l.Detail)
	}
	p.log.Log(context.Background(), l.Level, l.Msg, args...)
	if l.Level >= slog.LevelError {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.last = l.Msg
		if cause, ok := l.Detail["error"].(string); ok {
			p.last += ": " + cause
		}
	}
}

// end finds out why the server has ended.
func (p *process) end(c *Config, exit error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.said != nil:
		p.err = p.said.err()
	case p.stopped.Load():
	case isKilled(exit):
		// What the server logged earlier did not end the server.
		p.err = fmt.Errorf("its process ended: %w: somebody has killed it, or the kernel has for want "+
			"of memory: see the kernel's log (dmesg), and the limit of the control group", exit)
	case p.crash != "":
		// The server has panicked, or has read beyond the data on the disk.
		p.err = fmt.Errorf("%w: %s or %s: %s", ErrDamaged, c.database(), c.log(), p.crash)
		p.err = c.explain(p.err, nil)
	case p.last != "" && !p.isReady && !isFull(p.last) && hasData(c):
		p.err = c.explain(fmt.Errorf("%w: %s or %s: %s", ErrDamaged, c.database(), c.log(), p.last), nil)
	case p.last != "":
		p.err = errors.New(p.last)
	default:
		p.err = fmt.Errorf("its process ended: %w", exit)
	}
}

// isKilled reports whether signal 9 ended a process.
func isKilled(exit error) bool {
	var e *exec.ExitError
	if !errors.As(exit, &e) {
		return false
	}
	s, ok := e.Sys().(syscall.WaitStatus)
	return ok && s.Signaled() && s.Signal() == unix.SIGKILL
}

// clean reports whether the server, which has ended, has ended in order.
func (p *process) clean() bool { return p.err == nil && p.cmd.ProcessState.Success() }

// isFull reports whether an error's text is about a disk or an address, and not about the data on
// the disk.
func isFull(text string) bool {
	for _, e := range []syscall.Errno{unix.ENOSPC, unix.EROFS, unix.EIO, unix.EDQUOT, unix.EACCES,
		unix.EADDRINUSE, unix.EADDRNOTAVAIL} {
		if strings.Contains(text, e.Error()) {
			return true
		}
	}
	return false
}

// hasData reports whether a directory has had a server before.
func hasData(c *Config) bool {
	_, err := os.Stat(filepath.Join(c.Dir, "etcd", "member", "snap", "db"))
	return err == nil
}

// stop ends the server in order, or by force when that takes too long.
func (p *process) stop() {
	p.stopped.Store(true)
	if err := p.send(order{Do: "stop"}); err == nil {
		select {
		case <-p.ended:
			return
		case <-time.After(stopTime):
		}
	}
	p.kill()
}

// kill ends the server at once.
func (p *process) kill() {
	p.stopped.Store(true)
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// yield has another member lead the etcd.
func (p *process) yield(ctx context.Context) error {
	select {
	case <-p.yielded: // of one that nobody waited for
	default:
	}
	if err := p.send(order{Do: "yield"}); err != nil {
		return err
	}
	select {
	case err := <-p.yielded:
		return err
	case <-p.ended:
		return errors.New("its process ended")
	case <-ctx.Done():
		return ctx.Err()
	}
}
