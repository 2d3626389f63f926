package northbound

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/northbound/northboundtest"
	"github.com/weft-sdn/weft/telemetry"
	"github.com/weft-sdn/weft/topology"
)

// fakeFabric is northboundtest's.
type fakeFabric struct{ *northboundtest.Multipath }

func newFabricServer(t testing.TB, mode ev.Mode) (*Server, fakeFabric) {
	t.Helper()
	m, snap := northboundtest.NewFabric(mode)
	cfg := DefaultConfig()
	cfg.Version, cfg.Multipath, cfg.Telemetry = "test", m, telemetry.New(telemetry.Config{})
	cfg.Now = func() time.Time { return epochStart }
	cfg.Planes = telemetry.NewPlanes(telemetry.PlanesConfig{Store: cfg.Telemetry, Now: cfg.Now,
		Uplinks: m.Uplinks})
	c := newFakeController()
	c.Snapshot = snap
	cfg.Hosts = []string{"example.com"}
	cfg.Limits.Rate = 1e6 // a test is one client
	s, err := New(cfg, c, NewEvents(4, epochStart))
	if err != nil {
		t.Fatal(err)
	}
	s.watch()
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
	if usable := value("weft_mrc_host_ports_usable"); all == 0 || usable != all || answered == 0 ||
		value(`weft_mrc_probes_total{result="lost"}`) != 0 {
		t.Errorf("%d of %d ports are usable, %d probes answered", usable, all, answered)
	}
	hosts, err := kind.Views[api.Host](t.Context(), f.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	ports := 0
	for i := range hosts {
		ports += len(hosts[i].Ports)
	}
	if ports != all {
		t.Errorf("%d ports of hosts, the API has %d", all, ports)
	}
}

// TestSeamIsNarrow: the API needs a list of kinds and few methods from a controller. A request for
// one kind is a question to the kind's handle, not a method.
func TestSeamIsNarrow(t *testing.T) {
	const most = 10
	n := reflect.TypeFor[Controller]().NumMethod() + reflect.TypeFor[Multipath]().NumMethod()
	if n > most {
		t.Errorf("Controller and Multipath have %d methods together, want at most %d", n, most)
	}
}
