package mrc

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
)

// TestPortFact: a job learns whether packets may be sent to a port of its hosts. If not, it gets
// the first reason: the report of the switch, the report of the host, a drain, or the hold after an
// outage.
func TestPortFact(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 2, 2, 2)
	const one = "one port"
	if err := w.core.PutHost(fabric.Host{Name: one, Address: netip.MustParseAddr("2001:db8:1::1"),
		At: ev.Attachment{"", leafID(2, 1)}, LeafPorts: []uint32{0, hostPortBase + 3}}); err != nil {
		t.Fatal(err)
	}
	w.start()
	name := hostName(1, 1)
	link := func(port int, up bool) func() error {
		return func() error {
			w.core.SetPorts(leafID(port, 1), map[uint32]bool{hostPortBase + 1: up})
			return nil
		}
	}
	says := func(up hostapi.PortMask) func() error {
		return func() error { return w.core.PortStatus(name, up) }
	}
	drain := func() error { return w.core.Drain(Target{Host: name, Port: 1}) }
	bad := func(why string) ready.Fact { return ready.Fact{State: ready.Bad, Why: why} }
	mute := ready.Fact{Why: "its host does not report it"}
	for _, c := range []struct {
		what   string
		do     func() error
		p1, p2 ready.Fact // of ports 1 and 2
	}{
		{"nothing is said of ports", nil, mute, mute},
		{"both are up", says(hostapi.Ports(1, 2)), ready.IsGood(), ready.IsGood()},
		{"the first is drained", drain, bad("drained"), ready.IsGood()},
		{"the second is down too", says(hostapi.Ports(1)), bad("drained"),
			bad("down, as its host reports")},
		{"the switch says it too", link(2, false), bad("drained"), bad("down, as its switch reports")},
		{"the first is down too", link(1, false), bad("down, as its switch reports"),
			bad("down, as its switch reports")},
		{"the second is back", func() error {
			return errors.Join(link(2, true)(), says(hostapi.Ports(1, 2))())
		}, bad("down, as its switch reports"), bad("it was down, and is held for a while")},
		{"the stream has ended", func() error { w.hosts[name].up = false; return w.core.Gone(name) },
			bad("down, as its switch reports"), bad("it was down, and is held for a while")},
	} {
		if c.do != nil {
			if err := c.do(); err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			w.pump()
		}
		h, err := w.core.hosts.find(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []ready.Fact{c.p1, c.p2} {
			got, may := portFact(h, uint8(i+1)), h.Usable().Has(i+1)
			if got != want || got.State == ready.Bad && may || got == ready.IsGood() && !may {
				t.Errorf("%s: port %d is %+v, want %+v; it may be sent to: %v", c.what, i+1, got, want, may)
			}
		}
	}
	h, err := w.core.hosts.find(one)
	if err != nil {
		t.Fatal(err)
	}
	apart := ready.Fact{Why: "its switch is not in the topology"}
	if got := portFact(h, 1); got != apart {
		t.Errorf("a port without a switch is %+v, want %+v", got, apart)
	}
	if got := portFact(h, 2); got != mute {
		t.Errorf("a port of a host without a stream is %+v, want %+v", got, mute)
	}
}
