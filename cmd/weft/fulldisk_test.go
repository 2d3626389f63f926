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

// disk is a small file system of its own, which can be filled. It goes with the test.
type disk struct {
	t    *testing.T
	dir  string
	weft string // path of the controller
	home int    // process that has it mounted
}

// newDisk mounts a file system of so many MiB where processes of [disk.command] see it, and nobody
// else. It skips the test without the right to.
func newDisk(t *testing.T, size int) *disk {
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
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := &disk{t: t, dir: t.TempDir(), weft: filepath.Join(t.TempDir(), "weft")} // by its name it is weft: see TestMain
	if err := os.Symlink(self, d.weft); err != nil {
		t.Fatal(err)
	}
	home := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c",
		fmt.Sprintf("mount -t tmpfs -o size=%dm weft-test %s && echo mounted && exec cat", size, d.dir))
	var errs bytes.Buffer
	home.Stderr = &errs
	stdin, err := home.StdinPipe() // cat ends with it, and the mount with cat
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
	d.home = home.Process.Pid
	return d
}

// command returns weft with its arguments, in the mount namespace of the disk.
func (d *disk) command(args ...string) *exec.Cmd {
	return exec.CommandContext(d.t.Context(), "nsenter", append([]string{fmt.Sprintf("--mount=/proc/%d/ns/mnt", d.home), d.weft}, args...)...)
}

// ballast is the file that takes the room; other processes see the disk as this path.
func (d *disk) ballast() string { return fmt.Sprintf("/proc/%d/root%s/ballast", d.home, d.dir) }

// fill takes the room to the last octet.
func (d *disk) fill() {
	d.t.Helper()
	f, err := os.Create(d.ballast())
	if err != nil {
		d.t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err = f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		d.t.Fatalf("the disk is not full: %v", err)
	}
}

func (d *disk) clear() {
	d.t.Helper()
	if err := os.Remove(d.ballast()); err != nil {
		d.t.Fatal(err)
	}
}

// TestFullDisk: without an octet of room the controller goes on, refuses changes with the reason,
// takes deletions, and recovers without a restart. It does not start on a full disk, and has
// everything when there is room again.
func TestFullDisk(t *testing.T) {
	small := newDisk(t, 192)
	d := deploy(t)
	flags := []string{"controller", "--config", d.config, "--data-dir", filepath.Join(small.dir, "data")}
	first := startCommand(t, small.command(flags...))
	first.ready()
	for i := range 2 {
		if err := first.put(fmt.Sprintf("g%d", i), spec(i)); err != nil {
			t.Fatal(err)
		}
	}
	first.programmed("g0", "g1")
	written := d.writes()

	refused := func() {
		t.Helper()
		var p *api.Problem
		if err := first.put("g2", spec(2)); !errors.As(err, &p) || p.Status != http.StatusServiceUnavailable ||
			p.Code != "store_unavailable" || !strings.Contains(p.Detail, "disk is full") {
			t.Errorf("a group on a full disk: %v", err)
		}
	}
	small.fill()
	refused()
	if groups := first.groups(); len(groups) != 2 {
		t.Errorf("%d groups on a full disk, want 2", len(groups))
	}
	if again := d.writes(); !maps.Equal(again, written) {
		t.Errorf("a full disk made the controller write to switches: %v, were %v", again, written)
	}
	small.clear()
	first.until("a group is accepted when there is room", func() bool { return first.put("g2", spec(2)) == nil })
	first.programmed("g0", "g1", "g2")

	small.fill()
	refused()
	before := first.groups()
	written = d.writes()
	first.kill()
	if out, err := small.command(flags...).CombinedOutput(); err == nil || !strings.Contains(string(out), "its disk is full") {
		t.Errorf("a start on a full disk: %v: %s", err, out)
	}
	small.clear()
	second := startCommand(t, small.command(flags...))
	second.ready()
	second.programmed("g0", "g1", "g2")
	after := second.groups()
	for name, was := range before {
		g := after[name]
		if g.Version != was.Version || g.Status.Index != was.Status.Index || g.Status.Epoch != was.Status.Epoch {
			t.Errorf("%s: %+v, was %+v", name, g, was)
		}
	}
	if len(before) != 3 || len(after) != 3 {
		t.Errorf("groups are %v, were %v: want g0, g1 and g2", after, before)
	}
	if again := d.writes(); !maps.Equal(again, written) {
		t.Errorf("switches that agree were written to: %v, were %v", again, written)
	}

	small.fill()
	if _, err := second.rest.Do(t.Context(), http.MethodDelete, "/v1/multicast-groups/g1", nil, nil); err != nil {
		t.Errorf("a deletion on a full disk: %v", err)
	}
	small.clear()
	second.until("the entries of the group are removed", func() bool { return d.writes()["N1 updates"] > written["N1 updates"] })
	second.programmed("g0", "g2")
	if _, there := second.groups()["g1"]; there {
		t.Error("g1 is back")
	}
	second.kill()
}
