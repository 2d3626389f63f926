package device

import (
	"encoding/json"
	"errors"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent"
)

// ev is an EV of an outer destination.
func ev(address string, port uint8) hostapi.EV {
	v := hostapi.EV{Port: port}
	a := netip.MustParseAddr(address).As16()
	copy(v.Value[:], a[:])
	return v
}

// srv6 is the format of whole addresses.
var srv6 = hostapi.Format{Mode: hostapi.FormatSRv6, Widths: []uint8{128}}

// state is one of two profiles, with a denied EV, a denied port and a peer that lacks one.
func state(t *testing.T) *hostapi.State {
	t.Helper()
	profile := func(name, to string, evs ...hostapi.EV) *hostapi.Profile {
		return &hostapi.Profile{Name: name, Format: srv6, Mode: hostapi.ModeExplicit, EVs: evs,
			Count: len(evs), Destinations: []netip.Prefix{netip.MustParsePrefix(to)}}
	}
	near := profile("near", "2001:db8:1::/64", ev("fcbb:bbbb:1:9::", 1), ev("fcbb:bbbb:2:9::", 2),
		ev("fcbb:bbbb:3:9::", 1), ev("fcbb:bbbb:4:9::", 3))
	s, err := hostapi.NewState(hostapi.State{DeniedPorts: hostapi.Ports(3),
		Profiles: []*hostapi.Profile{near.WithDenied([]hostapi.EV{ev("fcbb:bbbb:3:9::", 1)}),
			profile("far", "2001:db8:2::1/128", ev("fcbb:bbbb:5:9::", 1), ev("fcbb:bbbb:6:9::", 2))},
		Peers: []hostapi.PeerPorts{{Peer: netip.MustParseAddr("2001:db8:1::7"), Ports: hostapi.Ports(1)},
			{Peer: netip.MustParseAddr("2001:db8:2::1"), Ports: hostapi.Ports(2)}}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPaths: each destination has its profile's EVs without denied EVs and denied ports, and a peer
// that lacks a port has no EV by the port.
func TestPaths(t *testing.T) {
	got, err := Paths(state(t))
	want := []Path{
		{netip.MustParsePrefix("2001:db8:1::/64"),
			[]hostapi.EV{ev("fcbb:bbbb:1:9::", 1), ev("fcbb:bbbb:2:9::", 2)}},
		{netip.MustParsePrefix("2001:db8:1::7/128"), []hostapi.EV{ev("fcbb:bbbb:1:9::", 1)}},
		{netip.MustParsePrefix("2001:db8:2::1/128"), []hostapi.EV{ev("fcbb:bbbb:6:9::", 2)}},
	}
	if err != nil || !slices.EqualFunc(got, want, func(a, b Path) bool {
		return a.Destination == b.Destination && slices.Equal(a.EVs, b.EVs)
	}) {
		t.Errorf("%v, %v, want %v", got, err, want)
	}
}

// TestPublishedTemplates: templates stand for the addresses that those of the published file do.
func TestPublishedTemplates(t *testing.T) {
	for _, c := range []struct {
		data, mask string
		psMask     uint32
		want       map[uint32]string
	}{
		{"2001:db8:0:101::", "0:0:70::", 28, map[uint32]string{4: "2001:db8:10:101::",
			9: "2001:db8:20:101::", 14: "2001:db8:30:101::", 19: "2001:db8:40:101::"}},
		{"2001:db8::1:104:0:0", "0:0:70:7003:70::", 8188, map[uint32]string{
			1156: "2001:db8:10:1000:11:104::", 1188: "2001:db8:10:1001:11:104::",
			2313: "2001:db8:20:2000:21:104::"}},
	} {
		for s, want := range c.want {
			x := Template{Data: netip.MustParseAddr(c.data), Mask: netip.MustParseAddr(c.mask),
				PSMask: c.psMask, PSList: []uint32{s}}
			if got, err := x.EVs(); err != nil || len(got) != 1 || got[0] != ev(want, uint8(s&3)+1) {
				t.Errorf("%d: %v, %v, want %s by port %d", s, got, err, want, s&3+1)
			}
		}
	}
	x := Template{Data: netip.IPv6Unspecified(), Mask: netip.IPv6Unspecified(), PSList: []uint32{4}}
	if _, err := x.EVs(); err == nil || !strings.Contains(err.Error(), "ps_list: 4") {
		t.Errorf("a selector beyond its mask: %v", err)
	}
}

// decoded reads a file back.
func decoded(t *testing.T, text []byte, source netip.Addr) map[string][]hostapi.EV {
	t.Helper()
	var file map[netip.Addr]map[string][]Template
	if err := json.Unmarshal(text, &file); err != nil || len(file) != 1 {
		t.Fatalf("%d sources, %v", len(file), err)
	}
	out := make(map[string][]hostapi.EV)
	for to, list := range file[source] {
		out[to] = []hostapi.EV{}
		for i := range list {
			evs, err := list[i].EVs()
			if err != nil {
				t.Fatal(err)
			}
			out[to] = append(out[to], evs...)
		}
		slices.SortFunc(out[to], hostapi.EV.Compare)
	}
	return out
}

// TestPathFile: an applied state is in the file, from which each EV can be read back, also of
// values that differ in more bits than a selector has. A state that the NIC cannot take is refused,
// and leaves the file as it is.
func TestPathFile(t *testing.T) {
	f := &PathFile{File: filepath.Join(t.TempDir(), "paths.json"),
		Source: netip.MustParseAddr("2001:db8::1"), Have: 4}
	d := Endpoint(f)
	s := state(t)
	if err := d.Apply(agent.Change{From: &hostapi.State{}, To: s}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(f.File)
	if err != nil {
		t.Fatal(err)
	}
	paths, _ := Paths(s)
	got := decoded(t, text, f.Source)
	if len(got) != len(paths) {
		t.Errorf("%d destinations, want %d", len(got), len(paths))
	}
	for _, p := range paths {
		name := strings.TrimSuffix(p.Destination.String(), "/128")
		if !slices.Equal(got[name], p.EVs) {
			t.Errorf("%s: %v, want %v", name, got[name], p.EVs)
		}
	}
	wild := []hostapi.EV{ev("fcbb:bbbb:ffff:ffff:ffff::", 1), ev("fcbb:bbbb::1", 1),
		ev("fcbb:bbbb::", 1), ev("fcbb:bbbb:ffff::", 4)}
	slices.SortFunc(wild, hostapi.EV.Compare)
	text, err = f.Encode([]Path{{netip.MustParsePrefix("2001:db8:9::/64"), wild}})
	if err != nil || !slices.Equal(decoded(t, text, f.Source)["2001:db8:9::/64"], wild) {
		t.Errorf("%s, %v", text, err)
	}

	f.Have = 1
	var wrong *hostapi.FieldError
	before, _ := os.ReadFile(f.File)
	err = d.Apply(agent.Change{From: s, To: s})
	if !errors.As(err, &wrong) || wrong.Field != "port" ||
		!strings.Contains(wrong.Reason, "port 2, want 1 to 1") {
		t.Errorf("a port that the NIC lacks: %v", err)
	}
	if after, err := os.ReadFile(f.File); err != nil || !slices.Equal(before, after) {
		t.Errorf("%d octets after that, %v, want the same %d", len(after), err, len(before))
	}
}

// TestSocket: an application learns the paths to an address.
func TestSocket(t *testing.T) {
	held := state(t)
	held.Hints = hostapi.QPHints{QPsPerPeer: 2, SendPeers: 3}
	h := Handler(func() *hostapi.State { return held }, func(profile, _ string) (uint64, uint64) {
		return uint64(len(profile)), 0
	}, func() []PortFacts { return []PortFacts{{Port: 1, Interface: "eth0", State: "up"}} })
	for to, want := range map[string]struct {
		status int
		body   string
	}{
		"paths?to=2001:db8:1::7": {200, `{"destination":"2001:db8:1::7/128",` +
			`"evs":[{"outer":"fcbb:bbbb:1:9::","port":1}]}`},
		"paths?to=2001:db8:1::8": {200, `{"destination":"2001:db8:1::/64",` +
			`"evs":[{"outer":"fcbb:bbbb:1:9::","port":1},{"outer":"fcbb:bbbb:2:9::","port":2}]}`},
		"profiles?to=2001:db8:1::7": {200, `{"profile":"near","evProfileId":4,"ccProfileId":0,` +
			`"numQpsPerPeer":2,"numSendPeers":3,"numRemoteRecvPeers":0}`},
		"ports": {200, `[{"port":1,"interface":"eth0","state":"up","rdma":null,` +
			`"errors":null}]`},
		"paths?to=2001:db8:9::1": {404, "to: 2001:db8:9::1: the controller has no paths there"},
		"paths?to=x":             {400, `to: "x", want an address`},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/v1/"+to, nil))
		if body := strings.TrimSpace(w.Body.String()); w.Code != want.status || body != want.body {
			t.Errorf("%s: %d %s, want %d %s", to, w.Code, body, want.status, want.body)
		}
	}
}
