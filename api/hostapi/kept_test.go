package hostapi_test

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
)

// TestKept: a device restores a stored state unchanged, and refuses a truncated or changed state,
// or another format.
func TestKept(t *testing.T) {
	s, err := hostapi.NewState(hostapi.State{
		DeniedPorts: 1 << 2, Hints: hostapi.QPHints{QPsPerPeer: 4, SendPeers: 1, RemotePeers: 2},
		CC: []*hostapi.CCProfile{goodCC()},
		Profiles: []*hostapi.Profile{{
			Name: "p", CC: "nscc", Format: hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{16}},
			Mode: hostapi.ModeExplicit, Count: 2, MinActive: 1,
			EVs:          []hostapi.EV{hostapi.NewEV(1<<16, 1), hostapi.NewEV(2<<16, 2)},
			Denied:       []hostapi.EV{hostapi.NewEV(2<<16, 2)},
			Destinations: []netip.Prefix{netip.MustParsePrefix("2001:db8:2::/48")},
		}},
		Peers: []hostapi.PeerPorts{{Peer: netip.MustParseAddr("2001:db8:2::1"), Ports: 1 << 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	v := hostapi.Version{Epoch: 7, Number: 3}
	text, err := hostapi.EncodeKept(v, s)
	if err != nil {
		t.Fatal(err)
	}
	u, err := hostapi.DecodeKept(text)
	if err != nil {
		t.Fatal(err)
	}
	again, err := (&hostapi.State{}).Apply(&u.Delta)
	if err != nil || u.Version != v || u.Base != (hostapi.Version{}) || !again.Equal(s) {
		t.Errorf("%v: %+v, %v, want %v: %+v", u.Version, again, err, v, s)
	}
	for i := range text {
		if _, err := hostapi.DecodeKept(text[:i]); !errors.Is(err, hostapi.ErrKept) {
			t.Fatalf("the first %d octets of %d: %v", i, len(text), err)
		}
		changed := []byte(string(text))
		changed[i] ^= 1
		if _, err := hostapi.DecodeKept(changed); !errors.Is(err, hostapi.ErrKept) {
			t.Fatalf("octet %d changed: %v", i, err)
		}
	}
	if _, err := hostapi.DecodeKept([]byte(strings.Replace(string(text), "state 1", "state 2",
		1))); err == nil || !strings.Contains(err.Error(), "of this release") {
		t.Errorf("of another form: %v", err)
	}
	if text, err = hostapi.EncodeKept(v, &hostapi.State{}); err != nil {
		t.Fatal(err)
	}
	if u, err := hostapi.DecodeKept(text); err != nil || u.Version != v || !u.Delta.Empty() {
		t.Errorf("an empty state: %+v, %v", u, err)
	}
}
