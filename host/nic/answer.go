package nic

import (
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/packet"
)

// answerPath chooses the path of the answer to an endpoint request: of the profile that serves who
// asked, by the port that the request came by if it can be. Where no profile does, the way that the
// request came is all that is known.
func (n *NIC) answerPath(now time.Duration, peer netip.Addr, back mrc.Path,
	ports packet.PortMask) (mrc.Path, bool) {
	ports &= n.usable(peer)
	p := n.serve.find(peer)
	if p.auto() {
		return back, ports.Has(back.Port)
	}
	if p.answers == nil {
		cfg := n.cfg.Spray
		cfg.Seed, cfg.Doubtful = n.cfg.Seed, p.doubtful
		var err error
		if p.answers, err = spray.New(cfg, p.made); err != nil {
			return mrc.Path{}, false // not for a profile that was compiled
		}
	}
	if path, ok := p.answers.Next(now, mrc.UseControl, ports&packet.PortMask(0).With(back.Port)); ok {
		return path, true
	}
	return p.answers.Next(now, mrc.UseControl, ports)
}
