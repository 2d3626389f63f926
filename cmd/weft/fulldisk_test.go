//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-sdn/weft/api"
)

// namedWeft returns a path of this program by which it is weft: see TestMain.
func namedWeft(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "weft")
	if err := os.Symlink(self, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// disk is a small file system of its own, which can be filled. It goes with the test.
type disk struct {
	t    *testing.T
	dir  string
	weft string // path of the controller
	home int    // process that has it mounted
}

// newDisks mounts file systems of so many MiB where processes of [disk.command] see them, and
// nobody else. It skips the test without the right to.
func newDisks(t *testing.T, n, size int) []*disk {
	t.Helper()
	processes(t)
	if os.Geteuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	for _, tool := range []string{"unshare", "nsenter", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	weft := namedWeft(t)
	var disks []*disk
	var mounts []string
	for range n {
		d := &disk{t: t, dir: t.TempDir(), weft: weft}
		disks = append(disks, d)
		mounts = append(mounts, fmt.Sprintf("mount -t tmpfs -o size=%dm weft-test %s", size, d.dir))
	}
	home := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c",
		strings.Join(mounts, " && ")+" && echo mounted && exec cat")
	var errs bytes.Buffer
	home.Stderr = &errs
	stdin, err := home.StdinPipe() // cat ends with it, and the mounts with cat
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := home.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := home.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = home.Wait() // it ends with the test in any case
	})
	if _, err := io.ReadFull(stdout, make([]byte, len("mounted\n"))); err != nil {
		t.Skipf("no mount: %s", errs.String())
	}
	for _, d := range disks {
		d.home = home.Process.Pid
	}
	return disks
}

// command returns weft with its arguments, in the mount namespace of the disk.
func (d *disk) command(args ...string) *exec.Cmd {
	return exec.CommandContext(d.t.Context(), "nsenter",
		append([]string{fmt.Sprintf("--mount=/proc/%d/ns/mnt", d.home), d.weft}, args...)...)
}

// path returns a path on the disk as other processes see it.
func (d *disk) path(name ...string) string {
	return filepath.Join(append([]string{fmt.Sprintf("/proc/%d/root%s", d.home, d.dir)}, name...)...)
}

