// Package writes makes the source of a lab's multicast group write to its receivers again and
// again, and checks the results.
package writes

import (
	"bytes"
	"fmt"
	"net/netip"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/lab"
)

// Sizes of a write.
const (
	octets  = 32 << 10
	packets = octets / 4096
)

// Group is a group whose source writes. Its methods run on the goroutine of the network.
type Group struct {
	group   *lab.Group
	traffic *lab.Traffic
	uplink  string // of the source
	data    []byte
	writes  uint64 // completed
	ending  bool
}

// New makes the queue pairs of a group.
func New(w *lab.World, source string, receivers ...string) (*Group, error) {
	g := &Group{traffic: lab.NewTraffic(), data: make([]byte, octets)}
	qp := rc.DefaultQPConfig()
	qp.LocalAckTimeout = 24 // 69 s: a busy machine is no lossy network
	var err error
	g.group, err = w.NewGroup(lab.GroupConfig{
		Proxy: netip.MustParseAddr("2001:db8:ffff::ff:ff"), DesignatedQPN: 0xbeef, Source: source,
		Receivers: receivers, InitialPSN: 0xfffff0, QP: qp, Memory: octets,
	})
	if err != nil {
		return nil, err
	}
	g.traffic.QPNs = map[uint32]bool{g.group.Config.DesignatedQPN: true}
	for _, r := range g.group.Receivers {
		g.traffic.QPNs[r.QP.Config().QPN] = true
	}
	sw, _ := w.Network.Uplink(source)
	g.uplink = source + "-" + sw
	w.AddTap(g.traffic)
	return g, nil
}

// Spec is the group of the API.
func (g *Group) Spec() api.MulticastGroupSpec {
	spec := api.MulticastGroupSpec{
		ProxyAddress: g.group.Config.Proxy, DesignatedQPN: g.group.Config.DesignatedQPN,
		InitialPSN: g.group.Config.InitialPSN,
		Source: api.GroupSource{Address: g.group.Source.Config().Addr,
			QPN: g.group.SourceQP.Config().QPN},
	}
	for _, r := range g.group.Receivers {
		spec.Receivers = append(spec.Receivers, api.GroupReceiver{Address: r.Host.Config().Addr,
			QPN: r.QP.Config().QPN})
	}
	return spec
}

// Step goes on writing, and returns how many writes are complete. It is an error when a receiver
// does not have what was written.
func (g *Group) Step() (uint64, error) {
	if err := g.group.Pump(); err != nil || !g.group.Done() {
		return g.writes, err
	}
	if g.group.Size() > 0 && !g.ending {
		g.writes++
		if corrupt := g.group.Corrupt(); len(corrupt) > 0 {
			return g.writes, fmt.Errorf("%q do not have what write %d wrote", corrupt, g.writes)
		}
	}
	if g.ending {
		return g.writes, nil
	}
	for i := range g.data {
		g.data[i] = byte(i) + byte(g.writes)
	}
	return g.writes, g.group.Write(bytes.Clone(g.data), octets)
}

// Drain has nothing more written, and reports whether nothing is under way.
func (g *Group) Drain() (bool, error) {
	g.ending = true
	return g.group.Done(), nil
}

// Check returns an error unless every packet has crossed each link of the tree once, and no write
// was acknowledged before all receivers had it. It comes after Drain.
func (g *Group) Check() error {
	sent := g.traffic.Data[g.uplink]
	if want := (g.writes + 1) * packets; sent != want {
		return fmt.Errorf("%d packets on %s for %d writes, want %d", sent, g.uplink, g.writes+1, want)
	}
	for link, n := range g.traffic.Data {
		if n != sent {
			return fmt.Errorf("%d packets on %s, want each of the %d on %s once", n, link, sent, g.uplink)
		}
	}
	if n, first := g.group.EarlyAcks(); n > 0 {
		return fmt.Errorf("%d early ACKs: %s", n, first)
	}
	return nil
}
