package topology

// PFCBehaviors holds the codepoints of draft srv6-pfc-sid, which are unassigned (its section 6):
// End.X.PFC without a flavor and with PSP, USP, PSP and USP, or USD, and End.PFC, which marks a
// node (section 3).
type PFCBehaviors struct {
	EndX, EndXPSP, EndXUSP, EndXPSPUSP, EndXUSD Behavior
	End                                         Behavior
}

// DefaultPFCBehaviors are codepoints for private use.
func DefaultPFCBehaviors() PFCBehaviors {
	return PFCBehaviors{EndX: 0x8010, EndXPSP: 0x8011, EndXUSP: 0x8012, EndXPSPUSP: 0x8013,
		EndXUSD: 0x8014, End: 0x8015}
}

// EndXFlavors returns the flavors of an End.X.PFC; ok is false for any other
// behavior.
func (p PFCBehaviors) EndXFlavors(b Behavior) (f Flavors, ok bool) {
	switch b {
	case p.EndX:
		return 0, true
	case p.EndXPSP:
		return FlavorPSP, true
	case p.EndXUSP:
		return FlavorUSP, true
	case p.EndXPSPUSP:
		return FlavorPSP | FlavorUSP, true
	case p.EndXUSD:
		return FlavorUSD, true
	}
	return 0, false
}

// EndXOf returns the End.X.PFC with some flavors; ok is false when there is
// none.
func (p PFCBehaviors) EndXOf(f Flavors) (b Behavior, ok bool) {
	for _, b := range [...]Behavior{p.EndX, p.EndXPSP, p.EndXUSP, p.EndXPSPUSP, p.EndXUSD} {
		if g, _ := p.EndXFlavors(b); g == f {
			return b, true
		}
	}
	return 0, false
}

// Name is [Behavior.String], with the names of these behaviors.
func (p PFCBehaviors) Name(b Behavior) string {
	if b == p.End {
		return "End.PFC"
	}
	f, ok := p.EndXFlavors(b)
	switch {
	case !ok:
		return b.String()
	case f == 0:
		return "End.X.PFC"
	}
	return "End.X.PFC (" + f.String() + ")"
}

// EndXPFC returns the link's End.X.PFC SID of algorithm 0 that leads over it, the
// one with the fewest flavors.
func (p PFCBehaviors) EndXPFC(l *Link) (SID, bool) {
	var best SID
	var flavors Flavors
	for _, x := range l.EndX {
		if f, ok := p.EndXFlavors(x.Behavior); ok && x.Algorithm == 0 &&
			(!best.Address.IsValid() || f < flavors) {
			best, flavors = x.SID, f
		}
	}
	return best, best.Address.IsValid()
}

// EndPFC returns the node's End.PFC SID of algorithm 0.
func (p PFCBehaviors) EndPFC(n *Node) (SID, bool) {
	for _, s := range n.SIDs {
		if s.Behavior == p.End && s.Algorithm == 0 {
			return s, true
		}
	}
	return SID{}, false
}

// Capable reports whether a node handles PFC: it has an End.PFC SID, or an
// End.X.PFC SID of some link.
func (p PFCBehaviors) Capable(s *Snapshot, id NodeID) bool {
	n := s.Node(id)
	if n == nil {
		return false
	}
	if _, ok := p.EndPFC(n); ok {
		return true
	}
	for _, l := range s.LinksFrom(id) {
		if _, ok := p.EndXPFC(l); ok {
			return true
		}
	}
	return false
}
