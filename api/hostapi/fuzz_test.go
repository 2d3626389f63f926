package hostapi_test

import (
	"errors"
	"net/netip"
	"reflect"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/api/hostapi/hostapitest"
	"github.com/weft-sdn/weft/api/hostapi/hostpb"
)

// FuzzUpdate: a host applies any update as a whole, or refuses the update and names a field; the
// resulting state is a state that NewState could make.
func FuzzUpdate(f *testing.F) {
	base, err := hostapi.NewState(hostapi.State{Profiles: []*hostapi.Profile{good(),
		func() *hostapi.Profile {
			p := generated()
			p.Name, p.Destinations = "gen", nil
			return p
		}()}, CC: []*hostapi.CCProfile{goodCC()},
		Peers: []hostapi.PeerPorts{{Peer: netip.IPv6Loopback(), Ports: 6}}})
	if err != nil {
		f.Fatal(err)
	}
	v := hostapi.Version{Epoch: 1, Number: 2}
	seed := func(d hostapi.Delta) {
		for _, p := range hostapi.Parts(&hostapi.Update{Version: v, Delta: d}, hostapi.PartBytes) {
			b, err := proto.Marshal(p)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	seed(hostapi.Diff(nil, base, true))
	seed(hostapi.Diff(base, nil, true))
	seed(hostapi.Delta{Change: []hostapi.ProfileChange{{
		Name: "a-b", Replace: []hostapi.Replacement{{Index: 1, EV: hostapi.NewEV(5<<24, 3)}},
		Deny: good().EVs[:1],
	}, {Name: "gen", Deny: []hostapi.EV{hostapi.NewEV(1<<29, 1)}}}})
	seed(hostapi.Delta{SetProfiles: []*hostapi.Profile{{Name: "x", Mode: hostapi.ModeAuto}},
		SetPeers: []hostapi.PeerPorts{{Peer: netip.IPv6LinkLocalAllNodes()}}})
	caps := hostapitest.Capabilities()
	f.Fuzz(func(t *testing.T, b []byte) {
		var m hostpb.Update
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		m.Part, m.Last = 0, true
		var a hostapi.Assembler
		u, lost, err := a.Add(&m)
		if lost || u == nil {
			t.Fatalf("lost %v, %v", lost, u)
		}
		var field *hostapi.FieldError
		if err != nil {
			if !errors.As(err, &field) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		next, err := base.Apply(&u.Delta)
		if err != nil {
			if !errors.As(err, &field) || field.Field == "" || field.Code != hostapi.CodeInvalid &&
				field.Code != hostapi.CodeUnsupported {
				t.Fatalf("%v", err)
			}
			return
		}
		made, err := hostapi.NewState(*next)
		if err != nil {
			t.Fatalf("Apply lets pass: %v", err)
		}
		if !made.Equal(next) {
			t.Fatal("Apply makes another order")
		}
		d := hostapi.Diff(base, next, true)
		if again, err := base.Apply(&d); err != nil || !again.Equal(next) {
			t.Fatalf("the difference does not make it: %v", err)
		}
		whole := hostapi.Diff(nil, next, true)
		if full, part := caps.Check(next),
			caps.CheckUpdate(next, &whole); (full == nil) != (part == nil) {
			t.Fatalf("a device may hold it: %v; as an update: %v", full, part)
		}
	})
}

// FuzzUp: a host's message survives encoding and decoding unchanged, or decoding refuses the
// message and names a field.
func FuzzUp(f *testing.F) {
	ev := hostapi.NewEV(0x01020304, 5)
	for _, m := range []hostapi.Up{
		&hostapi.Hello{API: 1, Name: "h1", Software: "weft", Instance: 3,
			Capabilities: hostapitest.Capabilities(), Version: hostapi.Version{Epoch: 1, Number: 2}},
		&hostapi.Applied{Version: hostapi.Version{Epoch: 1, Number: 2}},
		&hostapi.Refused{Version: hostapi.Version{Epoch: 1, Number: 2}, Code: hostapi.CodeBusy,
			Field: "set_profiles[a]", Reason: "in use"},
		&hostapi.EVEvents{Events: []hostapi.EVEvent{{Profile: "a", EV: ev, State: hostapi.EVAssumedBad}},
			Dropped: 7},
		&hostapi.EVCounts{Counts: []hostapi.EVCount{{Profile: "a", EV: ev, Sent: 9, Lost: 1}}},
		&hostapi.ProbeResult{ID: 1, Sent: 3, Received: 2, RTTMin: 1, RTTMean: 2, RTTMax: 3,
			ServiceTimeAdjusted: true, Port: 1},
		&hostapi.PortStatus{Up: 6},
		&hostapi.QueuePairs{LeftOut: 1, Groups: []hostapi.QueuePairGroup{{Count: 3, Failed: 1,
			QueuePairKey: hostapi.QueuePairKey{Peer: netip.MustParseAddr("2001:db8::1"), Profile: "~7",
				CC: "cc", Hints: hostapi.QPHints{QPsPerPeer: 2}}}}},
		&hostapi.PortErrors{LeftOut: 2, Errors: []hostapi.PortError{{Port: 2, Source: "mlx5_0/1",
			Counter: "symbol_error", Count: 1 << 40}}},
	} {
		b, err := proto.Marshal(hostapi.EncodeUp(m))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		back, err := hostapi.DecodeUp(hostapi.EncodeUp(m))
		if err != nil || !reflect.DeepEqual(back, m) {
			f.Fatalf("%+v became %+v: %v", m, back, err)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var m hostpb.HostMessage
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		up, err := hostapi.DecodeUp(&m)
		if err != nil {
			var field *hostapi.FieldError
			if !errors.As(err, &field) || field.Field == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := hostapi.DecodeUp(hostapi.EncodeUp(up))
		if err != nil || !reflect.DeepEqual(again, up) {
			t.Fatalf("%+v became %+v: %v", up, again, err)
		}
	})
}

// FuzzProbe: a probe request decodes to what it encodes to, or is refused.
func FuzzProbe(f *testing.F) {
	p := &hostapi.Probe{
		ID: 3, Source: netip.MustParseAddr("2001:db8::1"),
		Destination: netip.MustParseAddr("2001:db8::2"), Format: good().Format, EV: good().EVs[0],
		DSCP:  10,
		Count: 4, Interval: 1000, Timeout: 2000,
	}
	b, err := proto.Marshal(hostapi.EncodeDown(p)[0].GetProbeRequest())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		var m hostpb.ProbeRequest
		if proto.Unmarshal(b, &m) != nil {
			return
		}
		got, err := hostapi.DecodeProbe(&m)
		if err != nil {
			return
		}
		again, err := hostapi.DecodeProbe(hostapi.EncodeDown(got)[0].GetProbeRequest())
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Fatalf("%+v became %+v: %v", got, again, err)
		}
	})
}

// TestWelcome: the limits arrive, and a welcome without them is refused.
func TestWelcome(t *testing.T) {
	w := &hostapi.Welcome{Software: "weft", MaxEvents: 3, MaxCounts: 4, MaxMessageRate: 5,
		CountsInterval: 1500e6}
	got, err := hostapi.DecodeWelcome(hostapi.EncodeDown(w)[0].GetWelcome())
	if err != nil || *got != *w {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := hostapi.DecodeWelcome(&hostpb.Welcome{}); err == nil {
		t.Error("no limits")
	}
}
