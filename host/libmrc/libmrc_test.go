//go:build linux

// Package libmrc_test builds the libraries of this folder, and runs programs with these libraries
// on its own NIC.
package libmrc_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// compiler is gcc or clang; it skips a test on a machine without what the libraries need.
func compiler(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"gcc", "clang"} {
		cc, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		cmd := exec.Command(cc, "-E", "-x", "c", "-")
		cmd.Stdin = strings.NewReader("#include <infiniband/verbs.h>\n")
		if err := cmd.Run(); err != nil {
			t.Skip("no <infiniband/verbs.h>: apt-get install libibverbs-dev")
		}
		if _, err := exec.LookPath("make"); err != nil {
			t.Skip("no make")
		}
		return cc
	}
	t.Skip("no C compiler: apt-get install gcc")
	return ""
}

func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// build is the libraries and a program in a folder, with flags for the compiler.
type build struct {
	once    sync.Once
	flags   string
	dir     string
	failure string
}

var plain = &build{flags: ""}

// checked finds reads and writes outside of objects, and what C leaves undefined.
var checked = &build{flags: "-fsanitize=address,undefined -fno-sanitize-recover=all"}

// raced finds what threads do to one object at a time.
var raced = &build{flags: "-fsanitize=thread"}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, b := range []*build{plain, checked, raced} {
		if b.dir != "" {
			_ = os.RemoveAll(b.dir)
		}
	}
	os.Exit(code)
}

// get builds it, once.
func (b *build) get(t *testing.T) string {
	t.Helper()
	cc := compiler(t)
	if b.flags != "" {
		cmd := exec.Command(cc, append(strings.Fields(b.flags), "-x", "c", "-o", os.DevNull, "-")...)
		cmd.Stdin = strings.NewReader("int main(void) { return 0; }\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("%s has no %s: %s", cc, b.flags, out)
		}
	}
	b.once.Do(func() {
		dir, err := os.MkdirTemp("", "libmrc")
		if err != nil {
			b.failure = err.Error()
			return
		}
		b.dir = dir
		steps := [][]string{
			{"make", "-s", "CC=" + cc, "OUT=" + dir, "EXTRA=" + b.flags},
			append(append([]string{cc, "-O1", "-g", "-std=gnu11", "-Wall", "-Wextra", "-Werror",
				"-pthread", "-I" + dir, "-o", filepath.Join(dir, "app"), "testdata/app.c"},
				strings.Fields(b.flags)...), filepath.Join(dir, "lib_mrc.so"), "-L"+dir, "-libverbs",
				"-Wl,-rpath,"+dir),
		}
		for _, s := range steps {
			if out, err := exec.Command(s[0], s[1:]...).CombinedOutput(); err != nil {
				b.failure = strings.Join(s, " ") + ": " + err.Error() + "\n" + string(out)
				return
			}
		}
	})
	if b.failure != "" {
		t.Fatal(b.failure)
	}
	return b.dir
}

// app runs a scenario of testdata/app.c at a fake NIC.
func app(t *testing.T, dir, scenario string, edits ...func(*fake)) *fake {
	t.Helper()
	f := newFake(t)
	for _, edit := range edits {
		edit(f)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, "app"), scenario)
	cmd.Env = append(os.Environ(), "WEFT_NIC_SOCKET="+f.path, "UBSAN_OPTIONS=print_stacktrace=1")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "kill" {
			f.kill()
			if _, err := io.WriteString(in, "done\n"); err != nil {
				t.Error(err)
			}
			continue
		}
		said = append(said, lines.Text())
	}
	if err := cmd.Wait(); err != nil || problems.Len() > 0 {
		t.Errorf("app %s: %v\n%s\n%s", scenario, err, strings.Join(said, "\n"), problems.String())
	}
	return f
}

var scenarios = []string{"well", "errors", "overflow", "death", "untailed", "tailed", "reset",
	"polls", "forks", "threads", "control", "ev_events", "rules", "answers"}

