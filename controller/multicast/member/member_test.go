package member

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/rdmacm"
)

const door = 4242 // the port of sources; receivers connect to the next one

func host(i byte) netip.Addr { return netip.AddrFrom16([16]byte{0x20, 15: i}) }

// TestGuests are the receivers that the spec does not name, in order.
func TestGuests(t *testing.T) {
	h := Hosts{Receivers: make(map[netip.Addr]Joined)}
	for i := range byte(9) {
		h.Receivers[host(i)] = Joined{}
	}
	spec := &api.MulticastGroupSpec{Receivers: []api.GroupReceiver{{Address: host(4)},
		{Address: host(20)}}}
	want := []netip.Addr{host(0), host(1), host(2), host(3), host(5), host(6), host(7), host(8)}
	if got := h.Guests(spec); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestMissing: Missing lists the receivers of the spec without a connection, apart from evicted
// receivers.
func TestMissing(t *testing.T) {
	spec := &api.MulticastGroupSpec{Receivers: []api.GroupReceiver{{Address: host(2)},
		{Address: host(3)}, {Address: host(4)}}}
	h := Hosts{Receivers: map[netip.Addr]Joined{host(2): {}}}
	got := h.Missing(spec, map[netip.Addr]bool{host(3): true})
	if !slices.Equal(got, []string{host(4).String()}) {
		t.Errorf("%q", got)
	}
}

// TestStatus: clients see the connections of a group with the source first and the others by
// address, without requests that a host has not answered yet, and the PSN offset of the one by
// which a receiver is in the group.
func TestStatus(t *testing.T) {
	spec := &api.MulticastGroupSpec{Connect: &api.GroupConnect{Port: door}}
	if got := new(Hosts).Status(spec); got != nil {
		t.Errorf("a group that connects none: %v", got)
	}
	r1, r2, r3, r4, s1 := host(1), host(2), host(3), host(4), host(9)
	h := Hosts{Connections: []rdmacm.Conn{
		{LocalID: 1, Peer: r4, State: rdmacm.Established, Active: true, Port: door, PeerQPN: 44,
			PeerPSN: 500},
		{LocalID: 2, Peer: r3, State: rdmacm.Asking, Active: true, Port: door},
		{LocalID: 3, Peer: r1, State: rdmacm.TimeWait, Port: door + 1, PeerQPN: 11, PeerPSN: 600},
		{LocalID: 4, Peer: r1, State: rdmacm.Replied, Port: door + 1, PeerQPN: 12, PeerPSN: 600},
		{LocalID: 5, Peer: s1, State: rdmacm.Established, Port: door, PeerQPN: 10, PeerPSN: 9},
		{LocalID: 6, Peer: r2, State: rdmacm.Asked, Port: door + 1, PeerQPN: 22, PeerPSN: 8},
	}, Receivers: map[netip.Addr]Joined{r4: {Conn: 1, PSN: 1000}, r1: {Conn: 4, PSN: 100}}}
	want := []api.GroupConnection{
		{Address: s1, Role: api.RoleSource, State: "established", QPN: 10},
		{Address: r1, Role: api.RoleReceiver, State: "time wait", QPN: 11},
		{Address: r1, Role: api.RoleReceiver, State: "replied", QPN: 12, PSNOffset: 500},
		{Address: r2, Role: api.RoleReceiver, State: "asked", QPN: 22},
		{Address: r4, Role: api.RoleReceiver, State: "established", QPN: 44, Listens: true,
			PSNOffset: 1<<24 - 500},
	}
	if got := h.Status(spec); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v,\nwant %+v", got, want)
	}
}
