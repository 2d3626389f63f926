package mrc

import (
	"fmt"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// SelfProbe is a probe of the host to itself that has come back.
type SelfProbe struct {
	ID     uint16
	Port   int  // that it came by
	Marked bool // with a congestion mark (ECN CE)
}

// SendSelfProbe sends an EV probe of the host to itself, by a path whose route leads back to the
// port that it leaves by. The host does not answer it: [Host.PollSelfProbe] has what comes back.
// verbs.ErrConfig: the path has no route, or its port is down or denied.
func (h *Host) SendSelfProbe(now time.Duration, id uint16, path Path, dscp uint8) error {
	if path.Route == nil || !h.sending().Has(path.Port) {
		return fmt.Errorf("host %s: self-probe: Path %+v: want a route, and a port that is up and not "+
			"denied: %w", h.cfg.Name, path, verbs.ErrConfig)
	}
	out := h.prepare(h.cfg.Addr, path, dscp, packet.ECT0)
	out.BTH = packet.EndpointHeader(packet.OpMRCEndpointRequest, id)
	out.BTH.PKey = h.cfg.PKey
	out.ERTH = packet.ERTH{Op: packet.EndpointEVProbe}
	h.transmit(now, path.Port)
	return nil
}

// PollSelfProbe takes the oldest self-probe that has come back; ok is false when there is none.
func (h *Host) PollSelfProbe() (p SelfProbe, ok bool) {
	if h.selfProbes.Len() == 0 {
		return SelfProbe{}, false
	}
	return h.selfProbes.Pop(), true
}

// maxSelfProbes bounds the self-probes that wait for PollSelfProbe.
const maxSelfProbes = 1 << 16

// receiveSelfProbe takes an endpoint request of the host to itself.
func (h *Host) receiveSelfProbe(port int, p *packet.MRC) (Refusal, bool) {
	if p.ERTH.Op != packet.EndpointEVProbe || p.Trim != packet.NotTrimmed ||
		h.selfProbes.Len() >= maxSelfProbes {
		return RefusedEndpoint, false
	}
	h.selfProbes.Push(SelfProbe{ID: p.BTH.EndpointID(), Port: port, Marked: marked(p)})
	return 0, true
}
