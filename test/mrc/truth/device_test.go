package truth

import (
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/device"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestPathFilesOfAFabric: the test decodes the path files of all hosts in a fabric, and finds the
// EVs from the controller for each pair of hosts, before and after losing a link.
func TestPathFilesOfAFabric(t *testing.T) {
	n := newThin(t, seeds.One(t, 1), lab.ClosConfig{Planes: 4, T0: 4, T1: 4, Hosts: 12}, eachMs, nil)
	dir := t.TempDir()
	n.do(func() { // each comes again, as a device that takes paths alone
		for name, h := range n.hosts {
			f := &device.PathFile{File: filepath.Join(dir, name), Have: 4, Source: h.address}
			h.device = device.Endpoint(f)
			if err := n.core.Hello(name, &hostapi.Hello{API: hostapi.API, Name: name, Instance: 2,
				Capabilities: h.device.Capabilities()}); err != nil {
				t.Fatal(err)
			}
		}
	})
	pairs, octets := 0, 0
	check := func(when string) {
		for _, h := range n.hosts {
			text, err := os.ReadFile(filepath.Join(dir, h.name))
			if err != nil {
				t.Fatal(err)
			}
			octets = max(octets, len(text))
			var file map[netip.Addr]map[string][]device.Template
			if err := json.Unmarshal(text, &file); err != nil {
				t.Fatal(err)
			}
			for _, peer := range n.hosts {
				profile := h.state.ProfileTo(peer.address)
				if profile == nil {
					continue
				}
				var want, got []hostapi.EV
				for _, v := range profile.EVs {
					if !profile.IsDenied(v) {
						want = append(want, v)
					}
				}
				templates := row(t, file[h.address], peer.address)
				for i := range templates {
					evs, err := templates[i].EVs()
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, evs...)
				}
				slices.SortFunc(want, hostapi.EV.Compare)
				slices.SortFunc(got, hostapi.EV.Compare)
				want = slices.Compact(want)
				if pairs++; len(want) == 0 || !slices.Equal(got, want) {
					t.Fatalf("%s, %s to %s: %d EVs in the file, %d of the controller", when, h.name,
						peer.name, len(got), len(want))
				}
			}
		}
	}
	n.run(time.Second)
	check("at first")
	l := pick(n, n.links())
	n.setLinks(false, 0, func(from, to string) bool { return l == wire{from, to} })
	n.run(time.Second)
	denied := false
	for _, h := range n.hosts {
		for _, p := range h.state.Profiles {
			denied = denied || len(p.Denied) > 0 || strings.HasPrefix(p.Name, "none")
		}
	}
	if !denied {
		t.Fatal("the lost link denies no EV")
	}
	check("after a link is lost")
	if pairs < 2*12*11 {
		t.Errorf("%d pairs, want all of 12 hosts twice", pairs)
	}
	// A rack is a row of four templates at most, one for the EVs of all planes as a rule.
	if octets > 12*400 {
		t.Errorf("%d octets in the largest file, want 400 at most for each destination", octets)
	}
	t.Logf("%d pairs, %d octets in the largest file", pairs, octets)
}

// row returns the templates of the longest prefix of a file that has an address.
func row(t *testing.T, file map[string][]device.Template, a netip.Addr) (best []device.Template) {
	t.Helper()
	longest := -1
	for name, templates := range file {
		p, err := netip.ParsePrefix(name)
		if err != nil {
			one, err := netip.ParseAddr(name)
			if err != nil {
				t.Fatal(err)
			}
			p = netip.PrefixFrom(one, 128)
		}
		if p.Contains(a) && p.Bits() > longest {
			best, longest = templates, p.Bits()
		}
	}
	return best
}

// apply gives a device the state of a host.
func (h *host) apply(s *hostapi.State) {
	if h.device == nil {
		return
	}
	if h.state == nil {
		h.state = &hostapi.State{}
	}
	if err := h.device.Apply(agent.Change{From: h.state, To: s}); err != nil {
		h.net.t.Fatalf("host %s: %v", h.name, err)
	}
	h.state = s
}
