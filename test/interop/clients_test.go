//go:build linux

package interop

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/packet/cm"
)

// python runs a text with the client in Python, and returns what it prints.
func python(t *testing.T, text string) []byte {
	t.Helper()
	program, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not on the PATH")
	}
	cmd := exec.CommandContext(t.Context(), program, "-B", "-c", "import json, weft\n"+text)
	cmd.Dir = filepath.Join("..", "..", "clients", "python")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return out
}

// compile compiles C with the headers of librdmacm, and returns the program.
func compile(t *testing.T, args ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("cc is not on the PATH")
	}
	if _, err := os.Stat("/usr/include/rdma/rdma_cma.h"); err != nil {
		t.Skip("the headers of librdmacm are not installed: apt-get install librdmacm-dev")
	}
	out := filepath.Join(t.TempDir(), "program")
	args = append([]string{"-Wall", "-Wextra", "-Werror", "-o", out}, args...)
	args = append(args, "-lrdmacm", "-libverbs")
	if text, err := exec.CommandContext(t.Context(), cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// TestLayouts: the Python client uses the same struct offsets as the C headers of librdmacm.
func TestLayouts(t *testing.T) {
	var layouts map[string]map[string]int
	if err := json.Unmarshal(python(t, "print(json.dumps(weft.layouts()))"), &layouts); err != nil {
		t.Fatal(err)
	}
	inner := map[string]string{"rdma_cm_event.conn": "param.conn", "ibv_send_wr.rkey": "wr.rdma.rkey",
		"ibv_send_wr.remote_addr": "wr.rdma.remote_addr"}
	var c strings.Builder
	c.WriteString(
		"#include <stddef.h>\n#include <stdio.h>\n#include <rdma/rdma_cma.h>\nint main(void) {\n",
	)
	var want strings.Builder
	for _, s := range slices.Sorted(maps.Keys(layouts)) {
		for _, f := range slices.Sorted(maps.Keys(layouts[s])) {
			of, field := s, f
			switch {
			case s == "ops":
				of, field = "ibv_context", "ops."+f
			case inner[s+"."+f] != "":
				field = inner[s+"."+f]
			case s == "ibv_qp_init_attr" && strings.HasPrefix(f, "max_"):
				field = "cap." + f
			}
			fmt.Fprintf(&c, "printf(\"%s.%s %%zu\\n\", offsetof(struct %s, %s));\n", s, f, of, field)
			fmt.Fprintf(&want, "%s.%s %d\n", s, f, layouts[s][f])
		}
	}
	c.WriteString("return 0; }\n")
	source := filepath.Join(t.TempDir(), "layouts.c")
	if err := os.WriteFile(source, []byte(c.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := exec.CommandContext(t.Context(), compile(t, source)).Output()
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("offsets in C:\n%sin Python:\n%s", got, want.String())
	}
}

// TestPrivateData: what the client in Python says and understands is what the controller does.
func TestPrivateData(t *testing.T) {
	for _, c := range []struct {
		text string
		join cm.Join
	}{
		{"weft.encode_join()", cm.Join{}},
		{"weft.encode_join(token='open')", cm.Join{HasToken: true,
			Token: [cm.TokenLen]byte{'o', 'p', 'e', 'n'}}},
		{"weft.encode_join(0x12345678, 0x1122334455667788, 1 << 40)", cm.Join{HasMemory: true,
			RKey: 0x12345678, VA: 0x1122334455667788, Length: 1 << 40}},
	} {
		got := strings.TrimSpace(string(python(t, "print("+c.text+".hex())")))
		if want := hex.EncodeToString(c.join.Append(nil)); got != want {
			t.Errorf("%s: %s, want %s", c.text, got, want)
		}
	}
	offer := cm.Offer{MTU: cm.MTU4096, RKey: 7, BaseVA: 1 << 33, Length: 64 << 20, Epoch: 9}
	got := strings.TrimSpace(
		string(python(t, fmt.Sprintf("print(*weft.decode_offer(bytes.fromhex('%x')))",
			offer.Append(nil)))),
	)
	if want := "4096 7 8589934592 67108864 9"; got != want {
		t.Errorf("offer: %s, want %s", got, want)
	}
}

// TestClientInC: the client in C compiles without a warning, and says why it cannot connect.
func TestClientInC(t *testing.T) {
	clients := filepath.Join("..", "..", "clients", "c")
	program := compile(t, "-I"+clients, filepath.Join("testdata", "relay.c"),
		filepath.Join(clients, "weft.c"))
	out, err := exec.CommandContext(t.Context(), program, "source", "::1", "1", "::1",
		strings.Repeat("x", 40), "16", "1").Output()
	if err == nil || !strings.HasPrefix(string(out), "connect: ") {
		t.Errorf("%v: %s", err, out)
	}
}
