package flows

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
)

// htsim is the public simulator of UltraEthernet (ultraethernet/uet-htsim), built by its cmake in
// htsim/sim/build of the folder that HTSIM_DIR names.
type htsim struct{ sim string }

// outcome is what a simulator says of flows that begin together. Times are in microseconds, for
// packets of the same length on the wire.
type outcome struct {
	ends          []float64     // of the flows, ascending
	packets       int           // of data, with those sent again
	hops          int           // of these packets, and of their answers: links passed
	nacks         int           // refused packets
	took          time.Duration // of processor
	median, tail  float64
	packetsSecond float64 // of processor
	hopsSecond    float64
}

func (o *outcome) complete() {
	slices.Sort(o.ends)
	o.median, o.tail = o.ends[len(o.ends)/2], o.ends[len(o.ends)-1]
	o.packetsSecond = float64(o.packets) / o.took.Seconds()
	o.hopsSecond = float64(o.hops) / o.took.Seconds()
}

// run runs flows over two tiers whose links have a delay of 1 us.
func (h htsim) run(t *testing.T, c lab.ClosConfig, rate uint64,
	flows []lab.FlowConfig) (o outcome) {
	t.Helper()
	dir := t.TempDir()
	var matrix bytes.Buffer
	fmt.Fprintf(&matrix, "Nodes %d\nConnections %d\n", c.Hosts, len(flows))
	links := map[string]int{} // that a packet passes, by flow
	for i, f := range flows {
		fmt.Fprintf(&matrix, "%d->%d id %d start 0 size %d\n", number(f.From), number(f.To), i+1, f.Bytes)
		links[fmt.Sprintf("%d_%d", number(f.From), number(f.To))] = hopsOf(c, f)
	}
	tier := fmt.Sprintf("Downlink_speed_Gbps %d\nDownlink_Latency_ns 1000\nSwitch_Latency_ns 0\n",
		rate/1e9)
	topology := fmt.Sprintf("Nodes %d\nTiers 2\nPodsize %d\n\nTier 0\nRadix_Down %d\n"+
		"Radix_Up %d\n%s\nTier 1\nRadix_Down %d\n%s", c.Hosts, c.Hosts, c.Hosts/c.T0,
		c.T1, tier, c.T0, tier)
	for name, text := range map[string][]byte{"flows.cm": matrix.Bytes(),
		"two.topo": []byte(topology)} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := exec.CommandContext(t.Context(), filepath.Join(h.sim, "build/datacenter/htsim_uec"),
		"-tm", "flows.cm", "-topo", "two.topo", "-linkspeed",
		strconv.FormatUint(rate/1e6, 10), "-sender_cc_only",
		"-sender_cc_algo", "nscc", "-load_balancing_algo", "bitmap", "-paths", "128", "-mtu", "4160",
		"-end", "100000")
	program.Dir = dir
	out, err := program.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", program, err, out[max(0, len(out)-2000):])
	}
	o.took = program.ProcessState.UserTime() + program.ProcessState.SystemTime()
	finished := regexp.MustCompile(`^Flow Uec_(\d+_\d+) .* finished at ([0-9.]+) ` +
		`.* total packets (\d+) `)
	counts := regexp.MustCompile(`^New: (\d+) Rtx: (\d+) .* ACKs: (\d+) NACKs: (\d+) `)
	atoi := func(b []byte) int {
		n, err := strconv.Atoi(string(b))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	sent, passed := 0, 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		if m := finished.FindSubmatch(lines.Bytes()); m != nil {
			at, err := strconv.ParseFloat(string(m[2]), 64)
			if err != nil {
				t.Fatal(err)
			}
			o.ends = append(o.ends, at)
			sent += atoi(m[3])
			passed += atoi(m[3]) * links[string(m[1])]
		}
		if m := counts.FindSubmatch(lines.Bytes()); m != nil {
			o.packets, o.nacks = atoi(m[1])+atoi(m[2]), atoi(m[4])
			o.hops = (o.packets + atoi(m[3]) + o.nacks) * passed / max(1, sent)
		}
	}
	if len(o.ends) != len(flows) || o.packets == 0 {
		t.Fatalf("%d of %d flows ended, %d packets:\n%s", len(o.ends), len(flows), o.packets,
			out[max(0, len(out)-2000):])
	}
	o.complete()
	return o
}

// number returns the number of a host of a Clos, from 0.
func number(host string) int {
	n, _ := strconv.Atoi(host[1:]) // names of lab.Clos
	return n - 1
}

// hopsOf returns the links between the hosts of a flow.
func hopsOf(c lab.ClosConfig, f lab.FlowConfig) int {
	if c.Leaf(number(f.From)) == c.Leaf(number(f.To)) {
		return 2
	}
	return 4
}

