package kubernetes

import (
	"io"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/clients/scheduler"
	"github.com/weft-sdn/weft/clients/scheduler/schedulertest"
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
`
	if out.String() != want {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
}

// labels returns the commands for a fabric.
func labels(t *testing.T, f *scheduler.Facts) string {
	t.Helper()
	var out strings.Builder
	if err := WriteLabels(&out, scheduler.NewTree(f)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriteLabels(t *testing.T) {
	f := schedulertest.Clos(1, 2, 3)
	f.Hosts[1].Name, f.Hosts[2].Connected = "N002.Example", false
	const tiers = " --overwrite fabric.topograph.run/tier-0=P1-T0-1 " +
		"fabric.topograph.run/tier-1=P1-T1-1 weft-sdn.github.io/"
	want := "kubectl label node n002.example n001" + tiers +
		"go=true weft-sdn.github.io/usable-ports=2\n" +
		"kubectl label node n003" + tiers + "go=false weft-sdn.github.io/usable-ports=2\n" +
		"kubectl label node n004 n005 n006" + strings.Replace(tiers, "P1-T0-1", "P1-T0-2", 1) +
		"go=true weft-sdn.github.io/usable-ports=2\n"
	if got := labels(t, f); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	// A T0 whose uplinks are not known: it is in another part, whose root is a tier.
	f = schedulertest.Clos(1, 1, 1)
	f.Hosts = append(f.Hosts, api.Host{Name: "x", Connected: true,
		Ports: []api.HostPort{{Status: api.HostPortStatus{Leaf: "1:9", LeafName: "T0-9"}}}})
	for _, part := range []string{"tier-0=T0-9 ", "tier-1=T0-9 ", "tier-2=fabric-2 ",
		"tier-0=P1-T0-1 ", "tier-1=P1-T1-1 ", "tier-2=fabric "} {
		if got := labels(t, f); !strings.Contains(got, " fabric.topograph.run/"+part) {
			t.Errorf("%s lacks %s", got, part)
		}
	}
	var out strings.Builder
	if err := WriteKueue(&out, scheduler.NewTree(f)); err != nil || strings.Index(out.String(),
		"tier-2") > strings.Index(out.String(), "tier-1") || !strings.Contains(out.String(), "tier-2") {
		t.Errorf("%v: %s lacks the tier of the roots", err, out.String())
	}
	f.Links = nil // nothing is known of what is connected: all is
	if got := labels(t, f); !strings.Contains(got, "tier-0=T0-9 ") ||
		strings.Contains(got, "fabric ") {
		t.Error(got)
	}
	// Commands have a bound.
	got := labels(t, schedulertest.Clos(1, 1, 501))
	if n := strings.Count(got, "\n"); n != 2 || !strings.HasSuffix(got, "\n") ||
		!strings.Contains(got, " n500 --") || !strings.Contains(got, "node n501 --") {
		t.Errorf("%d commands: %s", n, got)
	}
}

// TestNamesOfNodes: the error names a host that cannot be a node of Kubernetes, and nothing is
// written.
func TestNamesOfNodes(t *testing.T) {
	for name, want := range map[string]string{
		"n_1": `host "n_1": no node`, "-a": `host "-a": no node`, "a..b": "no node",
		strings.Repeat("a", 254): "at most 253 octets", "N001": "hosts N001 and n001: both",
		"n002; reboot": "reboot",
	} {
		f := schedulertest.Clos(1, 1, 2)
		f.Hosts[1].Name = name
		for form, write := range map[string]func(io.Writer, *scheduler.Tree) error{
			"labels": WriteLabels, "taints": WriteTaints} {
			var out strings.Builder
			err := write(&out, scheduler.NewTree(f))
			if err == nil || !strings.Contains(err.Error(), want) || out.Len() > 0 {
				t.Errorf("%s of %.20s: %v and %q, want %s", form, name, err, out.String(), want)
			}
		}
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
