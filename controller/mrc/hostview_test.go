package mrc

import (
	"errors"
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
)

// The instance of a host has 64 bits, and JSON clients keep 53 of a number.
func TestHostInstanceIsText(t *testing.T) {
	for n, want := range map[uint64]string{0: "", 1: "0x1", 1<<53 + 1: "0x20000000000001",
		1<<64 - 1: "0xffffffffffffffff"} {
		if got := instanceText(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

// TestHostPortErrors: a host's port has the error counters from the agent's last report, until the
// agent starts anew or reports none.
func TestHostPortErrors(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1).start()
	say := func(errors ...hostapi.PortError) {
		if err := w.core.PortErrors("h1-1", &hostapi.PortErrors{Errors: errors,
			LeftOut: len(errors)}); err != nil {
			t.Fatal(err)
		}
	}
	is := func(what string, sum uint64, want ...api.PortError) {
		t.Helper()
		h, _ := w.core.Host("h1-1")
		if got := h.Ports[0].Status.Errors; !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
		if said := len(w.core.hosts.byName["h1-1"].portErrors.Errors); h.ErrorsLeftOut != said {
			t.Errorf("%s: %d left out, want %d", what, h.ErrorsLeftOut, said)
		}
		if got := w.core.Fabric().Ports.Errors; got != sum {
			t.Errorf("%s: %d in the fabric, want %d", what, got, sum)
		}
	}
	is("nothing is known", 0)
	crc := hostapi.PortError{Port: 1, Source: "eth0", Counter: "rx_crc_errors", Count: 7}
	say(crc, hostapi.PortError{Port: 2, Source: "eth1", Counter: "rx_errors", Count: 5})
	is("the port's own", 12, api.PortError{Source: "eth0", Counter: "rx_crc_errors", Count: 7})
	say()
	is("none any more", 0)
	say(crc)
	hello := w.core.hosts.byName["h1-1"].hello
	hello.Instance++
	if err := w.core.Hello("h1-1", &hello); err != nil {
		t.Fatal(err)
	}
	is("another agent", 0)
	if err := w.core.PortErrors("nobody", &hostapi.PortErrors{}); err == nil {
		t.Error("a host that nobody knows is taken")
	}
}

// TestHostQueuePairs: while a host has a stream, its view lists the queue pairs of applications
// with the names of peers.
func TestHostQueuePairs(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1).start()
	peer, _ := w.core.Host("h2-1")
	hints := hostapi.QPHints{QPsPerPeer: 4}
	said := &hostapi.QueuePairs{LeftOut: 1, Groups: []hostapi.QueuePairGroup{
		{Count: 4, Failed: 1, QueuePairKey: hostapi.QueuePairKey{Peer: peer.Address, Profile: "p",
			CC: "c", Hints: hints}},
		{Count: 2, QueuePairKey: hostapi.QueuePairKey{Peer: netip.MustParseAddr("2001:db8:ffff::1"),
			Profile: "~7"}}}}
	if err := w.core.QueuePairs("h1-1", said); err != nil {
		t.Fatal(err)
	}
	h, _ := w.core.Host("h1-1")
	want := &api.HostQueuePairs{Count: 7, Failed: 1, Peers: 2, LeftOut: 1,
		Groups: []api.HostQueuePairGroup{{Peer: peer.Address, PeerName: "h2-1", EVProfile: "p",
			CCProfile: "c", Count: 4, Failed: 1, Hints: api.QPHintsOf(hints)},
			{Peer: netip.MustParseAddr("2001:db8:ffff::1"), EVProfile: "~7", Count: 2}}}
	if !reflect.DeepEqual(h.QueuePairs, want) {
		t.Errorf("%+v, want %+v", h.QueuePairs, want)
	}
	counts := api.QueuePairCount{All: 7, Failed: 1, Controller: 4, Local: 2, Hinted: 4}
	if got := w.core.Fabric().QPs; got != counts {
		t.Errorf("%+v, want %+v", got, counts)
	}
	// After a host has changed its address, the old address no longer refers to this host.
	moved := w.made["h2-1"]
	moved.Address = netip.MustParseAddr("2001:db8:ffff::2")
	if err := w.core.PutHost(moved); err != nil {
		t.Fatal(err)
	}
	if h, _ = w.core.Host("h1-1"); h.QueuePairs.Groups[0].PeerName != "" {
		t.Errorf("%+v: there is no host with the address of the first peer", h.QueuePairs)
	}
	if err := w.core.Gone("h1-1"); err != nil {
		t.Fatal(err)
	}
	if h, _ = w.core.Host("h1-1"); h.QueuePairs != nil || w.core.Fabric().QPs.All != 0 {
		t.Errorf("%+v of a host without a stream", h.QueuePairs)
	}
	if err := w.core.QueuePairs("nobody", said); !errors.Is(err, fabric.ErrUnknownHost) {
		t.Errorf("of a host that is not known: %v", err)
	}
}

// TestRefusal: a host that refuses part of its state counts among hosts behind until the host
// accepts everything. Each new refusal gives one event, and so does the end.
func TestRefusal(t *testing.T) {
	w := newBed(t, 1, nil).clos(2, 3, 2, 1).start()
	w.run(time.Second)
	for _, c := range []struct {
		reason string
		events []string
	}{
		{"", nil},
		{"no room", []string{"refused: no room"}},
		{"no room", nil},
		{"no table", []string{"refused: no table"}},
		{"", []string{"refuses nothing any more"}},
	} {
		if err := w.core.Refused("h1-1", c.reason); err != nil {
			t.Fatal(err)
		}
		var events []string
		for _, e := range w.core.Ready().Events {
			if e.Type == api.EventHostChanged && e.Object == "h1-1" {
				events = append(events, e.Message)
			}
		}
		p, _ := w.core.Profile("leaf1-1:leaf1-2")
		if !slices.Equal(events, c.events) || w.core.Hosts()[0].Refusal != c.reason ||
			slices.Contains(p.Behind, "h1-1") != (c.reason != "") {
			t.Errorf("%q: events %q, %+v, behind %v", c.reason, events, w.core.Hosts()[0], p.Behind)
		}
	}
	if err := w.core.Refused("nobody", "x"); !errors.Is(err, fabric.ErrUnknownHost) {
		t.Errorf("of a host that is not known: %v", err)
	}
}