// fill takes the room but for so many MiB.
func (d *disk) fill(rest uint64) {
	d.t.Helper()
	f, err := os.OpenFile(d.path("ballast"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	has, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		d.t.Fatal(err)
	}
	for {
		var s syscall.Statfs_t
		if err := syscall.Statfs(d.path(), &s); err != nil {
			d.t.Fatal(err)
		}
		room := int64(s.Bavail)*s.Bsize - int64(rest<<20)
		if room <= 0 {
			return
		}
		switch err := syscall.Fallocate(int(f.Fd()), 0, has, room); {
		case errors.Is(err, syscall.ENOSPC): // others took some of it
		case err != nil:
			d.t.Fatal(err)
		default:
			has += room
		}
	}
}

func (d *disk) clear() {
	d.t.Helper()
	if err := os.Remove(d.path("ballast")); err != nil {
		d.t.Fatal(err)
	}
}

// exhaust uses the reserve up, as writes on a full disk do: the next segment of the write-ahead log
// is taken, and there is no room for another one.
func (d *disk) exhaust() {
	d.t.Helper()
	next, err := filepath.Glob(d.path("data", "etcd", "member", "wal", "*.tmp"))
	if err != nil || len(next) == 0 {
		d.t.Fatalf("there is no next segment: %q, %v", next, err)
	}
	for _, path := range next {
		if err := os.Rename(path, path+".taken"); err != nil {
			d.t.Fatal(err)
		}
	}
	d.fill(0)
}

// refusal is the problem with which a controller refuses a change; nil: it takes it.
func refusal(t *testing.T, p *process, name string, i int) *api.Problem {
	t.Helper()
	var problem *api.Problem
	if err := p.put(name, spec(i)); err != nil && !errors.As(err, &problem) {
		t.Fatalf("%s: %v", name, err)
	}
	return problem
}

// checks returns what a controller says of GET /readyz.
func (p *process) checks() (*api.Readiness, map[string]api.ReadinessCheck) {
	r, err := p.rest.Readiness(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	out := make(map[string]api.ReadinessCheck)
	for _, c := range r.Checks {
		out[c.Name] = c
	}
	return r, out
}

// TestFullDisk: below the first mark, and without an octet of room, a controller refuses changes
// with 507 and takes deletions; when its reserve is used up it stays, says so, and goes on by
// itself when there is room. It does not start on a full disk, and has everything when there is
// room again.
func TestFullDisk(t *testing.T) {
	small := newDisks(t, 1, 192)[0]
	d := deploy(t)
	flags := []string{"controller", "--config", d.config, "--data-dir",
		filepath.Join(small.dir, "data")}
	first := startCommand(t, small.command(flags...))
	first.ready()
	for i := range 3 {
		if p := refusal(t, first, fmt.Sprintf("g%d", i), i); p != nil {
			t.Fatal(p)
		}
	}
	first.programmed("g0", "g1", "g2")
	written := d.network.Written()

	refused := func(when string) {
		t.Helper()
		if p := refusal(t, first, "g3", 3); p == nil || p.Status != http.StatusInsufficientStorage ||
			p.Code != "no_room" || !strings.Contains(p.Detail, "disk is full") {
			t.Errorf("a group %s: %v", when, p)
		}
	}
	says := func(when, state string) {
		t.Helper()
		first.until("it says that its disk is "+state, func() bool {
			r, checks := first.checks()
			return !r.Ready && !checks["store"].OK && !checks["disk"].OK &&
				strings.Contains(checks["disk"].Message, "disk is full")
		})
		first.until("weft get controllers shows it "+state, func() bool {
			out := first.output(t, "get", "controllers")
			return strings.Contains(out, state+", ") && strings.Contains(out, "the disk is full")
		})
		if out := first.metrics(); !strings.Contains(out, `state="`+state+`"} 1`) ||
			!strings.Contains(out, "weft_ready 0") {
			t.Errorf("metrics %s: %s", when, grep(out, "weft_disk", "weft_ready"))
		}
	}
	small.fill(40)
	refused("with 40 MiB free")
	says("with 40 MiB free", "low")
	small.fill(0)
	refused("on a full disk")
	if groups := first.groups(); len(groups) != 3 {
		t.Errorf("%d groups on a full disk, want 3", len(groups))
	}
	if again := d.network.Written(); !maps.Equal(again, written) {
		t.Errorf("a full disk made the controller write to switches: %v, were %v", again, written)
	}
	if _, err := first.rest.Do(t.Context(), http.MethodDelete, "/v1/multicast-groups/g2", nil,
		nil); err != nil {
		t.Errorf("a deletion on a full disk: %v", err)
	}
	first.until("the entries of the group are removed on a full disk", func() bool {
		return d.network.Written()["N1 updates"] > written["N1 updates"]
	})
	first.programmed("g0", "g1")

	small.exhaust()
	says("without the reserve", "out")
	refused("without the reserve")
	small.clear()
	first.until("a group is accepted when there is room", func() bool {
		return first.put("g3", spec(3)) == nil
	})
	first.programmed("g0", "g1", "g3")
	first.ready()

	small.fill(0)
	refused("on a disk that is full again")
	before := first.groups()
	written = d.network.Written()
	first.kill()
	if out, err := small.command(flags...).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "its disk is full") {
		t.Errorf("a start on a full disk: %v: %s", err, out)
	}
	small.clear()
	second := startCommand(t, small.command(flags...))
	second.ready()
	second.programmed("g0", "g1", "g3")
	after := second.groups()
	for name, was := range before {
		g := after[name]
		if g.Version != was.Version || g.Status.Index != was.Status.Index ||
			g.Status.Epoch != was.Status.Epoch {
			t.Errorf("%s: %+v, was %+v", name, g, was)
		}
	}
	if len(before) != 3 || len(after) != 3 {
		t.Errorf("groups are %v, were %v: want g0, g1 and g3", after, before)
	}
	if again := d.network.Written(); !maps.Equal(again, written) {
		t.Errorf("switches that agree were written to: %v, were %v", again, written)
	}
	second.kill()
}

// TestThreeFull: of three controllers that form an etcd, one whose disk fills has all refuse
// changes, and leaves it to another one to decide; without its reserve it takes no part, and the
// others go on. Three that fill together stay, say so, and go on by themselves when there is room.
func TestThreeFull(t *testing.T) {
	disks := newDisks(t, 3, 192) // each controller has one of its own
	w := newOwnTeam(t, disks...)
	first := w.decider(nil)
	other := w.other(first, nil)
	w.accept(other, 0)
	w.settled(other)
	written := w.network.Written()
	full := func(m *teammate) bool {
		p := refusal(t, m.process, "g1", 1)
		return p != nil && p.Status == http.StatusInsufficientStorage &&
			strings.Contains(p.Detail, "disk is full")
	}

	first.disk.fill(40)
	second := w.decider(first)
	if second == first {
		t.Fatal("a controller with a full disk decides")
	}
	second.until("it refuses changes for the full disk of another one", func() bool {
		return full(second)
	})
	if p := refusal(t, second.process, "g1", 1); !strings.Contains(p.Detail,
		"controller "+first.name) {
		t.Errorf("the refusal does not name %s: %v", first.name, p)
	}
	second.until("weft get controllers has the alarm", func() bool {
		return strings.Contains(second.output(t, "get", "controllers"), "the disk is full")
	})

	first.disk.exhaust()
	second.until("the others go on without the one that takes no part", func() bool {
		return refusal(t, second.process, "g1", 1) == nil
	})
	w.accepted["g1"] = spec(1)
	second.until("it lists the one without its reserve as missing for its disk", func() bool {
		return listsMissing(second.process, first.name, "disk", "the reserve is used up")
	})
	if r, checks := first.checks(); r.Ready || checks["disk"].OK ||
		!strings.Contains(checks["disk"].Message, "the reserve is used up") {
		t.Errorf("the one without its reserve says %+v", r)
	}

	for _, m := range w.members {
		if m != first {
			m.disk.fill(0)
			m.disk.exhaust()
		}
	}
	for _, m := range w.members {
		m.until(m.name+" says that its disk is full", func() bool {
			r, checks := m.checks()
			return !r.Ready && strings.Contains(checks["disk"].Message, "disk is full")
		})
		m.until(m.name+" refuses changes for that", func() bool { return full(m) })
	}
	for _, m := range w.members {
		m.disk.clear()
	}
	for _, m := range w.members {
		m.ready()
	}
	w.accept(first, 2)
	w.settled(first)
	for sw, n := range written {
		if again := w.network.Written()[sw]; again < n {
			t.Errorf("%s: %d, was %d: a switch was started again", sw, again, n)
		}
	}
}

// metrics returns the metrics of the controller.
func (p *process) metrics() string {
	p.t.Helper()
	r, err := http.Get(p.url + "/metrics")
	if err != nil {
		p.t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// grep returns the lines of a text that begin with one of some words.
func grep(text string, words ...string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		for _, w := range words {
			if strings.HasPrefix(line, w) {
				out.WriteString(line)
			}
		}
	}
	return out.String()
}
