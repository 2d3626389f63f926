package slurm

import (
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/clients/scheduler"
	"github.com/weft-sdn/weft/clients/scheduler/schedulertest"
)

func TestWriteConf(t *testing.T) {
	var out strings.Builder
	if err := WriteConf(&out, scheduler.NewTree(schedulertest.Clos(2, 2, 4))); err != nil {
		t.Fatal(err)
	}
	want := `# topology.conf of Slurm, with TopologyPlugin=topology/tree
SwitchName=P1-T0-4 Nodes=n[013-016]
SwitchName=P1-T0-3 Nodes=n[009-012]
SwitchName=P1-T0-2 Nodes=n[005-008]
SwitchName=P1-T0-1 Nodes=n[001-004]
SwitchName=P1-T1-3 Switches=P1-T0-[3-4]
SwitchName=P1-T1-1 Switches=P1-T0-[1-2]
SwitchName=fabric Switches=P1-T1-[1,3]
`
	if out.String() != want {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
	if err := WriteConf(&out, scheduler.NewTree(&scheduler.Facts{})); err == nil {
		t.Error("a topology of nothing")
	}
	twice := schedulertest.Clos(1, 1, 1)
	twice.Hosts = append(twice.Hosts, api.Host{Name: "a b", Ports: twice.Hosts[0].Ports})
	if err := WriteConf(&out, scheduler.NewTree(twice)); err == nil ||
		!strings.Contains(err.Error(), `"a b"`) {
		t.Errorf("a name that Slurm does not take: %v", err)
	}
}

func TestWriteYAML(t *testing.T) {
	var out strings.Builder
	f := schedulertest.Clos(2, 2, 4)
	f.Hosts = f.Hosts[1:] // the first block is smaller
	if err := WriteYAML(&out, scheduler.NewTree(f)); err != nil {
		t.Fatal(err)
	}
	want := `- topology: fabric-tree
  cluster_default: true
  tree:
    switches:
    - switch: fabric
      children: P1-T1-[1,3]
    - switch: P1-T1-1
      children: P1-T0-[1-2]
    - switch: P1-T1-3
      children: P1-T0-[3-4]
    - switch: P1-T0-1
      nodes: n[002-004]
    - switch: P1-T0-2
      nodes: n[005-008]
    - switch: P1-T0-3
      nodes: n[009-012]
    - switch: P1-T0-4
      nodes: n[013-016]
- topology: fabric-blocks
  cluster_default: false
  block:
    block_sizes:
    - 3
    - 6
    - 12
    blocks:
    - block: P1-T0-1
      nodes: n[002-004]
    - block: P1-T0-2
      nodes: n[005-008]
    - block: P1-T0-3
      nodes: n[009-012]
    - block: P1-T0-4
      nodes: n[013-016]
`
	if out.String() != want {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
}
