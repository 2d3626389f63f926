package service

import (
	"net"
	"net/netip"
	"testing"

	"github.com/weft-sdn/weft/controller/inventory"
)

// listensAt is a listener that knows nothing but its address.
type listensAt struct {
	net.Listener
	at net.Addr
}

func (l listensAt) Addr() net.Addr { return l.at }

// TestAdvertised: other controllers reach a controller at cluster.advertise, whatever address
// cluster.listen has, and at the host of cluster.listen without it. Listeners for clients and hosts
// are reached there when they listen at all addresses, and otherwise at their own.
func TestAdvertised(t *testing.T) {
	for _, c := range []struct{ listen, advertise, of, peers, clients string }{
		{"192.0.2.7:9443", "c1.example", "192.0.2.7:9443", "c1.example:9443", "192.0.2.7:9443"},
		{"127.0.0.1:9443", "2001:db8::1", "127.0.0.1:9443", "[2001:db8::1]:9443", "127.0.0.1:9443"},
		{"0.0.0.0:0", "c1.example", "[::]:9443", "c1.example:9443", "c1.example:9443"},
		{"192.0.2.7:9443", "", "192.0.2.7:9443", "192.0.2.7:9443", "192.0.2.7:9443"},
		{"192.0.2.7:9443", "", "0.0.0.0:8080", "192.0.2.7:8080", "192.0.2.7:8080"},
		{"c1.example:9443", "", "192.0.2.7:9443", "c1.example:9443", "192.0.2.7:9443"},
	} {
		in := &inventory.Cluster{Listen: c.listen, Advertise: c.advertise}
		l := listensAt{at: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.of))}
		if got := peersAt(in, l); got != c.peers {
			t.Errorf("%+v: other controllers reach it at %q", c, got)
		}
		if got := advertised(in, l); got != c.clients {
			t.Errorf("%+v: clients reach it at %q", c, got)
		}
	}
}
