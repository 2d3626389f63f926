package etcd

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
)

// apart opens a store with its server in a separate process.
func apart(t *testing.T, c Config) *Store {
	t.Helper()
	c.Apart = true
	s := open(t, c)
	t.Cleanup(func() { closed(t, s) })
	return s
}

func TestApartContract(t *testing.T) {
	if testing.Short() {
		t.Skip("a process for each case")
	}
	t.Parallel()
	storetest.Contract(t, func(t *testing.T) store.Store { return apart(t, Config{Dir: t.TempDir()}) })
	storetest.SharedContract(t, func(t *testing.T) store.Shared {
		return apart(t, Config{Dir: t.TempDir()})
	})
}

// pid returns the process of the server; 0: there is none.
func (s *Store) pid() int {
	s.ward.mu.Lock()
	defer s.ward.mu.Unlock()
	if s.ward.server == nil {
		return 0
	}
	return s.ward.server.cmd.Process.Pid
}

// TestOneOfOne: a single member, in this process or in a separate process, leads and cannot yield
// to another member; when the store closes the member, it logs no error, nothing goes on, and the
// process ends in order.
func TestOneOfOne(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		var out bytes.Buffer
		c := newTrio(t).config("a")
		c.Peers.Members = map[string]string{"a": c.Peers.Members["a"]}
		c.Apart, c.Log = apart, slog.New(slog.NewTextHandler(&out, nil))
		s := open(t, c)
		await(t, "the only member leads", s.Leads)
		if err := s.Yield(t.Context()); err != nil || !s.Leads() {
			t.Errorf("apart %v: after %v it leads: %v", apart, err, s.Leads())
		}
		var server *process
		if apart {
			server = s.ward.server
			if name := server.cmd.Args[0]; name != os.Args[0] {
				t.Errorf("its process is called %s, want %s", name, os.Args[0])
			}
		}
		closed(t, s)
		if server != nil && (!server.cmd.ProcessState.Success() || server.err != nil) {
			t.Errorf("its process did not end in order: %v, %v", server.cmd.ProcessState, server.err)
		}
		if strings.Contains(out.String(), net.ErrClosed.Error()) {
			t.Errorf("apart %v: it says\n%s", apart, &out)
		}
	}
}

// TestKill: a killed server is not started again, the store refuses changes, and another store has
// all the data.
func TestKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, Config{Dir: dir, Apart: true})
	put(t, s, "g", "1")
	first := s.ward.server
	s.Kill()
	if state := first.cmd.ProcessState; state == nil || state.Success() {
		t.Errorf("it ended in order: %v", state)
	}
	select {
	case <-s.ward.ended:
	default:
		t.Error("one that was killed may be started again")
	}
	if _, err := s.Put(t.Context(), "h", []byte("2"), store.Any); !errors.Is(err,
		store.ErrUnavailable) || s.pid() != 0 {
		t.Errorf("a change of one that was killed: %v, process %d", err, s.pid())
	}
	if err := s.Yield(t.Context()); !errors.Is(err, store.ErrUnavailable) || s.Leads() {
		t.Errorf("one that was killed leads: %v; it yields: %v", s.Leads(), err)
	}
	closed(t, s)
	again := apart(t, Config{Dir: dir})
	if r, err := again.Get(t.Context(), "g"); err != nil || string(r.Value) != "1" {
		t.Errorf("another one has %q: %v", r.Value, err)
	}
}

// TestServerDies: when a server ends by itself, no data is lost: the store logs the reason and
// starts another server with all the data.
func TestServerDies(t *testing.T) {
	t.Parallel()
	s := apart(t, Config{Dir: t.TempDir()})
	put(t, s, "g", "1")
	watch, err := s.Watch(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	first := s.pid()
	if err := unix.Kill(first, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, "the server has ended", func() bool { err = s.Writable(); return err != nil })
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(),
		"killed: somebody has killed it, or the kernel has for want of memory") {
		t.Errorf("the server has ended: %v", err)
	}
	if _, err := s.Get(t.Context(), "g"); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("Get: %v", err)
	}
	await(t, "another server", func() bool { return s.Writable() == nil })
	if second := s.pid(); second == first {
		t.Errorf("the server is process %d still", second)
	}
	if got := get(t, s, "g"); got != "1" {
		t.Errorf("g is %q", got)
	}
	put(t, s, "h", "2")
	for _, want := range []string{"g", "h"} {
		if e := <-watch; e.Record.Key != want {
			t.Errorf("the watch has %s, want %s", e.Record.Key, want)
		}
	}
}