// processor returns the time of processor that this process has used.
func processor(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// simulate runs the same flows in a lab.
func simulate(t *testing.T, c lab.ClosConfig, l links, flows []lab.FlowConfig,
	seed uint64) (o outcome) {
	t.Helper()
	f := newFabric(t, c, ev.ModeStructured, l, seed)
	f.forget = true // as in htsim, which has no octets
	e := f.write(t, seed, nil, flows...)
	arrived := func() (frames int) {
		for _, w := range e.Wires() {
			frames += int(w.Sent)
		}
		return frames
	}
	before, began := processor(t), arrived()
	e.run(time.Minute)
	o.took, o.hops = processor(t)-before, arrived()-began
	for _, x := range e.Flows {
		o.ends = append(o.ends, (x.Ended-x.Began).Seconds()*1e6*4160/dataOctets)
	}
	s := e.sum()
	o.packets, o.nacks = int(s.RequestsSent), int(s.NACKsReceived)
	o.complete()
	return o
}

// matrix reads the flows of a connection matrix without triggers of htsim.
func (h htsim) matrix(t *testing.T, name string) (flows []lab.FlowConfig) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(h.sim, "datacenter/connection_matrices", name))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^(\d+)->(\d+) .*size (\d+)$`).FindAllSubmatch(text, -1) {
		var n [3]int
		for i := range n {
			if n[i], err = strconv.Atoi(string(m[i+1])); err != nil {
				t.Fatal(err)
			}
		}
		flows = append(flows, lab.FlowConfig{From: fmt.Sprintf("H%d", n[0]+1),
			To: fmt.Sprintf("H%d", n[1]+1), Bytes: n[2]})
	}
	if len(flows) == 0 {
		t.Fatalf("%s has no flows", name)
	}
	return flows
}

// TestBesideHtsim: flows end as they do in htsim, half of them and the last one within 15 %, with a
// quarter more or fewer NACKs. Both simulators tell how much they simulate in a second of
// processor; run the test alone, since other tests would count for this process.
func TestBesideHtsim(t *testing.T) {
	dir := os.Getenv("HTSIM_DIR")
	if dir == "" {
		t.Skip("HTSIM_DIR does not name a clone of ultraethernet/uet-htsim with its programs")
	}
	h, err := filepath.Abs(filepath.Join(dir, "htsim/sim"))
	if err != nil {
		t.Fatal(err)
	}
	of, seed := htsim{h}, seeds.One(t, 1)
	small := lab.ClosConfig{Planes: 1, T0: 4, T1: 4, Hosts: 16}
	large := lab.ClosConfig{Planes: 1, T0: 8, T1: 16, Hosts: 128}
	huge := lab.ClosConfig{Planes: 1, T0: 32, T1: 32, Hosts: 1024}
	slow := links{100e9, fast.delay}
	var names []string
	for i := range small.Hosts {
		names = append(names, fmt.Sprintf("H%d", i+1))
	}
	for _, x := range []struct {
		name   string
		fabric lab.ClosConfig
		links  links
		flows  []lab.FlowConfig
	}{
		{"permutation of 16", small, fast, of.matrix(t, "perm_16n_16c_2MB.cm")},
		{"all-to-all of 16", small, fast, lab.AllToAll(names, 256<<10)},
		{"permutation of 128", large, fast, of.matrix(t, "perm_128n_128c_2MB.cm")},
		{"incast of 128", large, fast, of.matrix(t, "incast_128.cm")},
		{"permutation of 16 at 100G", small, slow, of.matrix(t, "perm_16n_16c_2MB.cm")},
		{"all-to-all of 16 at 100G", small, slow, lab.AllToAll(names, 256<<10)},
		{"incast of 16 at 100G", small, slow, of.matrix(t, "incast.cm")},
		{"permutation of 1024", huge, fast, of.matrix(t, "perm_1024n_1024c_0u_20000b.cm")},
	} {
		t.Run(x.name, func(t *testing.T) {
			theirs := of.run(t, x.fabric, x.links.rate, x.flows)
			ours := simulate(t, x.fabric, x.links, x.flows, seed)
			for _, s := range []struct {
				who string
				o   outcome
			}{{"htsim", theirs}, {"weft", ours}} {
				t.Logf("%-6s half after %.1f us, all after %.1f us; %d packets, %d NACKs; %.3g packets and "+
					"%.3g hops a second of processor (%v)", s.who, s.o.median, s.o.tail, s.o.packets,
					s.o.nacks, s.o.packetsSecond, s.o.hopsSecond, s.o.took.Round(time.Millisecond))
			}
			near := func(what string, got, want, tolerance float64) {
				if got < want*(1-tolerance) || got > want*(1+tolerance) {
					t.Errorf("%s %.4g, want %.4g within %v", what, got, want, tolerance)
				}
			}
			near("half of the flows after", ours.median, theirs.median, 0.15)
			near("the last flow after", ours.tail, theirs.tail, 0.15)
			if theirs.nacks > 100 {
				near("NACKs", float64(ours.nacks), float64(theirs.nacks), 0.25)
			}
		})
	}
}
