package etcd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/store"
)

const (
	// diskLook is how often the space is looked at, and probePause lies between two writes that show
	// whether the disk takes them, and how fast.
	diskLook   = 200 * time.Millisecond
	probePause = time.Second
	// slowSync is how long each of the last slowProbes syncs of a slow disk has taken, or longer: the
	// members elect another leader after as long.
	slowSync   = 500 * time.Millisecond
	slowProbes = 5
	// probeSize is the size of the file DISK.
	probeSize = 4096
	// headroom is how far the blocks of the database are allocated ahead: as far as it grows at a
	// time.
	headroom = 16 << 20
)

// disk watches the file system of a data directory. It is safe for concurrent use.
type disk struct {
	dir             string
	minFree, leastF uint64
	// The following are the disk itself; tests have others.
	space   func() (free, total uint64, err error)
	probe   func() error
	reserve func() bool

	stop  chan struct{}
	ended chan struct{}

	// mu guards the fields below it.
	mu      sync.Mutex
	state   store.Disk
	changed chan struct{}
	fault   error           // of the last probe
	syncs   []time.Duration // of the last probes
	differs string          // why the contents may not be used; "": they may
	begun   time.Time       // of the probe under way; zero: none is
}

func newDisk(c *Config) *disk {
	d := &disk{
		dir: c.Dir, minFree: c.MinFree, leastF: c.LeastFree, stop: make(chan struct{}),
		ended: make(chan struct{}), changed: make(chan struct{}),
	}
	d.space = func() (uint64, uint64, error) { return space(c.Dir) }
	d.probe = func() error { return probe(c.Dir, !c.NoSync) }
	d.reserve = func() bool { return reserve(c.database(), c.log()) }
	if c.disk != nil {
		c.disk(d)
	}
	d.look()
	go d.run()
	return d
}

func (d *disk) close() {
	close(d.stop)
	<-d.ended
}

// run looks at the disk until it is closed.
func (d *disk) run() {
	defer close(d.ended)
	probed := make(chan struct{}, 1)
	look, next := time.NewTicker(diskLook), time.NewTimer(0)
	defer look.Stop()
	defer next.Stop()
	var probing sync.WaitGroup
	for {
		select {
		case <-d.stop:
			return // a probe that hangs ends with the disk
		case <-look.C:
		case <-next.C:
			d.mu.Lock()
			d.begun = time.Now()
			d.mu.Unlock()
			probing.Go(func() {
				begun := time.Now()
				err := d.probe()
				d.probed(time.Since(begun), err)
				probed <- struct{}{}
			})
		case <-probed:
			next.Reset(probePause)
		}
		d.look()
	}
}

func (d *disk) probed(took time.Duration, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.begun, d.fault = time.Time{}, err
	if err == nil {
		d.syncs = append(d.syncs[max(0, len(d.syncs)+1-slowProbes):], took)
	}
}

// now returns the state, and a channel that is closed when it changes.
func (d *disk) now() (diskState, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return diskState{d.state}, d.changed
}

