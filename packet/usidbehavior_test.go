package packet

import (
	"net/netip"
	"reflect"
	"testing"
)

func usidSRH(t *testing.T, reduced bool, containers ...netip.Addr) *SRH {
	t.Helper()
	make := NewSRH
	if reduced {
		make = NewReducedSRH
	}
	h, err := make(NextHeaderIPv6, containers, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &h
}

// A path of uSIDs is walked in the order it was given, whatever SRH carries its second container,
// and ends at the last uSID.
func TestUSIDPathIsWalked(t *testing.T) {
	for _, f := range []USIDFormat{F3216, F1616} {
		block := map[USIDFormat]netip.Prefix{F3216: block32, F1616: block16}[f]
		for n := 1; n <= f.MaxUSIDs(); n++ {
			usids := sequence(n)
			containers, err := f.Containers(block, usids...)
			if err != nil {
				t.Fatal(err)
			}
			srhs := map[string]*SRH{"no SRH": nil, "copy in the SRH": usidSRH(t, false, containers...)}
			if len(containers) == 2 {
				srhs = map[string]*SRH{"SRH": usidSRH(t, false, containers...), "reduced SRH": usidSRH(t, true,
					containers...)}
			}
			for name, srh := range srhs {
				ip := IPv6{NextHeader: NextHeaderIPv6, HopLimit: 64, Dst: containers[0]}
				for i, usid := range usids {
					if got := f.Active(ip.Dst); got != usid {
						t.Fatalf("%v, %d uSIDs, %s: node %d is %#04x, want %#04x", f, n, name, i, got, usid)
					}
					behavior, want := []USIDBehavior{UN, UA}[i%2], SIDForward
					if i == n-1 {
						behavior, want = UDT6, SIDDecapsulate
						if got := f.Process(UN, &ip, srh); got != SIDUpperLayer {
							t.Errorf("%v, %d uSIDs, %s: uN at the end: outcome %d, want %d", f, n, name, got,
								SIDUpperLayer)
						}
					}
					if got := f.Process(behavior, &ip, srh); got != want {
						t.Fatalf("%v, %d uSIDs, %s: %v at node %d: outcome %d, want %d", f, n, name, behavior, i, got,
							want)
					}
				}
				if got, want := ip.HopLimit, uint8(64-(n-1)); got != want {
					t.Errorf("%v, %d uSIDs, %s: Hop Limit %d, want %d", f, n, name, got, want)
				}
				if srh != nil && srh.SegmentsLeft != 0 {
					t.Errorf("%v, %d uSIDs, %s: Segments Left %d at the end", f, n, name, srh.SegmentsLeft)
				}
			}
		}
	}
}

func TestUSIDProcess(t *testing.T) {
	one, two := addr("fc00:1:a00:a01::"), addr("fc00:1:a02::")
	last := addr("fc00:1:a01::")
	segments := func(left, lastEntry uint8, visit ...netip.Addr) *SRH {
		h := usidSRH(t, false, visit...)
		h.SegmentsLeft, h.LastEntry = left, lastEntry
		return h
	}
	udp := segments(0, 0, two)
	udp.NextHeader = NextHeaderUDP
	for _, c := range []struct {
		name     string
		behavior USIDBehavior
		ip       IPv6
		srh      *SRH
		want     SIDOutcome
		dst      netip.Addr // where it goes, when forwarded
	}{
		{"shift", UN, IPv6{HopLimit: 2, Dst: one}, nil, SIDForward, last},
		{"shift by uA", UA, IPv6{HopLimit: 2, Dst: one}, nil, SIDForward, last},
		{"shift before segments", UN, IPv6{HopLimit: 2, Dst: one}, segments(1, 0, two), SIDForward, last},
		{"promote", UN, IPv6{HopLimit: 2, Dst: last}, segments(1, 0, two), SIDForward, two},
		{"promote by uA", UA, IPv6{HopLimit: 2, Dst: last}, segments(1, 0, two), SIDForward, two},
		{"promote, SRH not reduced", UN, IPv6{HopLimit: 2, Dst: last}, segments(1, 1, one, two),
			SIDForward, two},
		{"no hops left to shift", UN, IPv6{HopLimit: 1, Dst: one}, nil, SIDTimeExceeded, one},
		{"no hops at all", UA, IPv6{HopLimit: 0, Dst: one}, nil, SIDTimeExceeded, one},
		{"no hops left to promote", UN, IPv6{HopLimit: 1, Dst: last}, segments(1, 0, two),
			SIDTimeExceeded, last},
		{"the end needs no hops", UN, IPv6{HopLimit: 1, Dst: last}, nil, SIDUpperLayer, last},
		{"the end, SRH used up", UN, IPv6{HopLimit: 64, Dst: last}, segments(0, 0, two), SIDUpperLayer,
			last},
		{"Segments Left beyond the list", UN, IPv6{HopLimit: 64, Dst: last}, segments(2, 0, two),
			SIDParameterProblem, last},
		{"Last Entry beyond the list", UN, IPv6{HopLimit: 64, Dst: last}, segments(1, 1, two),
			SIDParameterProblem, last},
		{"out of a tunnel", UDT6, IPv6{HopLimit: 64, NextHeader: NextHeaderIPv6, Dst: last}, nil,
			SIDDecapsulate, last},
		{"out of a tunnel by uDX6", UDX6, IPv6{HopLimit: 64, NextHeader: NextHeaderIPv6, Dst: last}, nil,
			SIDDecapsulate, last},
		{"out of a tunnel with SRH", UDX6, IPv6{HopLimit: 64, NextHeader: NextHeaderRouting, Dst: last},
			segments(0, 0, two), SIDDecapsulate, last},
		{"no tunnel", UDT6, IPv6{HopLimit: 64, NextHeader: NextHeaderUDP, Dst: last}, nil, SIDUpperLayer,
			last},
		{"no tunnel after the SRH", UDX6, IPv6{HopLimit: 64, NextHeader: NextHeaderRouting, Dst: last},
			udp, SIDUpperLayer, last},
		{"segments left at the end of the tunnel", UDT6, IPv6{HopLimit: 64, NextHeader: NextHeaderRouting,
			Dst: last}, segments(1, 0, two), SIDParameterProblem, last},
		{"no behavior", USIDBehavior(9), IPv6{HopLimit: 64, Dst: one}, nil, SIDUpperLayer, one},
	} {
		t.Run(c.name, func(t *testing.T) {
			ip, before := c.ip, c.ip
			var left uint8
			if c.srh != nil {
				left = c.srh.SegmentsLeft
			}
			if got := F3216.Process(c.behavior, &ip, c.srh); got != c.want {
				t.Fatalf("%v: outcome %d, want %d", c.behavior, got, c.want)
			}
			if ip.Dst != c.dst {
				t.Errorf("destination %v, want %v", ip.Dst, c.dst)
			}
			if c.want == SIDForward {
				if ip.HopLimit != before.HopLimit-1 {
					t.Errorf("Hop Limit %d, want %d", ip.HopLimit, before.HopLimit-1)
				}
				return
			}
			if !reflect.DeepEqual(ip, before) || c.srh != nil && c.srh.SegmentsLeft != left {
				t.Errorf("the headers changed: %+v, want %+v", ip, before)
			}
		})
	}
}

func TestUSIDBehaviorNames(t *testing.T) {
	for b, want := range map[USIDBehavior]string{UN: "uN", UA: "uA", UDT6: "uDT6", UDX6: "uDX6",
		9: "uSID behavior 9"} {
		if b.String() != want {
			t.Errorf("behavior %d is %q, want %q", uint8(b), b, want)
		}
	}
}
