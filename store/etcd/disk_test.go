package etcd

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/store"
)

// still is a disk that nobody looks at but the test, with marks at 100 and 10 octets.
func still() (*disk, *room) {
	r := &room{free: 1000, whole: true}
	return &disk{
		dir: "d", minFree: 100, leastF: 10, changed: make(chan struct{}),
		space: func() (uint64, uint64, error) { return r.free, 1000, r.err }, reserve: func() bool {
			return r.whole
		},
	}, r
}

// room is the free space of a disk.
type room struct {
	free  uint64
	whole bool
	err   error
}

// TestDiskStates: which state follows from the room, the reserve and the state before, at each
// mark.
func TestDiskStates(t *testing.T) {
	const ok, low, out, failed = store.DiskOK, store.DiskLow, store.DiskOut, store.DiskFailed
	for _, c := range []struct {
		was  store.DiskState
		room room
		want store.DiskState
		err  error // of a write
	}{
		{ok, room{100, true, nil}, ok, nil},
		{ok, room{100, false, nil}, ok, nil}, // the reserve counts below the second mark only
		{ok, room{99, true, nil}, low, ErrFull},
		{low, room{100, true, nil}, ok, nil},
		{ok, room{10, false, nil}, low, ErrFull},
		{ok, room{9, false, nil}, out, ErrFull},
		{ok, room{9, true, nil}, low, ErrFull}, // it goes on from the reserve
		{low, room{0, true, nil}, low, ErrFull},
		{out, room{99, true, nil}, out, ErrFull}, // it comes back at the first mark, not at the second
		{out, room{99, false, nil}, out, ErrFull},
		{out, room{100, false, nil}, ok, nil},
		{failed, room{99, true, nil}, low, ErrFull},
		{failed, room{100, true, nil}, ok, nil},
		{ok, room{1000, true, unix.EIO}, failed, store.ErrDisk},
		{out, room{0, false, unix.EIO}, failed, store.ErrDisk},
	} {
		d, r := still()
		d.state.State, *r = c.was, c.room
		s, _ := d.look()
		if s.State != c.want || (s.Reason == "") != (c.want == ok) {
			t.Errorf("%v with %+v: %v %q, want %v", c.was, c.room, s.State, s.Reason, c.want)
		}
		if s.Out() != (c.want == out || c.want == failed) || s.Back() != (c.want == ok) {
			t.Errorf("%v: a server must not run: %v, may start: %v", s.State, s.Out(), s.Back())
		}
		if err := d.room(); !errors.Is(err, c.err) {
			t.Errorf("%v with %+v: a write gets %v, want %v", c.was, c.room, err, c.err)
		}
	}
}

// TestRoomIsLookedAt: the store checks for room when a write begins, not only at the last look; a
// full or failed disk accepts no writes before a look has seen the disk recover.
func TestRoomIsLookedAt(t *testing.T) {
	d, r := still()
	d.look()
	r.free = 99
	if err := d.room(); !errors.Is(err, ErrFull) ||
		!strings.Contains(err.Error(), "the disk is full") {
		t.Errorf("after the disk was filled: %v", err)
	}
	d.look()
	r.free = 100
	if err := d.room(); err != nil {
		t.Errorf("after room was made: %v", err)
	}
	for _, fault := range []error{ErrFull, store.ErrDisk} {
		*r = room{free: 9}
		if fault == store.ErrDisk {
			r.err = unix.EROFS
		}
		d.look()
		*r = room{free: 1000}
		if err := d.room(); !errors.Is(err, fault) {
			t.Errorf("before the look after %v: %v", fault, err)
		}
		if s, _ := d.look(); s.State != store.DiskOK || d.room() != nil {
			t.Errorf("after the look: %+v, %v", s, d.room())
		}
	}
}

// TestProbes: a failed write counts as a fault until a write succeeds, but for a write without
// room, which the marks judge; the time that it took counts for nothing.
func TestProbes(t *testing.T) {
	d, _ := still()
	for range slowProbes {
		d.probed(time.Minute, unix.EIO)
	}
	if s, _ := d.look(); s.State != store.DiskFailed || s.Slow || s.Sync != 0 {
		t.Errorf("after failed writes: %+v", s)
	}
	d.probed(0, unix.ENOSPC)
	if s, _ := d.look(); s.State != store.DiskOK {
		t.Errorf("after a write without room: %+v", s)
	}
	d.probed(0, unix.EROFS)
	d.probed(slowSync, nil)
	if s, _ := d.look(); s.State != store.DiskOK || s.Sync != slowSync {
		t.Errorf("after a write that succeeded: %+v", s)
	}
}

