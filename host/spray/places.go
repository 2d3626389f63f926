package spray

import (
	"net/netip"

	"github.com/weft-sdn/weft/packet"
)

// places finds the old index of each value in a new profile, except values that kept their index.
type places struct {
	old   []slot
	new   []EV
	index map[key][]int // nil until it is asked for
}

// key identifies equal values (see EV.same).
type key struct {
	value    packet.EV
	port     int
	routed   bool
	dst      netip.Addr
	srh      bool
	left     uint8
	segments string
}

func (v EV) key() key {
	if v.Route == nil {
		return key{value: v.Value, port: v.Port}
	}
	k := key{port: v.Port, routed: true, dst: v.Route.Dst}
	if srh := v.Route.SRH; srh != nil {
		k.srh, k.left, k.segments = true, srh.SegmentsLeft, string(srh.SegmentList)
	}
	return k
}

// take is a place where the value was, each place once.
func (p *places) take(v EV) (index int, ok bool) {
	if p.index == nil {
		p.index = make(map[key][]int)
		for i := range p.old {
			if i >= len(p.new) || !p.old[i].same(p.new[i]) {
				k := p.old[i].key()
				p.index[k] = append(p.index[k], i)
			}
		}
	}
	k := v.key()
	list := p.index[k]
	if len(list) == 0 {
		return 0, false
	}
	p.index[k] = list[1:]
	return list[0], true
}
