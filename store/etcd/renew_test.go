package etcd

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/store"
)

// hole makes a file without blocks among the data of an etcd, which does not look at it. The
// function returns whether it has been written since.
func hole(t *testing.T, c *Config) func() bool {
	t.Helper()
	path := filepath.Join(c.Dir, "etcd", "member", "hole")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 2*rewriteSize+1); err != nil {
		t.Fatal(err)
	}
	return func() bool {
		var s unix.Stat_t
		if err := unix.Stat(path, &s); err != nil || s.Size != 2*rewriteSize+1 {
			t.Fatalf("%d octets, %v", s.Size, err)
		}
		return s.Blocks*512 >= s.Size
	}
}

// TestFailedSync: an etcd with a failed sync ends before it acknowledges the write, and another
// etcd starts only when all its files are written again: pages that read as clean may be missing on
// the disk.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skipf("syncs are made to fail by strace: %v", err)
	}
	c := Config{Dir: t.TempDir(), Apart: true, Release: "weft test"}
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, s)
	put(t, s, "g", "1")
	written := hole(t, &c)
	first := s.pid()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	trace := exec.CommandContext(ctx, strace, "-f", "-q", "-p", strconv.Itoa(first), "-e",
		"trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO", "-o", "/dev/null")
	if err := trace.Start(); err != nil {
		t.Skipf("strace: %v", err)
	}
	defer func() { cancel(); _ = trace.Wait() }() // it ends with what it traces
	await(t, "the process is traced", func() bool {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(first) + "/status")
		if err != nil {
			t.Fatal(err)
		}
		return !bytes.Contains(text, []byte("TracerPid:\t0\n"))
	})
	var failed error
	await(t, "a sync fails", func() bool {
		_, failed = s.Put(t.Context(), "h", []byte("lost"), store.Any)
		return failed != nil
	})
	if !errors.Is(failed, store.ErrUnavailable) {
		t.Errorf("the write that was not synced: %v", failed)
	}
	await(t, "another server", func() bool { return s.Writable() == nil && s.pid() != first })
	if !written() {
		t.Error("it goes on with what it reads, and has not written that again")
	}
	put(t, s, "h", "2")
	if got := get(t, s, "g"); got != "1" {
		t.Errorf("g is %q", got)
	}
}

// TestUnclean: after a killed server, the directory is written again before the next server starts;
// after a server that ended in order, nothing is written again.
func TestUnclean(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		c := Config{Dir: t.TempDir(), Apart: apart}
		s := open(t, c)
		put(t, s, "g", "1")
		closed(t, s)
		written := hole(t, &c)
		s = open(t, c)
		if written() {
			t.Errorf("apart %v: it was written again after an end in order", apart)
		}
		closed(t, s)
		if _, err := os.Stat(c.unclean()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("apart %v: it is marked after an end in order: %v", apart, err)
		}
	}
	c := Config{Dir: t.TempDir(), Apart: true}
	s := open(t, c)
	put(t, s, "g", "1")
	s.Kill()
	closed(t, s)
	written := hole(t, &c)
	s = open(t, c)
	defer closed(t, s)
	if got := get(t, s, "g"); !written() || got != "1" {
		t.Errorf("after a kill it was written again: %v; g is %q", written(), got)
	}
}

// TestRewrite: a rewrite writes a file again whole and unchanged, whatever its size, and also each
// file below a directory; the error names a file that cannot be written.
func TestRewrite(t *testing.T) {
	c := &Config{Dir: t.TempDir()}
	if err := c.renew(); err != nil {
		t.Errorf("without data: %v", err)
	}
	dir := filepath.Join(c.Dir, "etcd", "member", "wal")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	texts := make(map[string][]byte)
	for _, size := range []int{0, 1, rewriteSize - 1, rewriteSize, rewriteSize + 1, 2 * rewriteSize} {
		text := make([]byte, size)
		for i := range text {
			text[i] = byte(rand.Uint32())
		}
		path := filepath.Join(dir, strconv.Itoa(size))
		texts[path] = text
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.renew(); err != nil {
		t.Fatal(err)
	}
	for path, want := range texts {
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has changed: %v", path, err)
		}
	}
	if err := writeAgain(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := writeAgain("/proc/self/mem"); err == nil { // its first octet cannot be read
		t.Error("a file that cannot be read is written again")
	}
	// Linux refuses to sync a file that has no disk.
	for name, sync := range map[string]func(string) error{"rewrite": writeAgain, "sync": syncFile} {
		if err := sync(os.DevNull); !errors.Is(err, unix.EINVAL) {
			t.Errorf("%s without a sync: %v", name, err)
		}
	}
	if os.Geteuid() == 0 {
		return // who may write everything
	}
	if err := os.Chmod(filepath.Join(dir, "1"), 0o400); err != nil {
		t.Fatal(err)
	}
	if err := c.renew(); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "1")) {
		t.Errorf("a file that cannot be written: %v", err)
	}
}