// TestSlowSyncs: a disk is slow from the fifth sync in a row on that takes longer than half a
// second, also when the fifth has not ended; or when one takes longer than five of these and the
// pauses between them.
func TestSlowSyncs(t *testing.T) {
	syncs := func(took ...time.Duration) *disk {
		d, _ := still()
		for _, x := range took {
			d.probed(x, nil)
		}
		return d
	}
	const limit = slowProbes * (slowSync + probePause)
	long := slowSync + 1
	four := []time.Duration{long, long, long, long}
	for _, c := range []struct {
		syncs []time.Duration
		slow  bool
	}{
		{four, false},
		{append(four[:4:4], long), true},
		{append(four[:4:4], slowSync), false},
		{append([]time.Duration{slowSync, long}, four...), true},
		{[]time.Duration{limit}, false},
		{[]time.Duration{limit + 1}, true},
		{[]time.Duration{limit + 1, slowSync}, false},
	} {
		if s, _ := syncs(c.syncs...).look(); s.Slow != c.slow || s.Sync != c.syncs[len(c.syncs)-1] {
			t.Errorf("after %v: slow %v, the last took %v", c.syncs, s.Slow, s.Sync)
		}
	}
	bubble.Test(t, func(t *testing.T) { // time stands still
		for _, c := range []struct {
			syncs []time.Duration
			late  time.Duration // of the one under way
			slow  bool
			sync  time.Duration
		}{
			{nil, slowSync, false, 0},
			{nil, slowSync + 1, false, slowSync + 1},
			{four, slowSync, false, long}, // not longer than it should take
			{four, slowSync + 2, true, slowSync + 2},
			{[]time.Duration{3 * time.Second}, time.Second, false, 3 * time.Second}, // it says no better yet
			{nil, limit, false, limit},
			{nil, limit + 1, true, limit + 1},
		} {
			d := syncs(c.syncs...)
			d.begun = time.Now().Add(-c.late)
			if s, _ := d.look(); s.Slow != c.slow || s.Sync != c.sync {
				t.Errorf("after %v, one since %v: slow %v, %v", c.syncs, c.late, s.Slow, s.Sync)
			}
			d.probed(time.Millisecond, nil)
			if s, _ := d.look(); s.Slow || s.Sync != time.Millisecond {
				t.Errorf("after that one ended: slow %v, %v", s.Slow, s.Sync)
			}
		}
	})
}

// TestDiskIsWatched: the disk is looked at five times a second and written once a second, also
// while a write hangs; whoever waits for a change learns of it.
func TestDiskIsWatched(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var free, probes atomic.Uint64
		free.Store(1000)
		hang := make(chan struct{})
		c := &Config{Dir: "d", MinFree: 100, LeastFree: 10}
		c.disk = func(d *disk) {
			d.space = func() (uint64, uint64, error) { return free.Load(), 1000, nil }
			d.reserve = func() bool { return true }
			d.probe = func() error {
				if probes.Add(1) == 4 {
					<-hang
				}
				return nil
			}
		}
		d := newDisk(c)
		defer d.close()
		end := sync.OnceFunc(func() { close(hang) })
		defer end()
		change := func(what string) store.Disk {
			t.Helper()
			_, changed := d.now()
			select {
			case <-changed:
			case <-time.After(time.Minute):
				t.Errorf("%s: nobody learns of it", what)
			}
			s, _ := d.now()
			return s.Disk
		}
		time.Sleep(2*probePause + probePause/2)
		synctest.Wait()
		if n := probes.Load(); n != 3 {
			t.Errorf("%d writes in two and a half seconds, want 3", n)
		}
		free.Store(99)
		begun := time.Now()
		change("the disk is low")
		if took := time.Since(begun); took > diskLook {
			t.Errorf("that the disk is low is seen after %v", took)
		}
		free.Store(1000)
		change("there is room")
		if s := change("the fourth write does not end"); !s.Slow || s.State != store.DiskOK ||
			probes.Load() != 4 {
			t.Errorf("while write %d hangs: %+v", probes.Load(), s)
		}
		end()
		if s := change("it ends"); s.Slow || s.Reason != "" {
			t.Errorf("after it ended: %+v", s)
		}
	})
}

// TestReserveIsWhole: the reserve exists once the database has its blocks ahead, and the log its
// whole next segment, whatever the name of the directory.
func TestReserveIsWhole(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pod[1")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	db, next := filepath.Join(dir, "db"), filepath.Join(dir, "1.tmp")
	if err := errors.Join(os.WriteFile(db, nil, 0o600), os.WriteFile(next, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, size := range []int64{segment - 1, segment, segment + 1} {
		if err := os.Truncate(next, size); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(db, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		can := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, headroom) == nil
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if got := reserve(db, dir); got != (can && size >= segment) {
			t.Errorf("with a next segment of %d octets of %d there is a reserve: %v", size, segment, got)
		}
	}
	if err := os.Rename(next, filepath.Join(dir, "1.wal")); err != nil {
		t.Fatal(err)
	}
	if reserve(db, dir) {
		t.Error("a segment that is in use is taken for the next one")
	}
	if reserve(os.DevNull, dir) {
		t.Error("there is a reserve in a file that takes no blocks ahead")
	}
}
