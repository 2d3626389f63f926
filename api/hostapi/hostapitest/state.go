// Package hostapitest makes states and capabilities for tests.
package hostapitest

import (
	"fmt"
	"net/netip"
	"slices"

	"pgregory.net/rapid"

	"github.com/weft-sdn/weft/api/hostapi"
)

// Capabilities returns the capabilities of a device with every feature, and ports 1 to 4.
func Capabilities() hostapi.Capabilities {
	return hostapi.Capabilities{
		EVMaxFormats: 16, EVMaxProfiles: 4096, EVMaxCount: 1 << 20, EVFreeCount: 1 << 20,
		EVMaxCountProfile: 4096, EVCountAlign: 1, EVMaxWidth: 256,
		EVFormatModes: hostapi.Modes(hostapi.FormatSTEV, hostapi.FormatSRv6, hostapi.FormatUDP),
		EVModes:       hostapi.Modes(hostapi.ModeAuto, hostapi.ModeExplicit, hostapi.ModeGenerated),
		CCMaxProfiles: 16, CCAlgorithms: []string{hostapi.AlgorithmNSCC},
		Ports:     hostapi.Ports(1, 2, 3, 4),
		OptAttr:   hostapi.OptEVProfileModifyOnline | hostapi.OptCCProfileModifyOnline | hostapi.OptEVEvent | hostapi.OptEVEventPreciseDropCount | hostapi.OptEVProbe,
		DeviceCap: hostapi.CapTrimNACK | hostapi.CapDynamicMPR | hostapi.CapServiceTime, MaxMPR: 32,
		MaxWIMM: 32, MaxWIMMDest: 32, QPHints: true,
	}
}

// Profile draws a profile with its own name and its own destination prefix.
func Profile(i int) *rapid.Generator[*hostapi.Profile] {
	return rapid.Custom(func(t *rapid.T) *hostapi.Profile {
		p := &hostapi.Profile{
			Name: fmt.Sprintf("leaf%d", i),
			Mode: rapid.SampledFrom([]hostapi.Mode{hostapi.ModeAuto, hostapi.ModeExplicit,
				hostapi.ModeGenerated}).Draw(t, "mode"),
			Events: rapid.Bool().Draw(t, "events"),
			Destinations: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8,
				byte(i)}), 48)},
		}
		if p.Mode == hostapi.ModeAuto {
			return p
		}
		p.Format = hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{8, 4}}
		ev := rapid.Custom(func(t *rapid.T) hostapi.EV {
			return hostapi.NewEV(rapid.Uint32Range(0, 15).Draw(t, "value")<<20,
				rapid.Uint8Range(1, 4).Draw(t, "port"))
		})
		var some []hostapi.EV
		if p.Mode == hostapi.ModeExplicit {
			p.EVs = rapid.SliceOfN(ev, 1, 6).Draw(t, "EVs")
			p.Count = len(p.EVs)
			some = p.EVs
		} else {
			p.Fields = []hostapi.Field{{Width: 8, InitVal: 0x80, MaxVal: 15, Mask: 0x0f},
				{Width: 4, InitVal: 3}}
			p.Count = rapid.IntRange(1, 64).Draw(t, "count")
			for _, v := range rapid.SliceOfN(rapid.Uint32Range(0, 15), 0, 6).Draw(t, "some") {
				some = append(some, hostapi.NewEV(v<<28, uint8(v%4+1)))
			}
		}
		p.MinActive = rapid.IntRange(0, p.Count).Draw(t, "min active")
		var denied []hostapi.EV
		for _, v := range some {
			if rapid.Bool().Draw(t, "denied") && !slices.Contains(denied, v) {
				denied = append(denied, v)
			}
		}
		return p.WithDenied(denied)
	})
}

// State draws a state with a few profiles; different states share profile names.
func State() *rapid.Generator[*hostapi.State] {
	return rapid.Custom(func(t *rapid.T) *hostapi.State {
		var s hostapi.State
		for i := range 4 {
			if rapid.Bool().Draw(t, "there") {
				s.Profiles = append(s.Profiles, Profile(i).Draw(t, "profile"))
			}
			if rapid.Bool().Draw(t, "cc") {
				s.CC = append(s.CC, &hostapi.CCProfile{Name: fmt.Sprintf("cc%d", i),
					Algorithm: hostapi.AlgorithmNSCC, NSCC: hostapi.NSCC{
						Gamma: 0.8, MaxMDJump: 0.5, MaxCwnd: rapid.Uint32Range(4096, 8192).Draw(t, "window"),
						TargetDelay: 9000,
					}})
			}
			if rapid.Bool().Draw(t, "peer") {
				s.Peers = append(s.Peers, hostapi.PeerPorts{
					Peer:  netip.AddrFrom16([16]byte{0x20, 15: byte(i + 1)}),
					Ports: hostapi.PortMask(rapid.Uint32().Draw(t, "ports")) &^ 1,
				})
			}
		}
		s.DeniedPorts = hostapi.PortMask(rapid.Uint32Range(0, 3).Draw(t, "denied ports") << 1)
		if rapid.Bool().Draw(t, "wire") {
			dscp := rapid.Uint8Range(0, 9).Draw(t, "DSCP")
			s.Wire = hostapi.Wire{
				UDPPort: rapid.Uint16Range(4000, 5000).Draw(t, "UDP port"), NoTrim: dscp, Trimmable: dscp + 10,
				TrimmableRetx: dscp + 20,
				Trimmed:       dscp + 30, TrimmedLastHop: dscp + 40, Control: dscp + 50,
			}
		}
		if rapid.Bool().Draw(t, "hints") {
			s.Hints = hostapi.QPHints{QPsPerPeer: 1, SendPeers: rapid.Uint32Range(0, 3).Draw(t, "peers"),
				RemotePeers: 7}
		}
		for _, p := range s.Profiles {
			if len(s.CC) > 0 && rapid.Bool().Draw(t, "with cc") {
				p.CC = s.CC[0].Name
			}
		}
		made, err := hostapi.NewState(s)
		if err != nil {
			t.Fatalf("hostapitest: %v", err)
		}
		return made
	})
}

// Peer is the address of a host.
func Peer(i int) netip.Addr {
	return netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 14: byte(i >> 8), 15: byte(i)})
}
