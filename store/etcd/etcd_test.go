package etcd

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
)

// TestMain looks for leaked goroutines, except for connections between members in one process: etcd
// lets these end by themselves.
func TestMain(m *testing.M) {
	if IsServer() {
		os.Exit(Serve())
	}
	// Most of these tests wait for elections.
	if err := flag.Set("test.parallel", "4"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
		goleak.IgnoreAnyFunction("net/http.(*conn).serve"),
		goleak.IgnoreAnyFunction("net/http.(*connReader).backgroundRead"))
}

// patience is the longest that a request of a test takes, where the test is not about timeouts: on
// a busy machine and with the race detector a transaction may take longer than defaultTimeout.
const patience = time.Minute

func open(t *testing.T, c Config) *Store {
	t.Helper()
	c.NoSync, c.Release = true, "weft test"
	s, err := Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	s.timeout = patience
	return s
}

func closed(t *testing.T, s *Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestContract(t *testing.T) {
	storetest.Contract(t, func(t *testing.T) store.Store {
		s := open(t, Config{Dir: t.TempDir()})
		t.Cleanup(func() { closed(t, s) })
		return s
	})
}

func put(t *testing.T, s *Store, key, value string) {
	t.Helper()
	if _, err := s.Put(t.Context(), key, []byte(value), store.Any); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, s *Store, key string) string {
	t.Helper()
	r, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(r.Value)
}

// TestAgain: records outlive the process, and revisions go on.
func TestAgain(t *testing.T) {
	c := Config{Dir: filepath.Join(t.TempDir(), "a", "b")}
	s := open(t, c)
	put(t, s, "g", "1")
	_, before, err := s.List(t.Context(), "")
	closed(t, s)
	if d, err := os.Stat(c.Dir); err != nil || d.Mode().Perm() != 0o700 {
		t.Errorf("others can look into the directory: %v, %v", d.Mode(), err)
	}
	s = open(t, c)
	defer closed(t, s)
	if got := get(t, s, "g"); got != "1" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if after, err := s.Put(t.Context(), "g", nil, before); err != nil || after <= before {
		t.Errorf("revision %d after %d, %v", after, before, err)
	}
}

// TestRefusals: the error reports the fault of a data directory, and the directory stays unchanged.
func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	used := open(t, Config{Dir: dir})
	defer closed(t, used)
	newer := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(newer, "FORMAT"), `{"format":1,"etcd":"99.1.0","release":"weft v9"}`)
	layout := t.TempDir()
	write(filepath.Join(layout, "FORMAT"), `{"format":2,"etcd":"3.7.3","release":"weft v9"}`)
	broken := t.TempDir()
	write(filepath.Join(broken, "FORMAT"), `{`)
	file := filepath.Join(t.TempDir(), "file")
	write(file, "")
	for _, c := range []struct {
		name   string
		config Config
		is     error
		text   string
	}{
		{"used", Config{Dir: dir}, ErrLocked, fmt.Sprintf("process %d", os.Getpid())},
		{"newer etcd", Config{Dir: newer}, ErrNewer, "weft v9"},
		{"newer layout", Config{Dir: layout}, ErrNewer, "format 2"},
		{"broken FORMAT", Config{Dir: broken}, nil, "FORMAT"},
		{"a file", Config{Dir: file}, nil, file},
		{"full", Config{Dir: t.TempDir(), MinFree: 1 << 62}, ErrFull, "MiB free"},
	} {
		s, err := Open(t.Context(), c.config)
		if err == nil {
			closed(t, s)
		}
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.is, c.text)
		}
		if _, err := os.Stat(filepath.Join(c.config.Dir, "etcd")); err == nil && c.name != "used" {
			t.Errorf("%s: etcd has begun", c.name)
		}
	}
	if os.Getuid() == 0 {
		return // root writes everywhere
	}
	sealed := t.TempDir()
	if err := os.Chmod(sealed, 0o500); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Config{Dir: filepath.Join(sealed, "x")}); !errors.Is(err,
		os.ErrPermission) {
		t.Errorf("sealed: %v", err)
	}
}

