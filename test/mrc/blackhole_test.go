package mrc

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/lab"
)

// selfProbes has four hosts probe each of their six targets every 10 ms.
func selfProbes(m *inventory.MRC) {
	m.Mode, m.Probes.Self = "usid-f3216", 600
	m.Probes.SelfTimeout = api.Duration(5 * time.Millisecond)
}

// suspects are the suspects of the controller.
func (f *bed) suspects() (out []api.Suspect) {
	f.t.Helper()
	if err := f.mrc.Do(f.t.Context(), func(c *mrc.Core) { out = c.Suspects() }); err != nil {
		f.t.Fatal(err)
	}
	return out
}

// probed reports whether all links are probed by hosts, and nothing is lost.
func (f *bed) probed() bool {
	var links []api.Link
	if err := f.mrc.Do(f.t.Context(), func(c *mrc.Core) { links = c.Links() }); err != nil {
		f.t.Fatal(err)
	}
	for _, l := range links {
		t := l.Status.Truth
		if t == nil || t.Probes == nil {
			return false
		}
		if p := t.Probes; p.Hosts < 2 || p.Passed < 10 || p.Dead > 0 {
			return false
		}
	}
	return len(links) > 0
}

// blackHole has one direction of a link forward nothing, with the ports up, and requires that hosts
// deny both directions, and no other link.
func blackHole(t *testing.T, f *bed) {
	f.until(5*time.Second, "hosts probe every link", f.probed)
	if !f.deniesNothing() || len(f.suspects()) > 0 {
		t.Fatalf("%+v without a fault", f.suspects())
	}
	f.do(func() {
		w, err := f.world.Wire("P1-T1-2", "P1-T0-1")
		if err != nil {
			t.Fatal(err)
		}
		w.Faults = lab.Faults{Loss: 1}
	})
	took := f.until(105*time.Millisecond, "hosts deny the link, and no other", func() bool {
		return f.denies("P1-T0-1", "P1-T1-2")
	})
	t.Logf("denied after %v", took)
	s := f.suspects()
	if len(s) != 1 || s[0].Kind != "blackHole" || s[0].FromName != "P1-T0-1" ||
		s[0].ToName != "P1-T1-2" || !s[0].Denied || len(s[0].Links) != 2 {
		t.Errorf("%+v", s)
	}
}

// TestBlackHole: probes of hosts to themselves find a link that forwards nothing with its ports up,
// and the controller denies the link, over the streams of hosts.
func TestBlackHole(t *testing.T) { run(t, selfProbes, blackHole) }

// TestMembersBlackHole: the same for hosts with streams to other controllers.
func TestMembersBlackHole(t *testing.T) { withMembers(t, 3, selfProbes, blackHole) }
