//go:build linux

package uverbs

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// ends expects the NIC to end a connection.
func (a *app) ends() {
	a.t.Helper()
	if n, err := a.conn.Read(make([]byte, 10)); n != 0 || !errors.Is(err, io.EOF) &&
		!errors.Is(err, unix.ECONNRESET) {
		a.t.Errorf("%d octets, %v: want the end of the connection", n, err)
	}
}

// TestHelloTime: a connection without HELLO ends, and others do not.
func TestHelloTime(t *testing.T) {
	b := newBed(t, func(s *Server) { s.helloTime = 50 * time.Millisecond })
	says := b.app(0)
	for range 3 {
		b.dial(0).ends()
	}
	says.must(opAllocPD, nil, &object{})
}

// TestUsers: a user has no more connections, and no more descriptors, than leave as many to others;
// what ends makes room.
func TestUsers(t *testing.T) {
	p := newPair(t, nil)
	s := p.bed.doors[0]
	s.mu.Lock()
	s.room = 8*ofConnection + 2 // the pair has a channel
	s.mu.Unlock()
	var apps []*app
	for range 3 { // and that of the pair
		apps = append(apps, p.bed.app(0))
	}
	for range 2 {
		a := p.bed.dial(0)
		a.refused(opHello, &hello{Version: version}, unix.EUSERS)
		a.ends()
	}
	if _, err := s.admit(1 << 20); err != nil {
		t.Errorf("another user: %v", err)
	}
	if _, err := s.admit(1<<20 + 1); err != nil {
		t.Errorf("a third user: %v", err)
	}
	s.mu.Lock()
	s.dismissAll(1<<20, 1<<20+1)
	s.mu.Unlock()
	apps[0].refused(opCreateChannel, nil, unix.EMFILE)
	if err := apps[1].conn.Close(); err != nil {
		t.Fatal(err)
	}
	p.bed.left(t, 3)
	for done := false; !done; { // the connection's goroutine gives it back after its process
		s.mu.Lock()
		done = s.held == 3*ofConnection+1
		s.mu.Unlock()
	}
	var ch object
	_ = unix.Close(apps[0].must(opCreateChannel, nil, &ch)[0])
	apps[0].must(opDestroyChannel, &object{ch.Handle}, nil)
	p.bed.app(0)
	s.mu.Lock()
	s.room = 1 << 20
	for _, u := range s.accounts {
		u.connections += maxConnections - 4
	}
	s.mu.Unlock()
	p.bed.dial(0).refused(opHello, &hello{Version: version}, unix.EUSERS)
	s.mu.Lock()
	for _, u := range s.accounts {
		u.connections -= maxConnections - 4
	}
	s.mu.Unlock()
	p.works(t)
}

// dismissAll takes the connections of users back, who have one each.
func (s *Server) dismissAll(ids ...uint32) {
	for _, id := range ids {
		s.giveLocked(s.accounts[id], ofConnection)
		delete(s.accounts, id)
	}
}

// TestRingsOfUser: the rings of all processes of a user are bounded together.
func TestRingsOfUser(t *testing.T) {
	p := newPair(t, nil)
	a := p.bed.app(0)
	charge := func(n int) {
		_ = p.bed.do(func(time.Duration) {
			for _, u := range p.bed.doors[0].accounts {
				u.octets += n
			}
		})
	}
	charge(maxSharedOfUser - 1<<20)
	a.refused(opCreateCQ, &cqRequest{Depth: maxCQDepth}, unix.ENOMEM)
	charge(-maxSharedOfUser + 1<<20)
	a.cq(maxCQDepth)
}

// lines is a log that tests wait for.
type lines struct {
	mu   sync.Mutex
	said bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.Write(b)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.said.String(), text)
}

// TestAcceptGoesOn: if the machine has no descriptor for a connection, the connection waits until a
// descriptor is free.
func TestAcceptGoesOn(t *testing.T) {
	log := &lines{}
	b := newBed(t, func(s *Server) { s.log = slog.New(slog.NewTextHandler(log, nil)) })
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "app")
	defer func() { _ = f.Close() }()
	next, err := unix.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(next)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = uint64(next)
	setLimit := func(to *unix.Rlimit) {
		t.Helper()
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, to); err != nil {
			t.Fatal(err)
		}
	}
	setLimit(&none)
	err = unix.Connect(fd, &unix.SockaddrUnix{Name: b.paths[0]})
	for err == nil && !log.has("cannot connect for now") {
	}
	setLimit(&limit)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.FileConn(f)
	if err != nil {
		t.Fatal(err)
	}
	a := &app{t: t, conn: c.(*net.UnixConn)}
	t.Cleanup(func() { _ = c.Close() })
	for _, fd := range a.hello() {
		_ = unix.Close(fd)
	}
}

// TestServeFails: an error of accept that does not pass is the owner's.
func TestServeFails(t *testing.T) {
	b := newBed(t)
	l, err := Listen(filepath.Join(t.TempDir(), "other.sock"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := b.doors[0].Serve(l, false); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// TestCloseOfHostile: a NIC ends although processes ring and ask without an end, and one has the
// NIC's reads of its doorbell wait.
func TestCloseOfHostile(t *testing.T) {
	p := newPair(t, nil)
	waits := p.bed.app(0)
	if err := unix.SetNonblock(waits.ring, false); err != nil {
		t.Fatal(err)
	}
	waits.qp(waits.cq(1), nil).ringBell()
	var asks sync.WaitGroup
	defer asks.Wait()
	for range 8 {
		a := p.bed.app(0)
		q := a.qp(a.cq(1), nil)
		asks.Go(func() {
			for {
				q.ringBell()
				if _, err := a.call(opAllocPD, nil, nil); err != nil && !errors.Is(err, unix.ENOMEM) {
					return
				}
			}
		})
	}
	began := time.Now()
	if err := p.bed.doors[0].Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > closeTime {
		t.Errorf("it took %v", took)
	}
}

// TestLogIsBounded: what applications do again and again is not logged each time, and counted.
func TestLogIsBounded(t *testing.T) {
	log := &lines{}
	b := newBed(t, func(s *Server) { s.log = slog.New(slog.NewTextHandler(log, nil)) })
	for range 100 {
		b.doors[0].say("again")
	}
	b.doors[0].lines.SetBurst(1000)
	b.doors[0].lines.SetLimit(1e9)
	for !log.has("linesLeftOut") {
		b.doors[0].say("again")
	}
	if n := strings.Count(log.said.String(), "again"); n > 70 {
		t.Errorf("%d lines", n)
	}
}