// TestFull: without room, the store refuses writes, reads records, and accepts operations that free
// room.
func TestFull(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	defer closed(t, s)
	put(t, s, "g", "1")
	full := errors.New("full")
	s.free = func() error { return full }
	if _, err := s.Put(t.Context(), "g", []byte("2"), store.Any); !errors.Is(err, full) {
		t.Errorf("Put: %v", err)
	}
	if err := s.Apply(t.Context(), []store.Op{{Key: "g", Value: []byte("2")}}); !errors.Is(err, full) {
		t.Errorf("Apply: %v", err)
	}
	if err := s.Writable(); !errors.Is(err, full) {
		t.Errorf("Writable: %v", err)
	}
	if got := get(t, s, "g"); got != "1" {
		t.Errorf("%q was written", got)
	}
	if err := s.Apply(t.Context(), []store.Op{{Key: "leaving", Value: []byte("g")},
		{Key: "g"}}); err != nil {
		t.Errorf("Apply of a deletion: %v", err)
	}
	if _, err := s.Put(store.WithReserve(t.Context()), "decision", []byte("1"),
		store.Any); err != nil {
		t.Errorf("Put from the reserve: %v", err)
	}
	lease, err := s.Lease(t.Context(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lease.Put(t.Context(), "member", []byte("1"), store.Absent); err != nil {
		t.Errorf("Put with a lease: %v", err)
	}
	if err := lease.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Delete(t.Context(), "leaving", store.Any); err != nil {
		t.Errorf("Delete: %v", err)
	}
}

// TestCompacted: a watch of compacted revisions returns an error.
func TestCompacted(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	defer closed(t, s)
	put(t, s, "g", "1")
	last, err := s.Put(t.Context(), "g", []byte("2"), store.Any)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.client.Compact(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Watch(t.Context(), "", 1); !errors.Is(err, store.ErrCompacted) {
		t.Errorf("Watch of what is forgotten: %v", err)
	}
}

// TestRestore: a backup of a running store comes back elsewhere, with revisions that were never
// given; it overwrites nothing, and a damaged one is refused.
func TestRestore(t *testing.T) {
	s := open(t, Config{Dir: t.TempDir()})
	put(t, s, "g", "kept")
	var b bytes.Buffer
	if err := s.Backup(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	put(t, s, "g", "later")
	_, revision, err := s.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	closed(t, s)

	file := filepath.Join(t.TempDir(), "weft.backup")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	into := Config{Dir: filepath.Join(t.TempDir(), "new")}
	if _, err := Restore(into, file); err != nil {
		t.Fatal(err)
	}
	if d, err := os.Stat(into.Dir); err != nil || d.Mode().Perm() != 0o700 {
		t.Errorf("others can look into the directory: %v, %v", d.Mode(), err)
	}
	if _, err := Restore(into, file); err == nil ||
		!strings.Contains(err.Error(), "has data already") {
		t.Errorf("again: %v", err)
	}
	s = open(t, into)
	defer closed(t, s)
	if got := get(t, s, "g"); got != "kept" {
		t.Errorf("%q is back", got)
	}
	if next, err := s.Put(t.Context(), "h", nil, store.Any); err != nil || next <= revision {
		t.Errorf("revision %d is given again after %d, %v", next, revision, err)
	}

	damaged, n := bytes.Clone(b.Bytes()), b.Len()
	damaged[n/2] ^= 1
	sum := sha256.Sum256(damaged[:n-sha256.Size])
	sums := fmt.Sprintf("its SHA-256 is %x, and the one at its end %x", sum, b.Bytes()[n-sha256.Size:])
	for want, text := range map[string][]byte{
		sums: damaged,
		fmt.Sprintf("its %d octets do not end with a checksum", n-1): b.Bytes()[:n-1],
		"its 32 octets do not end with a checksum":                   b.Bytes()[:sha256.Size],
		"its 0 octets do not end with a checksum":                    nil,
	} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		empty := t.TempDir()
		if _, err := Restore(Config{Dir: empty}, file); !errors.Is(err, ErrDamaged) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := os.Stat(filepath.Join(empty, "etcd")); err == nil {
			t.Error("a damaged backup leaves data")
		}
	}
}

// TestStartIsCancelled: giving up on a start leaves the directory to the next one.
func TestStartIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c := Config{Dir: t.TempDir(), NoSync: true}
	if s, err := Open(ctx, c); err == nil {
		closed(t, s) // it was faster
	} else if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	closed(t, open(t, c))
}

// TestSize: an empty data directory is small.
func TestSize(t *testing.T) {
	dir := t.TempDir()
	closed(t, open(t, Config{Dir: dir}))
	var size int64
	err := filepath.Walk(dir, func(_ string, i os.FileInfo, err error) error {
		if err == nil {
			size += i.Size()
		}
		return err
	})
	if err != nil || size > 2*wal.SegmentSizeBytes+1<<20 {
		t.Errorf("%d octets, %v", size, err)
	}
}

// TestMemory: the server keeps the last writes in memory, and gives the others back.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("150 MiB of writes")
	}
	s := open(t, Config{Dir: t.TempDir(), NoSync: true})
	defer closed(t, s)
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	value := strings.Repeat("x", 128<<10)
	before := heap()
	for range 6 * catchUp {
		put(t, s, "x", value)
	}
	// The server drops entries a hundred at a time, as others follow.
	for range 2 * catchUp {
		put(t, s, "y", "")
	}
	if more := heap() - before; more > int64(3*catchUp*len(value)) {
		t.Errorf("%d MiB stay of %d", more>>20, 6*catchUp*len(value)>>20)
	}
}
