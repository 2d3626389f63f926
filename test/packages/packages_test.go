//go:build linux

// Package packages installs what make release has made: the deb in a blank Debian, the rpm with the
// tools of rpm. make test-packages runs it; it takes root, and debootstrap gets Debian's packages.
package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// release returns the one package of a kind for this machine, and skips a test that lacks what it
// needs.
func release(t *testing.T, kind string, programs ...string) string {
	t.Helper()
	if os.Getenv("WEFT_PACKAGES") == "" {
		t.Skip("make test-packages runs this test: it needs what make release makes")
	}
	if os.Geteuid() != 0 {
		t.Skip("this test needs root: it installs into another root")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("%s is not on the PATH", p)
		}
	}
	found, err := filepath.Glob("../../bin/release/weft_*_" + runtime.GOARCH + "." + kind)
	if err != nil || len(found) != 1 {
		t.Fatalf("bin/release has %v, %v: want one %s: make release", found, err, kind)
	}
	return found[0]
}

// run runs a program, and returns what it wrote.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// TestDeb: on a Debian without anything else and without a network, the package installs, the
// command of its unit starts, a group is programmed within a minute, and a purge leaves the data.
// WEFT_DEBIAN is a root that debootstrap has made before.
func TestDeb(t *testing.T) {
	deb := release(t, "deb", "unshare", "ip")
	root := filepath.Join(t.TempDir(), "root")
	if _, err := exec.LookPath("debootstrap"); err != nil && os.Getenv("WEFT_DEBIAN") == "" {
		t.Skip("debootstrap is not on the PATH: apt-get install debootstrap")
	}
	if blank := os.Getenv("WEFT_DEBIAN"); blank != "" {
		run(t, "cp", "-a", blank, root)
	} else {
		run(t, "debootstrap", "--variant=minbase", "bookworm", root)
	}
	run(t, "cp", deb, filepath.Join(root, "weft.deb"))
	run(t, "cp", "-r", "testdata", filepath.Join(root, "files"))
	out := run(t, "unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "sh", "-ec", `
		ip link set lo up
		for p in p1 p2 p3; do
			ip link add $p type veth peer host$p; ip link set $p up; ip link set host$p up
		done
		mount -t proc proc "$1/proc"
		exec timeout 120 chroot "$1" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin \
			DEBIAN_FRONTEND=noninteractive /bin/bash /files/install.sh`, "sh", root)
	t.Log(out)
	took, err := 0, error(nil)
	for line := range strings.Lines(out) {
		if ms, ok := strings.CutSuffix(line, " ms: the first group is programmed\n"); ok {
			if took, err = strconv.Atoi(ms); err != nil {
				t.Fatal(err)
			}
		}
	}
	if took == 0 || took > 60_000 {
		t.Errorf("from the installation to the first group it took %d ms: want at most 60000", took)
	}
}

// TestRPM: rpm installs the package into another root, finds every file as it was packed, and takes
// it away again.
func TestRPM(t *testing.T) {
	file := release(t, "rpm", "rpm")
	root := t.TempDir()
	in := func(args ...string) string {
		return run(t, "rpm", append([]string{"--root", root, "--dbpath", "/var/lib/rpm"}, args...)...)
	}
	abs, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	if out := run(t, "rpm", "--checksig", "--nosignature", abs); !strings.Contains(out, "digests OK") {
		t.Error(out)
	}
	if out := run(t, "rpm", "-qp", "--nosignature", "--configfiles", abs); out !=
		"/etc/weft/controller.yaml\n" {
		t.Errorf("configuration files: %s", out)
	}
	for _, needs := range strings.Fields(run(t, "rpm", "-qp", "--nosignature", "--requires", abs)) {
		if !strings.HasPrefix(needs, "rpmlib(") && !strings.HasPrefix(needs, "/bin/sh") &&
			!strings.ContainsAny(needs[:1], "<=0123456789") {
			t.Errorf("the package requires %s: want nothing", needs)
		}
	}
	in("--install", "--noscripts", "--nodeps", "--ignorearch", "--nosignature", abs)
	if out := in("--verify", "--nodeps", "--noscripts", "weft"); out != "" {
		t.Errorf("rpm --verify: %s", out)
	}
	out := run(t, filepath.Join(root, "usr/bin/weft"), "version")
	if !strings.HasPrefix(out, "weft ") {
		t.Error(out)
	}
	in("--erase", "--noscripts", "--nodeps", "weft")
	left := run(t, "find", root, "-path", root+"/var/lib/rpm", "-prune", "-o", "-type", "f", "-print")
	if left != "" {
		t.Errorf("rpm --erase leaves %s", left)
	}
}
