//go:build linux

package libmrc

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	// folder with the programs; the process is in namespaces of its own
	insideEnv = "WEFT_LIBMRC_INSIDE"
	ocpEnv    = "OCP_MRC_DIR"  // OCP's repository
	ncclEnv   = "MRC_NCCL_DIR" // Microsoft's NCCL plugin for MRC
	// set: the outside programs do all that the design asks for, and missing ones are named
	wholeEnv = "WEFT_INTEROP"
	mtu      = 9000 // of all ports, octets
	patience = 2 * time.Minute
	// wholePatience is for what takes minutes.
	wholePatience = 40 * time.Minute
)

// built makes libraries and programs in a folder; it skips where something is missing.
func built(t *testing.T) (dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this test needs root: it makes interfaces")
	}
	for _, c := range [][2]string{{"ip", "iproute2"}, {"unshare", "util-linux"}, {"gcc", "gcc"},
		{"make", "make"}, {"stdbuf", "coreutils"},
		{"setpriv", "util-linux"}} {
		if _, err := exec.LookPath(c[0]); err != nil {
			t.Skipf("%s is not on the PATH: apt-get install %s", c[0], c[1])
		}
	}
	if _, err := os.Stat("/usr/include/infiniband/verbs.h"); err != nil {
		t.Skip("there is no <infiniband/verbs.h>: apt-get install libibverbs-dev")
	}
	dir = t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // others run its programs
		t.Fatal(err)
	}
	libmrc := filepath.Join("..", "..", "host", "libmrc")
	run(t, "make", "-s", "-C", libmrc, "OUT="+dir)
	run(t, "go", "build", "-o", filepath.Join(dir, "weft"),
		"github.com/weft-sdn/weft/cmd/weft")
	compile(t, dir, "write", filepath.Join(libmrc, "examples", "write.c"))
	for _, program := range []string{"load", "control"} {
		compile(t, dir, program, "-Wall", "-Wextra", "-Werror", "-pthread",
			filepath.Join("testdata", program+".c"))
	}
	run(t, "gcc", "-O2", "-Wall", "-Wextra", "-Werror", "-I"+filepath.Join(libmrc, "src"), "-o",
		filepath.Join(dir, "hostile"), filepath.Join("testdata", "hostile.c"))
	if ocp := os.Getenv(ocpEnv); ocp != "" {
		example := filepath.Join(ocp, "examples", "benchmark")
		compile(t, dir, "mrc_example", "-I"+ocp, filepath.Join(example, "mrc_example.c"),
			filepath.Join(example, "utils.c"), "-lm")
		compile(t, dir, "mrc_test", "-I"+ocp, filepath.Join(ocp, "test", "mrc_test.c"))
		compileNCCL(t, dir, ocp)
	}
	return dir
}

// compile links a program with the libraries of a folder. Headers that the arguments name come
// first.
func compile(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	args = append([]string{"-O2", "-o", filepath.Join(dir, program)}, args...)
	run(t, "gcc", append(args, "-I"+dir, filepath.Join(dir, "lib_mrc.so"), "-L"+dir, "-libverbs",
		"-Wl,-rpath,"+dir)...)
}