// TestThreadsEnd: the server outlives the thread that started the server, and ends with the whole
// process alone (Pdeathsig).
func TestThreadsEnd(t *testing.T) {
	t.Parallel()
	s := apart(t, Config{Dir: t.TempDir()})
	threads := func() map[string]bool {
		list, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Skipf("threads cannot be listed: %v", err)
		}
		is := map[string]bool{}
		for _, e := range list {
			is[e.Name()] = true
		}
		return is
	}
	// Goroutines that hold a thread each take all that are idle. Those that end so end the threads.
	var begun sync.WaitGroup
	hold, held := make(chan struct{}), make(chan string)
	n := 2*len(threads()) + 10
	begun.Add(n)
	for range n {
		go func() {
			runtime.LockOSThread()
			begun.Done()
			<-hold
			held <- strconv.Itoa(unix.Gettid())
		}()
	}
	begun.Wait()
	close(hold)
	ends := map[string]bool{}
	for range n {
		ends[<-held] = true
	}
	delete(ends, strconv.Itoa(os.Getpid())) // the first one stays
	first := s.pid()
	await(t, "the threads have ended", func() bool {
		for id := range threads() {
			if ends[id] {
				return false
			}
		}
		return true
	})
	put(t, s, "g", "1")
	if second := s.pid(); second != first {
		t.Errorf("the server is process %d, and was %d", second, first)
	}
}

// fake is a disk that a test fills and breaks.
type fake struct {
	free  atomic.Int64
	whole atomic.Bool
	fault atomic.Pointer[error]
}

func newFake() *fake {
	f := &fake{}
	f.free.Store(100 << 20)
	f.whole.Store(true)
	return f
}

func (f *fake) become(d *disk) {
	d.space = func() (uint64, uint64, error) { return uint64(f.free.Load()), 1 << 30, nil }
	d.reserve = f.whole.Load
	real := d.probe
	d.probe = func() error {
		if err := f.fault.Load(); err != nil && *err != nil {
			return *err
		}
		return real()
	}
}

func (f *fake) fail(err error) { f.fault.Store(&err) }

// TestMarks: below the first mark of free space new records are refused and deletions are taken,
// below the second one the server is stopped before a write fails; it comes back by itself.
func TestMarks(t *testing.T) {
	t.Parallel()
	f := newFake()
	s := apart(t, Config{Dir: t.TempDir(), disk: f.become})
	for _, key := range []string{"a", "b", "c"} {
		put(t, s, key, "1")
	}
	state := func() store.DiskState {
		d, ok := s.Disk()
		if !ok {
			t.Fatal("no disk is watched")
		}
		return d.State
	}
	try := func(when string, want error) {
		t.Helper()
		if _, err := s.Put(t.Context(), "x", []byte("1"), store.Any); !errors.Is(err, want) {
			t.Errorf("%s: Put: %v, want %v", when, err, want)
		}
	}
	f.free.Store(defaultMinFree)
	try("at the first mark", nil)
	f.free.Store(defaultMinFree - 1)
	try("below the first mark", store.ErrNoRoom)
	if _, err := s.Delete(t.Context(), "a", store.Any); err != nil {
		t.Errorf("a deletion below the first mark: %v", err)
	}
	f.free.Store(0)
	try("without room, with the reserve", store.ErrNoRoom)
	if _, err := s.Delete(t.Context(), "b", store.Any); err != nil || s.pid() == 0 {
		t.Errorf("a deletion from the reserve: %v; the server is process %d", err, s.pid())
	}
	f.free.Store(defaultLeastFree)
	f.whole.Store(false)
	try("at the second mark", store.ErrNoRoom)
	await(t, "little room is seen", func() bool { return state() == store.DiskLow })
	time.Sleep(2 * diskLook)
	if s.pid() == 0 || state() != store.DiskLow {
		t.Errorf("at the second mark the server is process %d, the disk is %v", s.pid(), state())
	}
	f.free.Store(defaultLeastFree - 1)
	await(t, "the server is stopped", func() bool { return s.pid() == 0 })
	_, err := s.Delete(t.Context(), "c", store.Any)
	if !errors.Is(err, store.ErrNoRoom) || !errors.Is(err, store.ErrUnavailable) ||
		!strings.Contains(err.Error(), "the reserve is used up") {
		t.Errorf("a deletion below the second mark: %v", err)
	}
	if err := s.Writable(); !errors.Is(err, store.ErrNoRoom) || state() != store.DiskOut {
		t.Errorf("Writable: %v; the disk is %v", err, state())
	}
	f.free.Store(defaultMinFree - 1) // more than the second mark, and not enough to come back
	time.Sleep(2 * diskLook)
	if s.pid() != 0 {
		t.Error("the server is back below the first mark")
	}
	f.free.Store(defaultMinFree)
	await(t, "the server is back", func() bool { return s.Writable() == nil })
	try("with room again", nil)
	if got := get(t, s, "c"); got != "1" {
		t.Errorf("c is %q", got)
	}
}