// look looks at the space, and returns the state.
func (d *disk) look() (diskState, <-chan struct{}) {
	free, total, err := d.space()
	whole := d.reserve()
	d.mu.Lock()
	defer d.mu.Unlock()
	s := store.Disk{Dir: d.dir, Free: free, Total: total, Reserve: whole,
		Marks: [2]uint64{d.minFree, d.leastF}}
	sync := slices.Clone(d.syncs)
	if n := len(sync); n > 0 {
		s.Sync = sync[n-1]
	}
	if !d.begun.IsZero() {
		if late := time.Since(d.begun); late > max(s.Sync, slowSync) {
			s.Sync = late
			sync = append(sync, late)
		}
	}
	s.Slow = len(sync) >= slowProbes && slices.Min(sync[len(sync)-slowProbes:]) > slowSync ||
		s.Sync > slowProbes*(slowSync+probePause)
	if err == nil && d.fault != nil && !errors.Is(d.fault, unix.ENOSPC) {
		err = d.fault
	}
	switch {
	case d.differs != "":
		s.State, s.Reason = store.DiskFailed, d.differs
	case err != nil:
		s.State, s.Reason = store.DiskFailed, fmt.Sprintf("the disk of %s cannot be written: %v", d.dir,
			err)
	case free < d.leastF && !whole, free < d.minFree && d.state.State == store.DiskOut:
		s.State = store.DiskOut
		s.Reason = fmt.Sprintf("the disk is full and the reserve is used up: %d MiB free in %s, want "+
			"at least %d", free>>20, d.dir, d.minFree>>20)
	case free < d.minFree:
		s.State, s.Reason = store.DiskLow, d.lacks(free)
	case s.Slow:
		s.Reason = fmt.Sprintf("the disk of %s is slow: a sync takes %v, want less than %v", d.dir,
			s.Sync.Round(time.Millisecond), slowSync)
	}
	if s.State != d.state.State || s.Slow != d.state.Slow {
		close(d.changed)
		d.changed = make(chan struct{})
	}
	d.state = s
	return diskState{s}, d.changed
}

// condemn marks the disk as failed for good, because its contents may not be used.
func (d *disk) condemn(why error) {
	d.mu.Lock()
	d.differs = why.Error()
	d.mu.Unlock()
	d.look()
}

// room returns why nothing new can be kept now: the disk may have been filled since the last look.
func (d *disk) room() error {
	state, _ := d.now()
	free, _, err := d.space()
	if err != nil || state.Out() {
		return state.err()
	}
	if state.State, state.Reason = store.DiskOK, ""; free < d.minFree {
		state.State, state.Reason = store.DiskLow, d.lacks(free)
	}
	return state.err()
}

func (d *disk) lacks(free uint64) string {
	return fmt.Sprintf("the disk is full: %d MiB free in %s, want at least %d", free>>20, d.dir,
		d.minFree>>20)
}

// diskState is the state of a disk with its consequences.
type diskState struct{ store.Disk }

// Out reports whether a server must not run.
func (s diskState) Out() bool { return s.State == store.DiskOut || s.State == store.DiskFailed }

// Back reports whether a server that has ended may start again.
func (s diskState) Back() bool { return s.State == store.DiskOK }

// err returns why nothing new can be kept.
func (s diskState) err() error {
	switch s.State {
	case store.DiskOK:
		return nil
	case store.DiskFailed:
		return &reason{s.Reason, store.ErrDisk}
	}
	return &reason{s.Reason, ErrFull}
}

func space(dir string) (free, total uint64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, fmt.Errorf("statfs: %w", err)
	}
	return s.Bavail * uint64(s.Bsize), s.Blocks * uint64(s.Bsize), nil
}

// probe writes the file DISK anew and has it synced. It takes no room after the first time.
func probe(dir string, sync bool) error {
	f, err := os.OpenFile(filepath.Join(dir, "DISK"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	text := make([]byte, probeSize)
	copy(text, time.Now().UTC().Format(time.RFC3339Nano)+"\n")
	_, err = f.WriteAt(text, 0)
	if err == nil && sync {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// reserve allocates the blocks of the database, some ahead, and reports whether the disk holds
// these blocks and the next segment of the write-ahead log: then the server can go on for a while
// on a disk without room.
func reserve(database, log string) bool {
	f, err := os.OpenFile(database, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	var has unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &has); err != nil {
		return false
	}
	if want := has.Size + headroom; has.Blocks*512 < want && allocate(int(f.Fd()), want) != nil {
		return false
	}
	files, _ := os.ReadDir(log) // those that could be read
	return slices.ContainsFunc(files, func(e os.DirEntry) bool {
		info, err := e.Info()
		return err == nil && filepath.Ext(e.Name()) == ".tmp" && info.Size() >= segment
	})
}