// TestApp: programs get what mrc.h and mrc_ctl.h promise.
func TestApp(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s, func(t *testing.T) { app(t, plain.get(t), s) })
	}
}

// TestAppChecked: so they do where the compiler checks each access.
func TestAppChecked(t *testing.T) {
	if testing.Short() {
		t.Skip("builds everything once more")
	}
	for _, s := range scenarios {
		t.Run(s, func(t *testing.T) { app(t, checked.get(t), s) })
	}
}

// TestAppRaced: threads share objects, and the NIC ends under them.
func TestAppRaced(t *testing.T) {
	if testing.Short() {
		t.Skip("builds everything once more")
	}
	for _, s := range []string{"well", "threads", "death", "overflow"} {
		t.Run(s, func(t *testing.T) { app(t, raced.get(t), s) })
	}
}

// TestParts: libmrc sends a list of EVs to the NIC in parts of 512, and stops after a refused part.
func TestParts(t *testing.T) {
	f := app(t, plain.get(t), "control")
	f.mu.Lock()
	defer f.mu.Unlock()
	want := []int{512, 512, 76, 512, 512, 0}
	if len(f.messages) != len(want) {
		t.Fatalf("messages of %v entries, want %v", f.messages, want)
	}
	for i := range want {
		if f.messages[i] != want[i] {
			t.Fatalf("messages of %v entries, want %v", f.messages, want)
		}
	}
}

// TestRules checks the requests to the NIC whose effects the program of the rules cannot see.
func TestRules(t *testing.T) {
	f := app(t, plain.get(t), "rules")
	f.mu.Lock()
	defer f.mu.Unlock()
	const state, count, entries = 1 << 0, 1 << 4, 1 << 7 // mrc_ctl.h
	want := []uint32{entries | count, entries, entries | state,
		entries | count | state, entries, entries}
	if !slices.Equal(f.masks, want) {
		t.Errorf("masks %#x, want %#x", f.masks, want)
	}
	iovas := make(map[uint64]uint64)
	for _, r := range f.regions {
		if iovas[r[1]] = r[2]; r[1] == 4096 && r[2] != r[0] {
			t.Errorf("a region at %#x begins at %#x", r[0], r[2])
		}
	}
	if iovas[100] != 0 || iovas[101] != 77 || iovas[102] != 0 {
		t.Errorf("regions begin at %v", iovas)
	}
	const long = 600_000_000
	if n := f.timeouts; len(n) != 6 || n[0] != long || n[1] >= n[0] || n[2] >= n[1] || n[2] < long/2 ||
		n[3] != 1 || n[4] != 0 || n[5] != 0 {
		t.Errorf("parts of batches have %v us", n)
	}
}

// TestVersion: a NIC of another version is no device, and the library says which.
func TestVersion(t *testing.T) {
	dir := plain.get(t)
	app(t, dir, "version", func(f *fake) { f.version.Store(3) })
	f := newFake(t)
	f.version.Store(1)
	cmd := exec.Command(filepath.Join(dir, "app"), "version")
	cmd.Env = append(os.Environ(), "WEFT_NIC_SOCKET="+f.path, "WEFT_NIC_DEBUG=1")
	if out, err := cmd.CombinedOutput(); err != nil ||
		!bytes.Contains(out, []byte("the NIC has version 1 of the protocol, this library 2")) {
		t.Errorf("%v: %s", err, out)
	}
}

// TestOrphan: the NIC notices the end of a program although a child process lives.
func TestOrphan(t *testing.T) {
	dir := plain.get(t)
	f := newFake(t)
	cmd := exec.Command(filepath.Join(dir, "app"), "orphan")
	cmd.Env = append(os.Environ(), "WEFT_NIC_SOCKET="+f.path)
	r, w, err := os.Pipe() // the child holds its input and output longer than the program does
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = r
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(10 * time.Second); f.connected() > 0; {
		if time.Now().After(until) {
			t.Fatal("still connected")
		}
	}
	_ = r.Close()
	_ = w.Close()
}

