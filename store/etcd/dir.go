package etcd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/version"
	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/internal/wholefile"
	"github.com/weft-sdn/weft/store"
)

var (
	// ErrLocked reports that another process uses the data directory.
	ErrLocked = errors.New("another process uses it")
	// ErrNewer reports that a newer release wrote the data directory.
	ErrNewer = errors.New("a newer release wrote it")
	// ErrFull reports that the disk of the data directory has no room.
	ErrFull = store.ErrNoRoom
)

// format is the version of the layout of a data directory.
const format = 1

// Format is the content of the file FORMAT in a data directory.
type Format struct {
	// Format is the version of the layout.
	Format int `json:"format"`
	// Etcd is the etcd server's version, such as 3.7.3.
	Etcd string `json:"etcd"`
	// Release is the program that used the directory last.
	Release string `json:"release"`
	// Restored is the SHA-256 of the backup from which the directory was made; "": no backup.
	Restored string `json:"restored,omitempty"`
}

// lockWait is how long the server of a dead controller may take to end.
const lockWait = 5 * time.Second

// lock locks the data directory for this process, and for processes that get the file. Closing the
// file unlocks the directory; the kernel also unlocks it when the processes die.
func lock(dir string) (*os.File, error) {
	path := filepath.Join(dir, "LOCK")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			break
		}
		if errors.Is(err, unix.EWOULDBLOCK) && time.Since(begun) < lockWait && orphaned(holder(f)) {
			continue
		}
		defer f.Close()
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("data directory: lock %s: %w", path, err)
		}
		return nil, fmt.Errorf("data directory %s: %w: process %s", dir, ErrLocked, holder(f))
	}
	err = errors.Join(f.Truncate(0), write(f, strconv.Itoa(os.Getpid())+"\n"))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("data directory: %w", err), f.Close())
	}
	return f, nil
}

// holder returns the process id that a lock has.
func holder(f *os.File) string {
	by := make([]byte, 32)
	n, _ := f.ReadAt(by, 0)
	return strings.TrimSpace(string(by[:n]))
}

// orphaned reports whether the process that took a lock has died, and left the lock to its server.
// In a restarted container, both processes have the same id.
func orphaned(by string) bool {
	pid, err := strconv.Atoi(by)
	return err == nil && pid > 0 && (errors.Is(unix.Kill(pid, 0), unix.ESRCH) || pid == os.Getpid() &&
		pid == 1)
}

func write(f *os.File, text string) error {
	_, err := f.WriteAt([]byte(text), 0)
	return err
}

// readFormat returns the content of FORMAT, and the zero value for a directory without FORMAT. It
// refuses a directory that a newer release wrote: otherwise etcd would end the process, or misread
// records.
func readFormat(dir string) (f Format, err error) {
	path := filepath.Join(dir, "FORMAT")
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("data directory: %w", err)
	}
	if err := json.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("data directory: %s: %w", path, err)
	}
	if f.Format > format || minor(f.Etcd) > minor(version.Version) {
		return f, fmt.Errorf("data directory %s: %w: %s (format %d, etcd %s); this one reads format %d, "+
			"etcd %s", dir, ErrNewer, f.Release, f.Format, f.Etcd, format, version.Version)
	}
	return f, nil
}

// writeFormat records that this release uses the directory, and the backup from which the directory
// was made.
func writeFormat(dir, release, restored string) error {
	text, err := json.Marshal(Format{Format: format, Etcd: version.Version, Release: release,
		Restored: restored})
	if err == nil {
		err = wholefile.Put(filepath.Join(dir, "FORMAT"), append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	return nil
}

// minor returns the major and minor parts of a version as one number; 0: not a version.
func minor(v string) int {
	part := strings.SplitN(v, ".", 3)
	if len(part) < 2 {
		return 0
	}
	major, err1 := strconv.Atoi(part[0])
	less, err2 := strconv.Atoi(part[1])
	if err1 != nil || err2 != nil {
		return 0
	}
	return major*1000 + less
}

// checkFree returns [ErrFull] when a disk has less than so many octets free for this user.
func checkFree(dir string, least uint64) error {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return fmt.Errorf("data directory %s: %w", dir, err)
	}
	if free := s.Bavail * uint64(s.Bsize); free < least {
		return fmt.Errorf("data directory %s: %w: %d MiB free, want at least %d", dir, ErrFull, free>>20,
			least>>20)
	}
	return nil
}
