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

// namedWeft returns a path of this program under the name weft: see TestMain.
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

// disk is a small separate file system that a test can fill. The disk goes with the test.
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

// exhaust uses up the reserve, like writes on a full disk: the next segment of the write-ahead log
// is in use, and no room is left for another.
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

// TestFullDisk: below the first mark, and with a completely full disk, a controller refuses changes
// with 507 and accepts deletions; with an exhausted reserve, the controller keeps running, reports
// the fault, and continues by itself when the disk has room. The controller does not start on a
// full disk, and has all data when the disk has room again.
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

// TestThreeFull: of three controllers that form an etcd, a controller with a full disk hands the
// lead on, and stops no change. Without its reserve this controller leaves the etcd, and returns by
// itself once the disk has room. With two full disks all controllers refuse changes. With three
// full disks all stay, report the disks, and continue by themselves once there is room.
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
	second.until("weft get controllers has the alarm", func() bool {
		return strings.Contains(second.output(t, "get", "controllers"), "the disk is full")
	})
	for i, m := range w.members {
		m.until(m.name+" takes a change while the disk of "+first.name+" is full", func() bool {
			p := refusal(t, m.process, fmt.Sprint("h", i), i+3)
			if p != nil && p.Status == http.StatusInsufficientStorage {
				t.Errorf("%s: %v", m.name, p)
			}
			return p == nil // no controller may decide yet
		})
	}
	first.until("it says that its disk is full, and that changes are taken", func() bool {
		r, checks := first.checks()
		return !r.Ready && checks["store"].OK &&
			strings.Contains(checks["disk"].Message, "disk is full")
	})
	w.isCause(second, first)

	first.disk.exhaust()
	second.until("the others go on without the one that takes no part", func() bool {
		return refusal(t, second.process, "g1", 1) == nil
	})
	w.accepted["g1"] = spec(1)
	second.until("it lists the one without its reserve as missing for its disk", func() bool {
		return listsMissing(second.process, first.name, "disk", "the reserve is used up")
	})
	w.isCause(second, first)
	first.disk.clear()
	first.until("it takes part again when there is room", func() bool {
		r, _ := first.checks()
		return r.Ready
	})

	third := w.other(first, second)
	for _, m := range []*teammate{first, third} {
		m.disk.fill(40)
	}
	for _, m := range w.members {
		m.until(m.name+" refuses changes while two of three have no room",
			func() bool { return full(m) })
	}
	third.disk.clear()
	for _, m := range w.members {
		m.until(m.name+" takes changes while two of three have room", func() bool {
			return refusal(t, m.process, "g1", 1) == nil
		})
	}
	first.disk.exhaust()
	first.until("its part of the store is stopped", func() bool {
		_, checks := first.checks()
		return strings.Contains(checks["disk"].Message, "the reserve is used up")
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

// isCause waits until controller m reports the full disk of the other controller as a cause.
func (w *team) isCause(m, full *teammate) {
	w.t.Helper()
	m.until("the disk of "+full.name+" is a cause", func() bool {
		out := m.output(w.t, "get", "causes", "-o", "yaml")
		return strings.Contains(out, "Another controller is not well") &&
			strings.Contains(out, "controller "+full.name+": the disk is full")
	})
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

// grep returns the lines of a text that begin with any of the words.
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
