package nic

import (
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/spray"
)

// A Choice names the profiles that a queue pair asked for, in place of the profiles for its
// destination. An empty name chooses the profile for the destination.
type Choice struct {
	EV string // name of an EV profile, the controller's or a local one (LocalName)
	CC string // likewise, or NoCC
}

// NoCC as Choice.CC leaves a queue pair without congestion control: its window is the greatest that
// NSCC would allow.
const NoCC = hostapi.LocalMark + "none"

// LocalName is the name of the local profile with a number.
func LocalName(id uint64) string {
	return hostapi.LocalMark + strconv.FormatUint(id, 10)
}

// ApplyLocal replaces the local profiles of the NIC, and leaves the profiles of the controller
// unchanged. ApplyLocal uses only Profiles and CC of the State. Local profiles have names made by
// LocalName and no destinations, and queue pairs use local profiles by Choice. The NIC reports
// nothing about local profiles to the controller. After an error, as from Apply, the old local
// profiles stay.
func (n *NIC) ApplyLocal(local *hostapi.State) error {
	if local != nil {
		made := hostapi.State{Profiles: slices.Clone(local.Profiles), CC: slices.Clone(local.CC)}
		slices.SortFunc(made.Profiles, func(a, b *hostapi.Profile) int {
			return strings.Compare(a.Name, b.Name)
		})
		slices.SortFunc(made.CC, func(a, b *hostapi.CCProfile) int {
			return strings.Compare(a.Name, b.Name)
		})
		local = &made
	}
	p, err := n.plan(merged(n.given, local))
	if err != nil {
		return err
	}
	n.local = local
	n.carryOut(p)
	return nil
}

// merged is the profiles of both beside what else the controller wants. Names of local ones sort
// after all others.
func merged(given, local *hostapi.State) *hostapi.State {
	if local == nil || len(local.Profiles)+len(local.CC) == 0 {
		return given
	}
	both := *given
	both.Profiles = slices.Concat(given.Profiles, local.Profiles)
	both.CC = slices.Concat(given.CC, local.CC)
	return &both
}

// Watch makes the NIC call f for every EV state change reported to Reporter, and for EVs of local
// profiles, on the owner's goroutine. f must not call the NIC.
func (n *NIC) Watch(f func(hostapi.EVEvent)) { n.watch = f }

// EVs returns the EVs of a profile in the NIC, in their order, with their states; ok is false if
// the NIC has no profile of the name. EVs returns no EVs for a profile of mode AUTO, because no
// name exists for its EVs.
func (n *NIC) EVs(name string) (evs []hostapi.EV, states []hostapi.EVState, ok bool) {
	p := n.profiles[name]
	if p == nil {
		return nil, nil, false
	}
	states = make([]hostapi.EVState, len(p.evs))
	for i := range p.evs {
		switch {
		case p.made.EVs[i].Denied:
			states[i] = hostapi.EVDenied
		case p.doubtful(i):
			states[i] = hostapi.EVAssumedBad
		default:
			states[i] = hostapi.EVGood
		}
	}
	return p.evs, states, true
}

// Revive makes an EV GOOD that queue pairs have found bad: who controls the NIC knows better (OCP
// MRC 1.0, §9.3.2.1). Denied ones stay so.
func (n *NIC) Revive(name string, v hostapi.EV) {
	p := n.profiles[name]
	if p == nil {
		return
	}
	for i, own := range p.evs {
		if own != v || p.made.EVs[i].Denied {
			continue
		}
		for _, f := range n.flows {
			if f.profile != p || f.set == nil {
				continue
			}
			if state, _ := f.set.State(i); state == spray.AssumedBad {
				_ = f.set.Allow(i) // the index is the profile's
				n.recovered(p, i)
			}
		}
	}
}

// serving is the profile that a flow is to use.
func (n *NIC) serving(f *flow) *profile {
	if p := n.profiles[f.choice.EV]; p != nil {
		return p
	}
	return n.serve.find(f.peer)
}

// cc returns the name of the CC profile of a flow with EV profile p; empty: none.
func (f *flow) cc(p *profile) string {
	switch {
	case f.choice.CC != "":
		return f.choice.CC
	case p != nil:
		return p.is.CC
	}
	return ""
}
