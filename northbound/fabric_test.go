package northbound

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/northbound/northboundtest"
	"github.com/weft-sdn/weft/topology"
)

// fakeFabric is northboundtest's.
type fakeFabric struct{ *northboundtest.Multipath }

func newFabricServer(t testing.TB, mode ev.Mode) (*Server, fakeFabric) {
	t.Helper()
	m, snap := northboundtest.NewFabric(mode)
	cfg := DefaultConfig()
	cfg.Version, cfg.Multipath = "test", m
	cfg.Now = func() time.Time { return epochStart }
	c := newFakeController()
	c.Snapshot = snap
	cfg.Hosts = []string{"example.com"}
	s, err := New(cfg, c, NewEvents(4, epochStart))
	if err != nil {
		t.Fatal(err)
	}
	return s, fakeFabric{m}
}

// obey does what a line of a script says: "pass 1s", "stop HOST", "cut NODE PORT",
// "bad HOST PROFILE EV" or "lossy LINK".
func (f fakeFabric) obey(t *testing.T, command, arg string) {
	t.Helper()
	args := strings.Fields(arg)
	var err error
	switch command {
	case "pass":
		var d time.Duration
		if d, err = time.ParseDuration(arg); err == nil {
			f.Pass(d)
		}
	case "stop":
		f.Stop(arg)
	case "cut":
		var port uint64
		if port, err = strconv.ParseUint(args[1], 10, 32); err == nil {
			f.Cut(topology.NodeID(args[0]), uint32(port))
		}
	case "bad":
		err = f.Bad(args[0], args[1], args[2])
	case "lossy":
		err = f.Lossy(topology.LinkID(arg))
	default:
		t.Fatalf("the fake fabric knows no %q", command)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// The instance of a host has 64 bits, and JSON clients keep 53 of a number.
func TestHostInstanceIsText(t *testing.T) {
	for n, want := range map[uint64]string{0: "", 1: "0x1", 1<<53 + 1: "0x20000000000001", 1<<64 - 1: "0xffffffffffffffff"} {
		if got := instanceText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// TestFabricMetrics: ports of hosts and EV probes are counted as hosts report them.
func TestFabricMetrics(t *testing.T) {
	s, f := newFabricServer(t, ev.ModeStructured)
	value := func(metric string) (v int) {
		t.Helper()
		_, rest, ok := strings.Cut(do(s, "GET", "/metrics", "").Body.String(), "\n"+metric+" ")
		text, _, _ := strings.Cut(rest, "\n")
		v, err := strconv.Atoi(text)
		if !ok || err != nil {
			t.Fatalf("%s is %q", metric, text)
		}
		return v
	}
	f.Pass(time.Minute)
	all, answered := value("weft_mrc_host_ports"), value(`weft_mrc_probes_total{result="answered"}`)
	if usable := value("weft_mrc_host_ports_usable"); all == 0 || usable != all || answered == 0 || value(`weft_mrc_probes_total{result="lost"}`) != 0 {
		t.Errorf("%d of %d ports are usable, %d probes answered", usable, all, answered)
	}
	hosts, _, err := f.Hosts(t.Context(), mrc.Page{})
	if err != nil {
		t.Fatal(err)
	}
	ports := 0
	for i := range hosts {
		ports += len(hosts[i].HostStatus.Ports)
	}
	if ports != all {
		t.Errorf("%d ports of hosts, the API has %d", all, ports)
	}
}

// TestSuspectOfHost: the link of a host has the host at one end and its leaf at the other.
func TestSuspectOfHost(t *testing.T) {
	s, _ := newFabricServer(t, ev.ModeStructured)
	snap := s.controller.Topology()
	leaf := snap.Nodes[0].ID
	name := nodeName(snap, leaf)
	for _, c := range []struct {
		end  mrc.HostEnd
		want api.Suspect
	}{
		{mrc.HostEnd{Host: "h1", Port: 2, Leaf: leaf}, api.Suspect{FromName: "h1", To: leaf, ToName: name, Host: "h1", HostPort: 2}},
		{mrc.HostEnd{Host: "h1", Port: 2, Leaf: leaf, Receiving: true}, api.Suspect{From: leaf, FromName: name, ToName: "h1", Host: "h1", HostPort: 2}},
		{mrc.HostEnd{Port: 1, Leaf: leaf, Receiving: true}, api.Suspect{From: leaf, FromName: name, ToName: "a host", HostPort: 1}},
	} {
		got := s.viewSuspect(snap, &mrc.Suspect{End: &c.end})
		got.Links, got.Since = nil, time.Time{}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %+v, want %+v", c.end, got, c.want)
		}
	}
}