// TestDiskFails: a disk that takes no writes stops the server; it comes back when the disk does.
func TestDiskFails(t *testing.T) {
	t.Parallel()
	for _, fault := range []error{unix.EROFS, unix.EIO} {
		f := newFake()
		s := apart(t, Config{Dir: t.TempDir(), disk: f.become})
		put(t, s, "g", "1")
		f.fail(fault)
		await(t, "the server is stopped", func() bool { return s.pid() == 0 })
		if _, err := s.Put(t.Context(), "g", []byte("2"), store.Any); !errors.Is(err, store.ErrDisk) ||
			!strings.Contains(err.Error(), fault.Error()) {
			t.Errorf("%v: Put: %v", fault, err)
		}
		if d, _ := s.Disk(); d.State != store.DiskFailed || !strings.Contains(d.Reason, fault.Error()) {
			t.Errorf("%v: the disk is %+v", fault, d)
		}
		f.fail(nil)
		await(t, "the server is back", func() bool { return s.Writable() == nil })
		put(t, s, "g", "3")
	}
}

// TestSlow: a disk counts as slow while each of the last syncs took long, and no longer after a
// fast sync; a disk that does not answer also counts as slow.
func TestSlow(t *testing.T) {
	d := &disk{
		dir: "d", minFree: 1, changed: make(chan struct{}), reserve: func() bool { return true },
		space: func() (uint64, uint64, error) { return 10, 10, nil },
	}
	slow := func() bool {
		s, _ := d.look()
		return s.Slow
	}
	for range slowProbes - 1 {
		d.probed(slowSync+1, nil)
	}
	if slow() {
		t.Errorf("slow after %d slow syncs", slowProbes-1)
	}
	_, changed := d.now()
	d.probed(slowSync+1, nil)
	if s, _ := d.look(); !s.Slow || s.State != store.DiskOK || !strings.Contains(s.Reason, "is slow") {
		t.Errorf("after %d slow syncs: %+v", slowProbes, s)
	}
	select {
	case <-changed:
	default:
		t.Error("nobody is told that the disk is slow")
	}
	d.probed(slowSync, nil)
	if slow() {
		t.Error("slow after a sync that was fast enough")
	}
	d.begun = time.Now().Add(-time.Minute)
	if s, _ := d.look(); !s.Slow || s.Sync < time.Minute {
		t.Errorf("a sync that does not end: %+v", s)
	}
}

