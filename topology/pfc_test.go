package topology

import (
	"net/netip"
	"testing"
)

// TestPFCBehaviors: each flavor of End.X.PFC has a codepoint and a name, and comes back from it.
func TestPFCBehaviors(t *testing.T) {
	p := DefaultPFCBehaviors()
	seen := make(map[Behavior]bool)
	for f, name := range map[Flavors]string{
		0: "End.X.PFC", FlavorPSP: "End.X.PFC (PSP)", FlavorUSP: "End.X.PFC (USP)",
		FlavorPSP | FlavorUSP: "End.X.PFC (PSP,USP)", FlavorUSD: "End.X.PFC (USD)",
	} {
		b, ok := p.EndXOf(f)
		if !ok || seen[b] || !b.Private() {
			t.Errorf("%v: codepoint %#x, %v", f, uint16(b), ok)
		}
		seen[b] = true
		if back, ok := p.EndXFlavors(b); !ok || back != f || p.Name(b) != name {
			t.Errorf("%#x: flavors %v, %v, name %q, want %v, %q", uint16(b), back, ok, p.Name(b), f, name)
		}
	}
	if _, ok := p.EndXOf(FlavorPSP | FlavorUSD); ok {
		t.Error("PSP and USD is no flavor of the draft")
	}
	if seen[p.End] || p.Name(p.End) != "End.PFC" || p.Name(BehaviorEndX) != "End.X" {
		t.Errorf("names: %q, %q", p.Name(p.End), p.Name(BehaviorEndX))
	}
	if _, ok := p.EndXFlavors(BehaviorEndX); ok {
		t.Error("End.X is no End.X.PFC")
	}
}

// TestPFCCapable: a PFC SID of a node or of a link makes the node PFC-capable.
func TestPFCCapable(t *testing.T) {
	p := DefaultPFCBehaviors()
	sid := func(a string, b Behavior, algorithm uint8) SID {
		return SID{Address: netip.MustParseAddr(a), Behavior: b, Algorithm: algorithm}
	}
	b := NewBuilder()
	b.SetNode(Node{ID: "a", SIDs: []SID{sid("fc00::1", p.End, 0)}})
	b.SetNode(Node{ID: "b", SIDs: []SID{sid("fc00::2", BehaviorEnd, 0), sid("fc00::3", p.End, 128)}})
	b.SetNode(Node{ID: "c"})
	b.SetLink(Link{Local: "c", Remote: "b", EndX: []EndX{{SID: sid("fc00::4", p.EndXPSP, 0)},
		{SID: sid("fc00::5", p.EndX, 0)}}})
	s := b.Build()
	for id, want := range map[NodeID]bool{"a": true, "b": false, "c": true, "d": false} {
		if p.Capable(s, id) != want {
			t.Errorf("%s: %v, want %v", id, !want, want)
		}
	}
	if x, ok := p.EndXPFC(s.LinksFrom("c")[0]); !ok || x.Address != netip.MustParseAddr("fc00::5") {
		t.Errorf("the SID without flavors is to be taken: %v", x)
	}
}
