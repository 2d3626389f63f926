package lab

import (
	"strings"
	"testing"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/southbound/target"
)

// TestSetSwitches: "mixed" leaves plane 1 to P4, and the controller's configuration has what each
// switch runs.
func TestSetSwitches(t *testing.T) {
	for to, kernels := range map[Switches]string{SwitchesP4: "", SwitchesLinux: "P1 P2",
		SwitchesMixed: "P2"} {
		n := Clos(ClosConfig{T0: 2, T1: 2, Hosts: 4})
		if err := n.SetSwitches(to); err != nil {
			t.Fatal(err)
		}
		inv := n.Inventory(nil)
		if err := inv.Validate(); err != nil && strings.Contains(err.Error(), "switches[") {
			t.Errorf("%s: %v", to, err)
		}
		for i, s := range n.Switches {
			want := strings.Contains(kernels, s.Name[:2])
			if s.IsKernel() != want || (inv.Switches[i].System == target.Linux) != want {
				t.Errorf("%s: %s runs %q, and %q in the configuration", to, s.Name, s.System,
					inv.Switches[i].System)
			}
		}
		want := ev.ModeStructured
		if kernels != "" {
			want = ev.ModeUSIDStructured
		}
		if got := n.DefaultMode(); got != want {
			t.Errorf("%s: the mode is %v, want %v", to, got, want)
		}
	}
}

// TestKernelFaults: what a network with kernels cannot be is refused, with the field.
func TestKernelFaults(t *testing.T) {
	n := Clos(ClosConfig{T0: 2, T1: 2, Hosts: 4})
	if err := n.SetSwitches("sonic"); err == nil || !strings.Contains(err.Error(), "linux") {
		t.Errorf("sonic: %v", err)
	}
	n.Switches[3].System = target.SONiC
	if err := n.Complete(); err == nil || !strings.Contains(err.Error(), "switches[3].system") {
		t.Errorf("sonic: %v", err)
	}
	n.Switches[3].System, n.Switches[3].PFC = target.Linux, true
	if err := n.Complete(); err == nil || !strings.Contains(err.Error(), "switches[3].pfc") {
		t.Errorf("PFC: %v", err)
	}
	n.Switches[3].PFC = false
	n.MRC = MRCSettings(&n, ev.ModeStructured)
	if err := n.Complete(); err == nil || !strings.Contains(err.Error(), "mrc.mode") {
		t.Errorf("stev: %v", err)
	}
}
