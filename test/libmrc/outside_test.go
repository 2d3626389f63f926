//go:build linux

package libmrc

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// whole reports whether the outside programs run their full workload, which takes minutes.
func whole() bool { return os.Getenv(wholeEnv) != "" }

func wholeTime() time.Duration {
	if whole() {
		return wholePatience
	}
	return 0
}

// missing logs which of the outside programs are not at hand.
func missing(t *testing.T) {
	for _, m := range [][2]string{
		{ocpEnv, "OCP-Multipath-Reliable-Connection: mrc_test, mrc_example, the NCCL plugin's header"},
		{ncclEnv, "microsoft/mrc-nccl-plugin: libnccl-net-mrc.so"},
	} {
		if os.Getenv(m[0]) == "" {
			t.Logf("not run, %s names no folder: %s", m[0], m[1])
		}
	}
	t.Log("not run: perftest by the verbs shim (microsoft/mrc-verbs-shim-lib): its sources were not " +
		"at hand")
}

// compileNCCL builds the plugin from unmodified sources, without CUDA and NCCL, and the harness
// that drives the plugin like NCCL.
func compileNCCL(t *testing.T, dir, ocp string) {
	t.Helper()
	plugin := os.Getenv(ncclEnv)
	if plugin == "" {
		return
	}
	sources, err := filepath.Glob(filepath.Join(plugin, "src", "*.c"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("%s=%s: no src/*.c there: %v", ncclEnv, plugin, err)
	}
	ours, err := filepath.Abs(filepath.Join("testdata", "nccl"))
	if err != nil {
		t.Fatal(err)
	}
	headers := []string{"-std=gnu11", "-I" + ours, "-I" + filepath.Join(plugin, "include"), "-I" + ocp}
	// It was written for a header with another name for a struct, and may do without mlx5's DMA-BUF.
	args := append([]string{"-shared", "-fPIC", "-w", "-Dmrc_attr=mrc_device_attr",
		"-DHAVE_DECL_MLX5DV_REG_DMABUF_MR=0", "-DHAVE_DECL_MLX5DV_GET_DATA_DIRECT_SYSFS_PATH=0",
		filepath.Join(ours, "mlx5.c")}, append(headers, sources...)...)
	compile(t, dir, "libnccl-net-mrc.so", append(args, "-ldl", "-lpthread")...)
	args = append([]string{"-Wall", "-Wextra", "-rdynamic", filepath.Join(ours, "harness.c")},
		headers...)
	compile(t, dir, "nccl_harness", append(args, "-ldl", "-lm")...)
}

// ocp: programs of OCP's repository, as they are.
func (m *machines) ocp(t *testing.T) {
	if os.Getenv(ocpEnv) == "" {
		t.Skip(ocpEnv + " does not name OCP's repository")
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := m.program(ctx, 0, "mrc_test", "-d", "weft0").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Hello MRC") {
		t.Errorf("mrc_test: %v: %s", err, out)
	}
	if !whole() {
		m.example(t, 1, 1<<20, 100, nil)
		return
	}
	m.example(t, 1, 64<<10, 1000, m.flap)
	m.example(t, 128<<10, 64<<20, 10, m.flap)
}

// flap takes a plane away and gives it back, until the returned function is called.
func (m *machines) flap(ctx context.Context, t *testing.T) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		every := time.NewTicker(500 * time.Millisecond)
		defer every.Stop()
		for up := false; ; up = !up {
			select {
			case <-ctx.Done():
				run(t, "ip", "link", "set", port(0, 1), "up")
				return
			case <-every.C:
				run(t, "ip", "link", "set", port(0, 1), map[bool]string{true: "up", false: "down"}[up])
			}
		}
	}()
	return func() { cancel(); <-ended }
}

// example runs OCP's benchmark with messages of from octets, of powers of two of from, and of to
// octets at most.
func (m *machines) example(t *testing.T, from, to, iterations int,
	beside func(context.Context, *testing.T) func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience+wholeTime())
	defer cancel()
	args := []string{"-d", "weft0", "-g", "0", "-n", strconv.Itoa(iterations), "-s", strconv.Itoa(to),
		"--min-size", strconv.Itoa(from)}
	server := m.program(ctx, 1, "mrc_example", args...)
	log, err := server.StderrPipe()
	if err == nil {
		server.Stdout = server.Stderr
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	await(t, log, "TCP listening")
	stop := func() {}
	if beside != nil {
		stop = beside(ctx, t)
	}
	out, err := m.program(ctx, 0, "mrc_example", append([]string{"127.0.0.1"}, args...)...).
		CombinedOutput()
	stop()
	if err != nil || !strings.Contains(string(out), "completed successfully") {
		t.Errorf("mrc_example: %v: %s", err, out)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("mrc_example as server: %v", err)
	}
	if whole() {
		t.Logf("mrc_example, %d to %d octets, %d iterations:\n%s", from, to, iterations, table(out))
	}
}

// table is the lines of an output that begin with a number.
func table(out []byte) string {
	var b strings.Builder
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) > 0 && strings.Trim(f[0], "0123456789") == "" {
			b.WriteString(line)
		}
	}
	return b.String()
}

// nccl: Microsoft's plugin, which carries messages as NCCL has it do.
func (m *machines) nccl(t *testing.T) {
	if os.Getenv(ncclEnv) == "" || os.Getenv(ocpEnv) == "" {
		t.Skipf("%s and %s do not both name a folder", ncclEnv, ocpEnv)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience+wholeTime())
	defer cancel()
	messages, seed := 1000, uint64(time.Now().UnixNano())
	if whole() {
		messages = 100_000
	}
	t.Logf("seed %d", seed)
	cmd := exec.CommandContext(ctx, filepath.Join(m.dir, "nccl_harness"),
		filepath.Join(m.dir, "libnccl-net-mrc.so"), m.socket(0), m.socket(1), "8",
		strconv.Itoa(messages), strconv.Itoa(4<<20), fmt.Sprint(seed))
	cmd.Env = append(os.Environ(), "NCCL_SOCKET_IFNAME=lo")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), fmt.Sprint(messages, " messages")) {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", out)
}
