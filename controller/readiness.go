package controller

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/internal/plain"
	"github.com/weft-sdn/weft/topology"
)

// Sync is what the readiness of a controller follows from.
type Sync struct {
	// Kept are the checks of what the controller keeps changes in.
	Kept     []api.ReadinessCheck
	Topology *topology.Snapshot
	Peers    []topology.Peer
	Switches []api.SwitchStatus
	Fabric   *api.Fabric // nil: there is no MRC fabric
}

// Readiness returns what the controller waits for: a store that keeps changes, everything from each
// BGP-LS peer once, every switch it programs to be part of the topology, connected, and as it
// should be, and with MRC a fabric whose paths hosts can be given. failed is why the state of the
// switches or of the fabric is not known, nil: it is.
func (s *Sync) Readiness(failed error) (api.Readiness, error) {
	checks := slices.Clone(s.Kept)
	switch {
	case errors.Is(failed, ErrStore): // what is known of the network may not be kept
		checks = append(checks, api.ReadinessCheck{Name: "controller", Message: failed.Error()})
	case failed != nil:
		return api.Readiness{}, failed
	default:
		rest := slices.Concat(s.peers(), s.fabric(), s.switches())
		slices.SortStableFunc(rest, func(a, b api.ReadinessCheck) int {
			return natural.Compare(a.Name, b.Name)
		})
		checks = append(append(checks, s.network()), rest...)
	}
	notReady := func(c api.ReadinessCheck) bool { return !c.OK && !c.Advisory }
	return api.Readiness{Ready: !slices.ContainsFunc(checks, notReady), Checks: checks}, nil
}

func (s *Sync) network() api.ReadinessCheck {
	c := api.ReadinessCheck{Name: "bgp-ls"}
	switch t := s.Topology; {
	case t.Version == 0 && len(s.Peers) == 0:
		c.Message = "nothing was learned yet: there is neither a network nor a BGP-LS peer"
	case t.Version == 0:
		c.Message = "nothing was learned yet"
	case t.Stale != nil:
		c.Message, c.Advisory = t.Stale.Reason, !t.Stale.Incomplete
	default:
		c.OK = true
	}
	return c
}

// peers returns the checks of the BGP peers. The check of a peer that was once in sync is advisory:
// the topology still has the peer's routes, and a restart of the controller would lose them.
func (s *Sync) peers() (out []api.ReadinessCheck) {
	for i := range s.Peers {
		p := &s.Peers[i]
		c := api.ReadinessCheck{Name: "bgp-peer/" + p.Name(), Advisory: p.Heard,
			OK: p.State == topology.PeerEstablished && p.Heard}
		switch {
		case c.OK:
			c.Advisory = false
		case p.Heard:
			c.Message = "the session is lost"
		case p.State == topology.PeerEstablished:
			c.Message = "it has not sent all that it has"
		case p.Sessions > 0:
			c.Message = "the session was lost before the peer had sent all that it has"
		default:
			c.Message = "no session was ever established"
		}
		if !c.OK && p.LastError != "" {
			c.Message += ": " + plain.Text(p.LastError)
		}
		out = append(out, c)
	}
	return out
}

func (s *Sync) fabric() []api.ReadinessCheck {
	f := s.Fabric
	if f == nil {
		return nil
	}
	c := api.ReadinessCheck{Name: "mrc", OK: f.InSync && f.Failure == "", Message: f.Failure}
	if !f.InSync {
		c.Message = "the topology is not in sync: hosts are told nothing"
	}
	return []api.ReadinessCheck{c}
}

func (s *Sync) switches() (out []api.ReadinessCheck) {
	for i := range s.Switches {
		w := &s.Switches[i]
		if !w.Managed {
			continue
		}
		c := api.ReadinessCheck{Name: "switch/" + w.Name}
		switch {
		case w.Node == "":
			c.Message = "not in the topology"
		case !w.Connected:
			c.Message = "not connected: " + w.Reason
		case !w.Synced:
			c.Message = fmt.Sprintf("%d updates to make", w.Pending)
		default:
			if x := w.Conditions.Find(api.Undescribed); x != nil {
				c.Message = x.Message
			}
			c.OK = c.Message == ""
		}
		out = append(out, c)
	}
	return out
}
