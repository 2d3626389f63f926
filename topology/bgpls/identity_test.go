package bgpls

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

func TestNodeID(t *testing.T) {
	for _, c := range []struct {
		instance uint64
		octets   string
		want     topology.NodeID
	}{
		{0, "\x0a\x00\x00\x06", "64512:10.0.0.6"},
		{7, "\x0a\x00\x00\x06", "64512:10.0.0.6@7"},
		{0, "\x0a\x00\x00\x06\x0a\x01\x00\x01", "64512:10.0.0.6-10.1.0.1"},
		{0, "\x19\x21\x68\x00\x10\x0a", "64512:1921.6800.100a"},
		{0, "\x00\x00\x00\x00\x00\x06\x02", "64512:0000.0000.0006.02"},
		{0, "\x01\x02\x03", "64512:x010203"},
	} {
		d := wire.NodeDescriptor{ASN: 64512, IGPRouterID: c.octets}
		if got := nodeID(c.instance, &d); got != c.want {
			t.Errorf("id of %x is %s, want %s", c.octets, got, c.want)
		}
		instance, back, err := parseNodeID(c.want)
		if err != nil || instance != c.instance || back != d {
			t.Errorf("%s names %d and %+v, %v", c.want, instance, back, err)
		}
	}
	bgp := wire.NodeDescriptor{ASN: 1, BGPRouterID: netip.MustParseAddr("10.0.0.6")}
	if got := nodeID(0, &bgp); got != "1:10.0.0.6" {
		t.Errorf("id of a BGP speaker is %s", got)
	}
	for _, id := range []topology.NodeID{"", "10.0.0.6", "x:10.0.0.6", "1:10.0.0.6@x", "1:", "1:n6",
		"1:10.0.0", "1:192.168.0010.0006", "4294967296:10.0.0.6", "1:xzz", "1:a-10.0.0.1"} {
		if _, d, err := parseNodeID(id); !errors.Is(err, ErrObject) {
			t.Errorf("%q names %+v, %v", id, d, err)
		}
	}
}