// TestNoNIC: without a NIC there are no devices, and WEFT_NIC_DEBUG says why.
func TestNoNIC(t *testing.T) {
	dir := plain.get(t)
	cmd := exec.Command(filepath.Join(dir, "app"), "well")
	cmd.Env = append(os.Environ(), "WEFT_NIC_SOCKET="+filepath.Join(t.TempDir(), "none"),
		"WEFT_NIC_DEBUG=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("none: No such file or directory")) ||
		!bytes.Contains(out, []byte("n == 1")) {
		t.Errorf("%v: %s", err, out)
	}
}

// source is a program of a few lines.
func source(t *testing.T, dir, code string, flags ...string) string {
	t.Helper()
	cc := compiler(t)
	c, bin := filepath.Join(t.TempDir(), "p.c"), filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(c, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, cc, append([]string{"-std=gnu11", "-Wall", "-Wextra", "-Werror", "-I" + dir, "-o", bin, c},
		flags...)...)
	return bin
}

// TestForeign: lib_mrc.so in a process with another libibverbs offers no MRC device, and reports
// the reason.
func TestForeign(t *testing.T) {
	dir := plain.get(t)
	system := ""
	for _, d := range []string{"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
		"/usr/lib64"} {
		if _, err := os.Stat(filepath.Join(d, "libibverbs.so.1")); err == nil {
			system = filepath.Join(d, "libibverbs.so.1")
		}
	}
	if system == "" {
		t.Skip("no libibverbs.so.1 of the system")
	}
	bin := source(t, dir, `
#include <errno.h>
#include <stdio.h>
#include <mrc.h>
int main(void)
{
	static struct verbs_context c;
	struct mrc_device_attr a;
	int supported = 9, r = mrc_query_device(&c.context, &a, &supported);
	void *m = mrc_create_context(&c.context, NULL);
	printf("%d %d %d %d\n", r, supported, m == NULL, errno == EOPNOTSUPP);
	return 0;
}`, filepath.Join(dir, "lib_mrc.so"), "-Wl,-rpath,"+dir)
	cmd := exec.Command(bin)
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+system, "WEFT_NIC_DEBUG=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("0 0 1 1\n")) ||
		!bytes.Contains(out, []byte("is not the one beside lib_mrc.so")) {
		t.Errorf("%v: %s", err, out)
	}
}

// TestLoaded: a program may load the library when it runs, and let go of it, over and over.
func TestLoaded(t *testing.T) {
	dir := plain.get(t)
	f := newFake(t)
	bin := source(t, dir, `
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <mrc.h>
int main(int argc, char **argv)
{
	for (int i = 0; i < 20 && argc == 2; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		void *verbs = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
		if (!lib || !verbs)
			return printf("%s\n", dlerror()), 1;
		struct ibv_device **(*list)(int *) = dlsym(verbs, "ibv_get_device_list");
		struct ibv_context *(*open)(struct ibv_device *) = dlsym(verbs, "ibv_open_device");
		int (*close)(struct ibv_context *) = dlsym(verbs, "ibv_close_device");
		void (*release)(struct ibv_device **) = dlsym(verbs, "ibv_free_device_list");
		struct mrc_context *(*create)(struct ibv_context *, void *) = dlsym(lib, "mrc_create_context");
		int (*destroy)(struct mrc_context *) = dlsym(lib, "mrc_destroy_context");
		struct ibv_device **l = list(NULL);
		struct ibv_context *c = open(l[0]);
		struct mrc_context *m = create(c, NULL);
		release(l);
		if (!c || !m || close(c) || destroy(m))
			return printf("round %d\n", i), 1;
		dlclose(verbs);
		dlclose(lib);
		pid_t child = fork();
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
		if (dlopen("lib_mrc.so", RTLD_NOW | RTLD_NOLOAD))
			return printf("still loaded\n"), 1;
	}
	return 0;
}`, "-ldl")
	cmd := exec.Command(bin, filepath.Join(dir, "lib_mrc.so"))
	cmd.Env = append(os.Environ(), "WEFT_NIC_SOCKET="+f.path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
