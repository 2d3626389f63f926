package linear

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The requests that hold a file system (linux/fs.h): writes wait until it goes on.
const (
	fiFreeze = 0xc0045877
	fiThaw   = 0xc0045878
)

// disk is a small file system in a file. A test can fill the disk, and can hold the disk to make
// writes wait.
type disk struct {
	dir  string
	root *os.File

	mu   sync.Mutex
	held bool
}

// diskSize is the size of a disk, in octets: enough for the records twice, and for what has to be
// free.
const diskSize = 448 << 20

func newDisk(t *testing.T, dir string) *disk {
	t.Helper()
	d := &disk{dir: filepath.Join(dir, "disk")}
	image := filepath.Join(dir, "image")
	if err := os.Mkdir(d.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(image, diskSize); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range []*exec.Cmd{
		exec.Command("mkfs.ext4", "-q", "-m", "0", "-O", "^has_journal", image),
		exec.Command("mount", "-o", "loop", image, d.dir),
	} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", cmd.Args, err, out)
		}
	}
	var err error
	if d.root, err = os.Open(d.dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.thaw()
		_ = d.root.Close()
		err := unix.Unmount(d.dir, 0)
		for begun := time.Now(); errors.Is(err, unix.EBUSY) &&
			time.Since(begun) < patience; err = unix.Unmount(d.dir, 0) {
			time.Sleep(10 * time.Millisecond) // a member of the store that was killed is about to end
		}
		if err != nil {
			t.Errorf("unmounting %s: %v", d.dir, err)
		}
	})
	return d
}

// losePower keeps the data that has reached the disk's image, and loses data in the file system's
// memory, as a power cut does. Nothing may use the disk meanwhile.
func (d *disk) losePower() error {
	image := filepath.Join(filepath.Dir(d.dir), "image")
	run := func(name string, args ...string) error {
		if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s %q: %w: %s", name, args, err, out)
		}
		return nil
	}
	if err := run("cp", "--sparse=always", image, image+".after"); err != nil {
		return err
	}
	_ = d.root.Close()
	if err := unix.Unmount(d.dir, unix.MNT_DETACH); err != nil { // it goes on writing to the old image
		return err
	}
	if err := os.Rename(image+".after", image); err != nil {
		return err
	}
	var fixed *exec.ExitError // 1: errors were corrected (e2fsck(8))
	if err := run("e2fsck", "-fy", image); err != nil && !(errors.As(err, &fixed) &&
		fixed.ExitCode() == 1) {
		return err
	}
	if err := run("mount", "-o", "loop", image, d.dir); err != nil {
		return err
	}
	var err error
	d.root, err = os.Open(d.dir)
	return err
}

func (d *disk) ballast() string { return filepath.Join(d.dir, "ballast") }

// fill takes all room but some.
func (d *disk) fill(rest uint64) error {
	var s unix.Statfs_t
	if err := unix.Statfs(d.dir, &s); err != nil {
		return err
	}
	f, err := os.Create(d.ballast())
	if err != nil {
		return err
	}
	defer f.Close()
	room := s.Bavail * uint64(s.Bsize)
	if room <= rest {
		return nil
	}
	err = unix.Fallocate(int(f.Fd()), 0, 0, int64(room-rest))
	if errors.Is(err, unix.ENOSPC) {
		return nil // others took what was left: it is full
	}
	if err != nil {
		return fmt.Errorf("filling %s: %w", d.dir, err)
	}
	return nil
}

func (d *disk) clear() error { return os.Remove(d.ballast()) }

// freeze has writes wait until thaw.
func (d *disk) freeze() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held {
		return nil
	}
	if err := unix.IoctlSetInt(int(d.root.Fd()), fiFreeze, 0); err != nil {
		return fmt.Errorf("holding %s: %w", d.dir, err)
	}
	d.held = true
	return nil
}

func (d *disk) thaw() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held {
		_ = unix.IoctlSetInt(int(d.root.Fd()), fiThaw, 0) // an error means that it is not held
		d.held = false
	}
}
