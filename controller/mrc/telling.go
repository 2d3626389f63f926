package mrc

import (
	"maps"
	"slices"

	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/hostapi"
)

// holding is what a host was told, and what it holds.
type holding struct {
	told    bool // something, ever
	seq     uint64
	applied uint64
	refusal string
	state   *hostapi.State // the last
	// mine is the sender's state mineOf with the host's own denied ports.
	mine, mineOf *hostapi.State
}

// current reports whether the host holds all that it was told.
func (h *holding) current() bool { return h.told && h.applied >= h.seq && h.refusal == "" }

// behind returns the number of the Set that a host has yet to apply, and whether there
// is one. A host that was told nothing may hold anything.
func (h *holding) behind() (seq uint64, ok bool) {
	if !h.told {
		return 1, true
	}
	return h.seq, h.applied < h.seq
}

// dirtyAll has all states made again.
func (s *hostSet) dirtyAll() {
	for _, x := range s.senders {
		x.dirty = true
	}
}

// makeStates makes the states of senders whose parts have changed. The parts are in
// order and valid as they are made, so the state is.
func (s *hostSet) makeStates(cc []*hostapi.CCProfile) {
	for _, x := range s.senders {
		if !x.dirty {
			continue
		}
		x.dirty = false
		state := &hostapi.State{
			CC: cc, Peers: s.state.Peers(), Wire: s.wire,
			Profiles: make([]*hostapi.Profile, 0, len(x.ordered)),
		}
		for _, p := range x.ordered {
			if p.outcome.Profile != nil {
				state.Profiles = append(state.Profiles, p.outcome.Profile)
			}
		}
		x.state = state
		for _, h := range x.hosts {
			s.dirty[h.Name] = true
		}
	}
}

// tell sends hosts their states, if these are others than before. With tested, all
// links have been tried: until then a host with the state of an earlier controller
// keeps that, as EVs may be denied there that would seem good. told reports whether any was sent one.
func (s *hostSet) tell(tested bool) (told bool) {
	for _, name := range slices.Sorted(maps.Keys(s.dirty)) {
		h := s.byName[name]
		if h == nil || h.sender == nil {
			delete(s.dirty, name)
			continue
		}
		if h.foreign && !tested {
			continue
		}
		delete(s.dirty, name)
		state := h.sender.state
		if denied := h.Denied(); denied != 0 {
			if h.mineOf != state || h.mine.DeniedPorts != denied {
				h.mine, h.mineOf = fabric.Own(state, denied), state
			}
			state = h.mine
		}
		if state == h.state {
			continue
		}
		h.state, h.told, h.foreign = state, true, false
		h.seq++
		s.out.Sets = append(s.out.Sets, Set{Host: name, Seq: h.seq, State: state})
		told = true
	}
	return told
}

// awaited reports whether a host has the state of an earlier controller, and is told
// nothing before all links have been tried.
func (s *hostSet) awaited() bool {
	for _, h := range s.byName {
		if h.foreign {
			return true
		}
	}
	return false
}