// TestReserve: blocks of the database are allocated ahead.
func TestReserve(t *testing.T) {
	dir := t.TempDir()
	db := filepath.Join(dir, "db")
	if reserve(db, dir) {
		t.Error("there is a reserve without a database")
	}
	if err := os.WriteFile(db, make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	if reserve(db, dir) {
		t.Error("there is a reserve without a next segment")
	}
	next, err := os.Create(filepath.Join(dir, "1.tmp"))
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if err := next.Truncate(segment); err != nil {
		t.Fatal(err)
	}
	if !reserve(db, dir) {
		t.Skip("the file system of temporary files cannot allocate ahead")
	}
	var s unix.Stat_t
	if err := unix.Stat(db, &s); err != nil || s.Blocks*512 < headroom || s.Size != 100 {
		t.Errorf("the database has %d octets of blocks, and %d octets; %v", s.Blocks*512, s.Size, err)
	}
}

// refused opens a store that cannot start, and returns why.
func refused(t *testing.T, c Config) error {
	t.Helper()
	c.Apart, c.NoSync, c.Release = true, true, "weft test"
	s, err := Open(t.Context(), c)
	if err == nil {
		closed(t, s)
		t.Fatal("it starts")
	}
	held, locked := lock(c.Dir)
	if locked != nil {
		t.Errorf("after %v: %v", err, locked)
	} else {
		_ = held.Close()
	}
	return err
}

// TestDamage: the error for a damaged directory reports the damage and the remedy in one sentence.
func TestDamage(t *testing.T) {
	t.Parallel()
	made := t.TempDir()
	s := open(t, Config{Dir: made})
	for i := range 2000 {
		put(t, s, "key"+strings.Repeat("x", i%50)+string(rune('a'+i%26)), strings.Repeat("value", 40))
	}
	closed(t, s)
	inDB := func(change func(b []byte) []byte) func(*testing.T, *Config) {
		return func(t *testing.T, c *Config) { rewrite(t, c.database(), change) }
	}
	inLog := func(change func(b []byte) []byte) func(*testing.T, *Config) {
		return func(t *testing.T, c *Config) {
			files, err := filepath.Glob(filepath.Join(c.log(), "*.wal"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			rewrite(t, files[len(files)-1], change)
		}
	}
	for name, damage := range map[string]func(*testing.T, *Config){
		"a database of zeros":  inDB(func(b []byte) []byte { return make([]byte, len(b)) }),
		"a database cut short": inDB(func(b []byte) []byte { return b[:20480] }),
		"an empty database":    inDB(func([]byte) []byte { return nil }),
		"a database of noise": inDB(func(b []byte) []byte {
			for i := 8192; i < min(len(b), 1<<20); i++ {
				b[i] = byte(rand.Uint32())
			}
			return b
		}),
		"no database": func(t *testing.T, c *Config) {
			if err := os.Remove(c.database()); err != nil {
				t.Fatal(err)
			}
		},
		"a log cut short": inLog(func(b []byte) []byte { return b[:4096] }),
		"a log of noise": inLog(func(b []byte) []byte {
			for i := 2048; i < 65536; i++ {
				b[i] = byte(rand.Uint32())
			}
			return b
		}),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(made)); err != nil {
				t.Fatal(err)
			}
			c := Config{Dir: dir}
			damage(t, &c)
			err := refused(t, c)
			text := err.Error()
			if !errors.Is(err, ErrDamaged) || !strings.Contains(text, "weft restore") ||
				strings.Contains(text, "\n") ||
				!strings.Contains(text, c.database()) && !strings.Contains(text, c.log()) {
				t.Errorf("%v", err)
			}
			t.Log(err)
		})
	}
}

func rewrite(t *testing.T, file string, change func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, change(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestForeign: a directory of several controllers does not start under the configuration of a
// single controller, nor the reverse, nor under the configuration of other controllers.
func TestForeign(t *testing.T) {
	t.Parallel()
	w := newTrio(t)
	w.start("a", "b", "c")
	w.stop("a")
	w.stop("b")
	w.stop("c")
	alone := t.TempDir()
	closed(t, open(t, Config{Dir: alone}))
	others := newTrio(t)
	for name, c := range map[string]struct {
		config Config
		want   string
	}{
		"of three, alone": {Config{Dir: w.dirs["a"]}, "give it their cluster.etcd.members"},
		"alone, of three": {Config{Dir: alone, Peers: w.config("a").Peers},
			"of a controller alone, and the configuration has cluster.etcd.members"},
		"of three, of others": {Config{Dir: w.dirs["b"], Peers: others.config("a").Peers},
			"take the right directory"},
	} {
		if err := refused(t, c.config); !errors.Is(err, ErrForeign) ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestReplacedReturns: a replaced member that comes back with its old directory reports the
// replacement.
func TestReplacedReturns(t *testing.T) {
	t.Parallel()
	w := newTrio(t)
	w.start("a", "b", "c")
	w.stop("c")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := w.stores["a"].Replace(ctx, "c"); err != nil {
		t.Fatal(err)
	}
	err := refused(t, w.config("c"))
	if !errors.Is(err, ErrReplaced) || !strings.Contains(err.Error(), "start with an empty one") {
		t.Errorf("%v", err)
	}
}

// TestInterruptedApart: a start that waits for other members ends at once when interrupted.
func TestInterruptedApart(t *testing.T) {
	t.Parallel()
	c := newTrio(t).config("a")
	c.Apart = true
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	begun := time.Now()
	if s, err := Open(ctx, c); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, %v", s, err)
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %v to end", took)
	}
}