func run(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

// TestPrograms runs TestInside in namespaces of its own.
func TestPrograms(t *testing.T) {
	dir := built(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	missing(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience+wholeTime()+soakFor(t))
	defer cancel()
	// The namespaces end with their last process, whatever happens.
	cmd := exec.CommandContext(ctx, "unshare", "--net", "--mount", "--pid", "--fork", "--kill-child",
		"--mount-proc", self, "-test.run", "^TestInside$", "-test.timeout", "0", "-test.v")
	cmd.Env = append(os.Environ(), insideEnv+"="+dir)
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}

// machines holds two hosts, each with a two-port NIC wired to the other host's NIC.
type machines struct {
	t    *testing.T
	dir  string
	nics [2]*exec.Cmd
}

// TestInside is the work of TestPrograms in its namespaces.
func TestInside(t *testing.T) {
	dir := os.Getenv(insideEnv)
	if dir == "" {
		t.Skip("TestPrograms runs it")
	}
	run(t, "ip", "link", "set", "lo", "up")
	for plane := range 2 {
		a, b := port(0, plane), port(1, plane)
		run(t, "ip", "link", "add", a, "type", "veth", "peer", "name", b)
		for host := range 2 {
			run(t, "ip", "link", "set", port(host, plane), "addrgenmode", "none", "address",
				mac(host, plane), "mtu", fmt.Sprint(mtu), "up")
		}
	}
	m := &machines{t: t, dir: dir}
	run(t, "chown", "daemon", dir)
	for host := range 2 {
		m.start(host)
	}
	t.Run("a plane fails", m.planeFails)
	t.Run("many programs", m.many)
	t.Run("control", m.control)
	t.Run("a program is hostile", m.programHostile)
	t.Run("OCP's programs", m.ocp)
	t.Run("NCCL plugin", m.nccl)
	t.Run("a program is killed", m.programKilled)
	t.Run("the NIC is killed", m.nicKilled)
	t.Run("soak", m.soak)
	for host, n := range m.nics {
		if err := n.Process.Signal(os.Interrupt); err != nil {
			t.Error(err)
		}
		if err := n.Wait(); err != nil {
			t.Errorf("NIC %d: %v", host+1, err)
		}
	}
}

func port(host, plane int) string { return fmt.Sprintf("h%dp%d", host+1, plane+1) }

func mac(host, plane int) string { return fmt.Sprintf("02:00:00:00:%02x:%02x", plane+1, host+1) }

func (m *machines) socket(host int) string {
	return filepath.Join(m.dir, fmt.Sprintf("nic%d.sock", host+1))
}

// start starts the NIC of a host, and returns when programs may connect.
func (m *machines) start(host int) {
	m.t.Helper()
	peer := 1 - host
	// as a user of its own, with the one capability that docs/libmrc.md names
	cmd := exec.CommandContext(m.t.Context(), "setpriv", "--reuid", "daemon", "--regid", "daemon",
		"--groups", "nogroup", "--bounding-set", "-all,+net_raw", "--inh-caps", "-all,+net_raw",
		"--ambient-caps", "-all,+net_raw", "--no-new-privs", filepath.Join(m.dir, "weft"), "nic", "-i",
		port(host, 0)+","+port(host, 1), "--gateway", mac(peer, 0)+","+mac(peer, 1), "--address",
		fmt.Sprintf("2001:db8::%d", host+1), "--socket", m.socket(host),
		"--group", "nogroup",
		"--state", filepath.Join(m.dir, fmt.Sprintf("nic%d.state", host+1)))
	log, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.nics[host] = cmd
	await(m.t, log, "applications may connect")
}

// await reads lines until one has a text, and the rest in the background.
func await(t *testing.T, from io.Reader, text string) {
	t.Helper()
	lines := bufio.NewScanner(from)
	var seen strings.Builder
	for lines.Scan() {
		fmt.Fprintln(&seen, lines.Text())
		if strings.Contains(lines.Text(), text) {
			go func() { _, _ = io.Copy(io.Discard, from) }()
			return
		}
	}
	t.Fatalf("no %q in\n%s", text, seen.String())
}

// program is one that runs at a host.
func (m *machines) program(ctx context.Context, host int, name string, args ...string) *exec.Cmd {
	// line by line, so that what a program prints can be waited for
	args = append([]string{"-oL", filepath.Join(m.dir, name)}, args...)
	cmd := exec.CommandContext(ctx, "stdbuf", args...)
	cmd.Env = append(os.Environ(), "WEFT_NIC_SOCKET="+m.socket(host), "WEFT_NIC_DEBUG=1",
		"MRC_LOG_LEVEL=DEBUG")
	return cmd
}

// session is the example of libmrc: a server at the second host, and a client at the first.
type session struct {
	server, client         *exec.Cmd
	serverErrs, clientErrs bytes.Buffer // to be read when the program has ended
	progress               io.Reader
}

// session starts both; rounds is how often the client writes the memory.
func (m *machines) session(ctx context.Context, t *testing.T, octets, rounds int) *session {
	t.Helper()
	s := &session{server: m.program(ctx, 1, "write", "weft0", fmt.Sprint(octets))}
	out, err := s.server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	s.server.Stderr = &s.serverErrs
	if err := s.server.Start(); err != nil {
		t.Fatal(err)
	}
	first := bufio.NewReader(out)
	if line, err := first.ReadString('\n'); line != "waiting\n" {
		t.Fatalf("server: %q, %v", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, first) }()
	s.client = m.program(ctx, 0, "write", "weft0", fmt.Sprint(octets), "127.0.0.1", fmt.Sprint(rounds))
	if s.progress, err = s.client.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	s.client.Stderr = &s.clientErrs
	if err := s.client.Start(); err != nil {
		t.Fatal(err)
	}
	return s
}

// wait expects both to have done their work.
func (s *session) wait(t *testing.T) {
	t.Helper()
	_, _ = io.Copy(io.Discard, s.progress)
	if err := s.client.Wait(); err != nil {
		t.Errorf("client: %v: %s", err, s.clientErrs.String())
	}
	if err := s.server.Wait(); err != nil {
		t.Errorf("server: %v: %s", err, s.serverErrs.String())
	}
}

// planeFails: the program writes on, and its memory arrives.
func (m *machines) planeFails(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := m.session(ctx, t, 8<<20, 6)
	lines := bufio.NewScanner(s.progress)
	for round := 1; lines.Scan(); round++ {
		switch round {
		case 1:
			run(t, "ip", "link", "set", port(0, 1), "down")
		case 3:
			run(t, "ip", "link", "set", port(0, 1), "up")
		}
	}
	s.wait(t)
}

// many: several programs use the NICs one after the other and beside each other.
func (m *machines) many(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, octets := range []int{1, 1023, 1024, 1025, 300_000} {
		m.session(ctx, t, octets, 2).wait(t)
	}
}

// programKilled: the NIC goes on for others.
func (m *machines) programKilled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := m.session(ctx, t, 4<<20, 1000)
	lines := bufio.NewScanner(s.progress)
	if !lines.Scan() {
		t.Fatal("no round")
	}
	for _, p := range []*exec.Cmd{s.client, s.server} {
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = p.Wait() // it was killed
	}
	m.session(ctx, t, 1<<20, 1).wait(t)
}

// programHostile: a user of the NIC gains neither access to the memory of a more privileged
// program, whose number its connection has, nor control through its own user namespace.
func (m *machines) programHostile(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	helper := filepath.Join(m.dir, "helper")
	run(t, "cp", filepath.Join(m.dir, "hostile"), helper)
	if err := os.Chmod(helper, 0o755|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	out, err := m.program(ctx, 0, "hostile", m.socket(0), helper).CombinedOutput()
	if err != nil {
		t.Errorf("hostile: %v: %s", err, out)
	}
	m.session(ctx, t, 1<<20, 1).wait(t)
}

// nicKilled: programs end with errors, and use the next NIC.
func (m *machines) nicKilled(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	s := m.session(ctx, t, 4<<20, 1_000_000)
	lines := bufio.NewScanner(s.progress)
	if !lines.Scan() {
		t.Fatal("no round")
	}
	if err := m.nics[0].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = m.nics[0].Wait() // it was killed
	for lines.Scan() {
	}
	if err := s.client.Wait(); err == nil || ctx.Err() != nil {
		t.Errorf("client after the end of its NIC: %v, %v", err, ctx.Err())
	}
	if err := s.server.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = s.server.Wait() // it was killed
	m.start(0)
	m.session(ctx, t, 1<<20, 1).wait(t)
}
