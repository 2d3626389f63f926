package lab

import (
	"context"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/nscc"
)

// CCProfile is the name of the CC profile for the hosts of a lab: NSCC's parameters for the lab's
// links.
const CCProfile = "lab"

// supply gives the controller the CC profile of the lab, and subscribes all hosts of MRC.
func (l *Live) supply(ctx context.Context) error {
	if err := l.putCCProfile(ctx); err != nil {
		return err
	}
	cfg := agent.DefaultConfig()
	cfg.Controller = l.Service.HostsAddr().String()
	var err error
	l.hosts, err = l.World.Subscribe(ctx, l.Clock, cfg)
	return err
}

func (l *Live) putCCProfile(ctx context.Context) error {
	n := &l.World.Network
	for _, h := range n.Hosts {
		c := n.Congestion(h.Name)
		if h.Transport != MRC || c.Rate == 0 || c.RTT == 0 {
			continue
		}
		spec := api.CCProfileSpecOf(&hostapi.CCProfile{Algorithm: hostapi.AlgorithmNSCC,
			NSCC: nscc.DefaultConfig(c).Profile()})
		profiles := kind.Of[api.CCProfileSpec, api.CCProfile](l.Service.Multipath().Kinds())
		_, _, err := profiles.Put(ctx, CCProfile, spec, resource.Precondition{})
		return err // one will do for hosts that have the same ports
	}
	return nil
}

// Supplied reports whether every host of MRC has a profile for every other, with nothing denied.
func (w *World) Supplied() bool {
	for _, h := range w.Network.Hosts {
		node := w.mrc[h.Name]
		if node == nil {
			continue
		}
		if node.Waiting() {
			return false
		}
		for _, peer := range w.Network.Hosts {
			if peer.Name == h.Name || w.mrc[peer.Name] == nil {
				continue
			}
			if p := node.State().ProfileTo(peer.Address); p == nil || len(p.Denied) > 0 {
				return false
			}
		}
	}
	return true
}
