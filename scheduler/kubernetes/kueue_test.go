package kubernetes

import (
	"strings"
	"testing"

	"github.com/weft-sdn/weft/scheduler"
	"github.com/weft-sdn/weft/scheduler/schedulertest"
)

func tree() *scheduler.Tree {
	f := schedulertest.Clos(1, 1, 2)
	for i := range f.Hosts[1].Ports {
		f.Hosts[1].Ports[i].Status.Usable, f.Hosts[1].Ports[i].Status.LinkDown = false, true
	}
	return scheduler.NewTree(f)
}

func TestWriteKueue(t *testing.T) {
	var out strings.Builder
	if err := WriteKueue(&out, tree()); err != nil {
		t.Fatal(err)
	}
	want := `---
apiVersion: kueue.x-k8s.io/v1beta2
kind: Topology
metadata:
  name: weft
spec:
  levels:
  - nodeLabel: fabric.topograph.run/tier-1
  - nodeLabel: fabric.topograph.run/tier-0
  - nodeLabel: kubernetes.io/hostname
---
apiVersion: v1
kind: Node
metadata:
  name: n001
  labels:
    fabric.topograph.run/tier-0: P1-T0-1
    fabric.topograph.run/tier-1: P1-T1-1
    weft-sdn.github.io/go: "true"
    weft-sdn.github.io/usable-ports: "2"
---
apiVersion: v1
kind: Node
metadata:
  name: n002
  labels:
    fabric.topograph.run/tier-0: P1-T0-1
    fabric.topograph.run/tier-1: P1-T1-1
    weft-sdn.github.io/go: "false"
    weft-sdn.github.io/usable-ports: "0"
`
	if out.String() != want {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
}

func TestWriteTaints(t *testing.T) {
	var out strings.Builder
	if err := WriteTaints(&out, tree()); err != nil {
		t.Fatal(err)
	}
	want := `kubectl taint node n001 weft-sdn.github.io/no-go:NoSchedule- 2>/dev/null || true
kubectl taint node n002 weft-sdn.github.io/no-go=true:NoSchedule --overwrite # 2 of 2 ports down
`
	if out.String() != want {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
}

// TestTaintsNameHosts: the commands have names alone, whatever the API answers.
func TestTaintsNameHosts(t *testing.T) {
	of := tree()
	of.Hosts[1].Name = "n002; reboot"
	var out strings.Builder
	if err := WriteTaints(&out, of); err == nil || !strings.Contains(err.Error(), "reboot") ||
		out.Len() > 0 {
		t.Errorf("%v, and it wrote %q; want an error with the name, and nothing", err, out.String())
	}
}

func TestLabelValue(t *testing.T) {
	if got := labelValue(strings.Repeat("x", 63)); len(got) != 63 {
		t.Error(got)
	}
	// FNV-1a of 64 bits, offset basis 14695981039346656037, prime 1099511628211.
	h := uint64(14695981039346656037)
	for range 64 {
		h = (h ^ 'x') * 1099511628211
	}
	want := "x" + strings.ToLower(hex(h))
	if got := labelValue(strings.Repeat("x", 64)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func hex(n uint64) string {
	out := ""
	for ; n > 0; n /= 16 {
		out = string("0123456789abcdef"[n%16]) + out
	}
	return out
}
