package fabric

import (
	"time"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/internal/damping"
	"github.com/weft-sdn/weft/topology"
)

// leafSet holds the states of leaves that were missing or are drained: EVs from a leaf to itself
// cross no link. A leaf that returns is held, like a link.
type leafSet struct {
	*env
	restore *inventory.Restore

	states  map[topology.NodeID]*leaf
	touched []topology.NodeID // that went out or came back since the last take
}

// leaf is the state of a leaf.
type leaf struct {
	gone     bool
	until    time.Duration // is back, and held until then; 0: it is not
	failures damping.Backoff
	drained  bool
}

func (s *leafSet) state(id topology.NodeID) *leaf {
	l := s.states[id]
	if l == nil {
		l = &leaf{}
		s.states[id] = l
	}
	return l
}

// setPresent sets whether a leaf is advertised.
func (s *leafSet) setPresent(id topology.NodeID, present bool) {
	l := s.states[id]
	switch {
	case !present && (l == nil || !l.gone):
		l = s.state(id)
		l.gone = true
		l.failures.Failed(s.now, s.restore.Calm.D())
		s.touched = append(s.touched, id)
	case present && l != nil && l.gone:
		l.gone = false
		l.until = max(1, s.now+l.failures.Hold(s.restore.Hold.D(), s.restore.MaxHold.D()))
	}
}

// setDrained sets whether a node is drained.
func (s *leafSet) setDrained(id topology.NodeID, drained bool) {
	s.state(id).drained = drained
	s.touched = append(s.touched, id)
}

// run brings back the leaves whose time has come.
func (s *leafSet) run() {
	for id, l := range s.states {
		if l.held() && s.now >= l.until {
			l.until = 0
			s.touched = append(s.touched, id)
		}
	}
}

func (l *leaf) held() bool { return !l.gone && l.until > 0 }

// waiting reports whether time brings a leaf back.
func (s *leafSet) waiting() bool {
	for _, l := range s.states {
		if l.held() {
			return true
		}
	}
	return false
}

// take returns the leaves that went out or came back since the last call. The slice
// is good until the next change.
func (s *leafSet) take() []topology.NodeID {
	touched := s.touched
	s.touched = s.touched[:0]
	return touched
}

// lost returns the nodes that meet a condition under which EVs must not cross them.
func (s *leafSet) lost(of func(*leaf) bool) (out []topology.NodeID) {
	for id, l := range s.states {
		if of(l) {
			out = append(out, id)
		}
	}
	return out
}

func (l *leaf) isDown() bool { return l.gone }

// touch notes that EVs of a leaf may have another state now.
func (s *leafSet) touch(id topology.NodeID) { s.touched = append(s.touched, id) }
