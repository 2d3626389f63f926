package bgpls

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/topology"
	"github.com/weft-sdn/weft/topology/bgpls/wire"
)

// updateMessage writes an UPDATE message that announces an NLRI.
func updateMessage(nlri, attribute []byte) []byte {
	attr := func(b []byte, typ byte, value []byte) []byte {
		b = append(b, 0x90, typ)
		b = binary.BigEndian.AppendUint16(b, uint16(len(value)))
		return append(b, value...)
	}
	reach := append([]byte{0x40, 0x04, 71, 4, 127, 0, 0, 1, 0}, nlri...)
	attributes := attr(nil, 14, reach)
	attributes = append(attributes, 0x40, 1, 1, 0)    // origin
	attributes = append(attributes, 0x40, 2, 0)       // AS path
	attributes = append(attributes, 0x40, 5, 4, 0, 0, // local preference
		0, 100)
	if attribute != nil {
		attributes = attr(attributes, 29, attribute)
	}
	b := binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(len(attributes)))
	return wire.AppendMessage(nil, wire.MessageUpdate, append(b, attributes...))
}

func TestCollectorSync(t *testing.T) {
	endOfRIB := &wire.Update{EndOfRIB: true}
	node := func(i byte) *wire.Update {
		return announce(t, wire.NLRI{Type: wire.NLRINode, Local: wire.NodeDescriptor{ASN: 1,
			IGPRouterID: string([]byte{10, 0, 0, i})}}, nil)
	}
	const grace, timeout, stale = time.Minute, time.Hour, 20 * time.Second
	c := newCollector(&Config{StartupGrace: grace, StalePathTime: stale})
	c.rib.addPeer(peerA, topology.Scope{}, DefaultLimits(), epoch)
	for _, step := range []struct {
		what   string
		do     func()
		nodes  int
		synced bool
		next   time.Duration // since epoch, of the next tick at epoch; 0 is none
	}{
		{"a peer", func() {}, 0, false, grace},
		{"a session", func() { c.peerUp(peerA, epoch) }, 0, false, grace},
		{"a node", func() { c.update(peerA, node(1)) }, 1, false, grace},
		{"the marker", func() { c.update(peerA, endOfRIB) }, 1, true, 0},
		{"another node", func() { c.update(peerA, node(2)) }, 2, true, 0},
		{"a loss", func() { c.peerDown(peerA, "lost", false, epoch) }, 2, false, 0},
		{"another session", func() { c.peerUp(peerA, epoch) }, 2, false, timeout},
		{"the second node again", func() { c.update(peerA, node(2)) }, 2, false, timeout},
		{"no marker", func() { c.tick(epoch.Add(timeout), timeout) }, 2, true, timeout + stale},
		{"no word of the first node", func() { c.tick(epoch.Add(timeout+stale), timeout) }, 1, true, 0},
		{"a third session", func() { c.peerDown(peerA, "lost", true, epoch); c.peerUp(peerA, epoch) }, 1,
			false, timeout},
		{"a removal", func() { c.removePeer(peerA) }, 0, false, 0},
	} {
		step.do()
		s := c.rib.snapshot()
		p := c.rib.peers[peerA]
		if len(s.Nodes) != step.nodes || p != nil && p.synced != step.synced {
			t.Errorf("after %s: %d nodes, want %d; in sync is not %v", step.what, len(s.Nodes), step.nodes,
				step.synced)
		}
		next, ok := c.tick(epoch, timeout)
		if ok != (step.next != 0) || ok && !next.Equal(epoch.Add(step.next)) {
			t.Errorf("after %s: to be called again at %v, %v", step.what, next.Sub(epoch), ok)
		}
	}
	if c.malformed != 1 {
		t.Errorf("%d malformed updates", c.malformed)
	}
}

// What a peer sends malformed is counted of the peer, and reported at once and then once a minute,
// with the first of it.
func TestFaultsReported(t *testing.T) {
	c := newCollector(&Config{StartupGrace: time.Hour})
	var said []string
	c.reportFaults = func(k peerKey, r faultReport) {
		said = append(said, fmt.Sprintf("%v %d %d %s %d %s", k.Addr(), r.nlris, r.attributes,
			r.last.Octets, r.last.Length, r.last.Time.Sub(epoch)))
	}
	for _, k := range []peerKey{peerA, peerB} {
		c.rib.addPeer(k, topology.Scope{}, DefaultLimits(), epoch)
		c.peerUp(k, epoch)
	}
	bad := func(n int, octets string) *wire.Update {
		return &wire.Update{Skipped: wire.Skipped{MalformedNLRIs: n, Fault: wire.Fault{Octets: octets,
			Length: 100, Reason: "r"}}}
	}
	void := announce(t, wire.NLRI{Type: wire.NLRINode, Local: wire.NodeDescriptor{ASN: 1,
		IGPRouterID: "\x0a\x00\x00\x01"}}, nil)
	void.Attribute = []byte{4, 2, 0}
	for _, step := range []struct {
		at   time.Duration
		do   *wire.Update
		of   peerKey
		want string // what is said
		next time.Duration
	}{
		{0, &wire.Update{}, peerA, "", 0},
		{time.Second, bad(2, "\x01"), peerA, "127.0.2.1 2 0 01 100 1s", 0},
		{2 * time.Second, bad(1, "\x02"), peerA, "", 61 * time.Second},
		{2 * time.Second, bad(1, "\x03"), peerB, "127.0.2.2 1 0 03 100 2s", 61 * time.Second},
		{3 * time.Second, void, peerA, "", 61 * time.Second},
		{61*time.Second - 1, &wire.Update{}, peerA, "", 61 * time.Second},
		{61 * time.Second, &wire.Update{}, peerA, "127.0.2.1 1 1 040200 3 3s", 0},
		{200 * time.Second, &wire.Update{}, peerA, "", 0},
		{201 * time.Second, bad(1, strings.Repeat("\xff", wire.MaxFault)), peerA, "127.0.2.1 1 0 " +
			strings.Repeat("ff", wire.MaxFault) + " 100 3m21s", 0},
	} {
		said = nil
		if err := c.update(step.of, step.do); err != nil {
			t.Fatal(err)
		}
		next, ok := c.tick(epoch.Add(step.at), time.Hour)
		if want := []string{step.want}; step.want == "" && len(said) > 0 || step.want != "" &&
			!slices.Equal(said, want) {
			t.Errorf("after %v: %q, want %q", step.at, said, step.want)
		}
		if want := epoch.Add(step.next); step.next > 0 && (!ok || !next.Equal(want)) || step.next == 0 &&
			next.Before(epoch.Add(time.Hour)) {
			t.Errorf("after %v: to be called again at %v, %v", step.at, next.Sub(epoch), ok)
		}
	}
	if a, b := c.rib.peers[peerA].faults, c.rib.peers[peerB].faults; a.nlris != 4 ||
		a.attributes != 1 || b.nlris != 1 || b.attributes != 0 {
		t.Errorf("%+v and %+v", a, b)
	}
}
