package etcd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOrphaned: a lock is orphaned if the process that took it has died, and not if the lock holds
// no process id.
func TestOrphaned(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Skipf("a process that has died takes the command true: %v", err)
	}
	self := os.Getpid()
	for by, want := range map[string]bool{
		strconv.Itoa(self): self == 1, strconv.Itoa(os.Getppid()): false,
		strconv.Itoa(dead.Process.Pid): true, "": false, "x": false, "0": false,
		strconv.Itoa(-dead.Process.Pid): false,
	} {
		if got := orphaned(by); got != want {
			t.Errorf("taken by %q: %v", by, got)
		}
	}
}

// TestFree: the error for a full disk gives the free and the required space in MiB.
func TestFree(t *testing.T) {
	dir := t.TempDir()
	free, _, err := space(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := checkFree(dir, free/2); err != nil {
		t.Errorf("half of what is free: %v", err)
	}
	err = checkFree(dir, 1<<62)
	var has, least uint64
	if !errors.Is(err, ErrFull) {
		t.Fatal(err)
	}
	if _, scan := fmt.Sscanf(strings.TrimPrefix(err.Error(), fmt.Sprintf("data directory %s: %v: ",
		dir,
		ErrFull)), "%d MiB free, want at least %d", &has, &least); scan != nil || least != 1<<42 ||
		has < free>>21 || has > free>>19 {
		t.Errorf("%v; %d octets are free", err, free)
	}
	if err := checkFree(filepath.Join(dir, "none"), 0); err == nil {
		t.Error("a directory that is not there has room")
	}
	d := disk{dir: "/data", minFree: 256 << 20}
	if got := d.lacks(100 << 20); got != "the disk is full: 100 MiB free in /data, want at least 256" {
		t.Error(got)
	}
}

// TestMinor: major and minor of a version are one number in their order.
func TestMinor(t *testing.T) {
	for v, want := range map[string]int{"3.5.9": 3005, "3.6": 3006, "4.0.0-rc": 4000, "3": 0, "": 0,
		"x.5": 0, "3.x": 0} {
		if got := minor(v); got != want {
			t.Errorf("%q: %d, want %d", v, got, want)
		}
	}
}

// TestOtherMachines: an endpoint belongs to another machine unless it names this machine.
func TestOtherMachines(t *testing.T) {
	for endpoint, want := range map[string]bool{
		"localhost:2379": false, "127.0.0.1:2379": false, "127.9.9.9:2379": false, "[::1]:2379": false,
		"[::ffff:127.0.0.1]:2379": false, "192.0.2.1:2379": true, "[2001:db8::1]:2379": true,
		"etcd.example:2379": true, "localhost.example:2379": true, "localhost": true, "127.0.0.1": true,
		"": true,
	} {
		if got := isRemote(endpoint); got != want {
			t.Errorf("%q: %v", endpoint, got)
		}
	}
}

// TestWhyTheServerEnded: the reason is the server's own message, or the error that broke it:
// damaged data, unless the disk or the network failed, or the server has run before.
func TestWhyTheServerEnded(t *testing.T) {
	exit := errors.New("exit status 2")
	full := "write: " + unix.ENOSPC.Error()
	for what, c := range map[string]struct {
		p       *process
		data    bool
		stopped bool
		damaged bool
		text    string // "": no error
	}{
		"its own word": {&process{said: &word{Fault: "own"}, crash: "panic", last: "x"}, true,
			false, false, "own"},
		"it was stopped":        {&process{crash: "panic", last: "x"}, true, true, false, ""},
		"its own word, stopped": {&process{said: &word{Fault: "own"}}, true, true, false, "own"},
		"it has panicked": {&process{crash: "panic: page", last: "x"}, false, false, true,
			"panic: page"},
		"an error with data":    {&process{last: "bad page"}, true, false, true, "bad page"},
		"an error without data": {&process{last: "bad page"}, false, false, false, "bad page"},
		"an error after the start": {&process{last: "bad page", isReady: true}, true, false, false,
			"bad page"},
		"a full disk": {&process{last: full}, true, false, false, full},
		"nothing":     {&process{}, true, false, false, "its process ended: exit status 2"},
	} {
		config := &Config{Dir: t.TempDir()}
		if c.data {
			path := filepath.Join(config.Dir, "etcd", "member", "snap")
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(path, "db"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		p := c.p
		p.stopped.Store(c.stopped)
		p.end(config, exit)
		if (p.err == nil) != (c.text == "") || errors.Is(p.err, ErrDamaged) != c.damaged ||
			p.err != nil && !strings.Contains(p.err.Error(), c.text) {
			t.Errorf("%s: %v, want %q, damaged %v", what, p.err, c.text, c.damaged)
		}
		if c.damaged && (!strings.Contains(p.err.Error(), config.database()) ||
			!strings.Contains(p.err.Error(), config.log())) {
			t.Errorf("%s: %v does not name the files", what, p.err)
		}
	}
}

// TestKilledAfterAnError: what a server logged before somebody killed the server is not the reason
// of the server's end.
func TestKilledAfterAnError(t *testing.T) {
	p := &process{crash: "a line of a library", last: "failed to update storage version"}
	p.end(&Config{Dir: t.TempDir()}, exec.CommandContext(t.Context(), "sh", "-c", "kill -9 $$").Run())
	if !strings.Contains(p.err.Error(), "killed: somebody has killed it") ||
		errors.Is(p.err, ErrDamaged) {
		t.Error(p.err)
	}
}

// TestDiskErrors: errors of the disk and of addresses are distinguished from errors in the data on
// the disk.
func TestDiskErrors(t *testing.T) {
	for _, e := range []syscall.Errno{unix.ENOSPC, unix.EROFS, unix.EIO, unix.EDQUOT, unix.EACCES,
		unix.EADDRINUSE, unix.EADDRNOTAVAIL} {
		if !isFull("write x: " + e.Error() + ", twice") {
			t.Errorf("%v is none", e)
		}
	}
	for _, text := range []string{"", "bad page", unix.ENOENT.Error()} {
		if isFull(text) {
			t.Errorf("%q is one", text)
		}
	}
}

// TestUnlessTorn: a last record that is torn is no damage; every other error is.
func TestUnlessTorn(t *testing.T) {
	for err, want := range map[error]error{nil: nil, io.ErrUnexpectedEOF: nil, io.EOF: io.EOF} {
		if got := unlessTorn(err); got != want {
			t.Errorf("%v: %v, want %v", err, got, want)
		}
	}
}

// TestInspect: a look into a data directory changes nothing there.
func TestInspect(t *testing.T) {
	c := Config{Dir: t.TempDir()}
	s := open(t, c)
	put(t, s, "g", "1")
	if err := s.Replace(t.Context(), "a"); !errors.Is(err, ErrNoMember) {
		t.Errorf("a member of an etcd of one: %v", err)
	}
	closed(t, s)
	before, err := os.ReadFile(c.database())
	if err != nil {
		t.Fatal(err)
	}
	d, err := c.inspect()
	if err != nil || len(d.members) != 1 || d.applied == 0 {
		t.Errorf("%+v, %v; want a member and what is in the database", d, err)
	}
	if after, err := os.ReadFile(c.database()); err != nil || !bytes.Equal(after, before) {
		t.Errorf("the database has changed: %v", err)
	}
}

// TestWhoseDirectory: a data directory belongs to a single controller, or to a member whose address
// is in the directory's list of members.
func TestWhoseDirectory(t *testing.T) {
	of := func(addresses ...string) *content {
		c := new(content)
		for i, a := range addresses {
			c.members = append(c.members, Member{Name: fmt.Sprint("m", i), Address: a})
		}
		return c
	}
	single := &Config{}
	one := &Config{Peers: &Peers{Name: "a", Members: map[string]string{"a": "192.0.2.1:1",
		"b": "192.0.2.2:1"}}}
	for what, c := range map[string]struct {
		config *Config
		has    *content
		want   string // "": it fits
	}{
		"alone, a new one":    {single, nil, ""},
		"alone, an empty one": {single, of(), ""},
		"alone, its own":      {single, of(alone), ""},
		"alone, a member's": {single, of("192.0.2.1:1"),
			"which controllers form (m0 at 192.0.2.1:1)"},
		"alone, of several":      {single, of(alone, "192.0.2.1:1"), "which controllers form"},
		"a member, a new one":    {one, nil, ""},
		"a member, its own":      {one, of("192.0.2.2:1", "192.0.2.1:1"), ""},
		"a member, of one alone": {one, of(alone), "of a controller alone"},
		"a member, another's":    {one, of("192.0.2.2:1"), "this one is a at 192.0.2.1:1"},
		"a member, of two others": {one, of("192.0.2.2:1", "192.0.2.3:1"),
			"m0 at 192.0.2.2:1, m1 at 192.0.2.3:1"},
		"a member, of an old list": {one, of("192.0.2.3:1", alone), "this one is a at"},
	} {
		err := c.config.fits(c.has)
		if (err == nil) != (c.want == "") || err != nil && (!errors.Is(err, ErrForeign) ||
			!strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
}
