package nic

import (
	"slices"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/spray"
)

// maxEVs bounds the values of all profiles together, because a value takes about 100 octets of
// memory.
const maxEVs = 1 << 20

// software returns the capabilities of the NIC with this number of ports.
func software(ports int) hostapi.Capabilities {
	return hostapi.Capabilities{
		EVMaxFormats: hostapi.MaxProfiles, EVMaxProfiles: hostapi.MaxProfiles, EVMaxCount: maxEVs,
		EVMaxCountProfile: spray.MaxEVs, EVCountAlign: 1,
		EVMaxWidth:    8 * hostapi.EVBytes,
		EVFormatModes: hostapi.Modes(hostapi.FormatSTEV, hostapi.FormatSRv6, hostapi.FormatUDP),
		EVModes:       hostapi.Modes(hostapi.ModeAuto, hostapi.ModeExplicit, hostapi.ModeGenerated),
		CCMaxProfiles: hostapi.MaxCCProfiles, CCAlgorithms: []string{hostapi.AlgorithmNSCC},
		Ports:     hostapi.FirstPorts(ports),
		OptAttr:   hostapi.OptEVProfileModifyOnline | hostapi.OptCCProfileModifyOnline | hostapi.OptEVEvent | hostapi.OptEVEventPreciseDropCount | hostapi.OptEVProbe,
		DeviceCap: hostapi.CapTrimNACK | hostapi.CapDynamicMPR | hostapi.CapServiceTime,
		MaxMPR:    mrc.MaxMPR, MaxWIMM: mrc.MaxWIMM, MaxWIMMDest: mrc.MaxWIMM,
		QPHints: true, SelfProbes: true,
	}
}

// ranges is the feature that makes a device do less.
const ranges = hostapi.OptEVExplicitRange

// exceeds returns the name of the first attribute of d above the attribute of own; empty: none.
func exceeds(d, own *hostapi.Capabilities) string {
	for _, n := range []struct {
		name      string
		have, max int
	}{
		{"EVMaxFormats", d.EVMaxFormats, own.EVMaxFormats}, {"EVMaxProfiles", d.EVMaxProfiles,
			own.EVMaxProfiles}, {"EVMaxCount", d.EVMaxCount, own.EVMaxCount},
		{"EVMaxCountProfile", d.EVMaxCountProfile, own.EVMaxCountProfile},
		{"EVMaxWidth", d.EVMaxWidth, own.EVMaxWidth},
		{"CCMaxProfiles", d.CCMaxProfiles, own.CCMaxProfiles}, {"MaxMPR", d.MaxMPR, own.MaxMPR},
		{"MaxWIMM", d.MaxWIMM, own.MaxWIMM},
		{"MaxWIMMDest", d.MaxWIMMDest, own.MaxWIMMDest},
		{"EVFormatModes", int(d.EVFormatModes &^ own.EVFormatModes), 0},
		{"EVModes", int(d.EVModes &^ own.EVModes), 0}, {"Ports", int(d.Ports &^ own.Ports), 0},
		{"OptAttr", int(d.OptAttr &^ (own.OptAttr | ranges)), 0},
		{"DeviceCap", int(d.DeviceCap &^ own.DeviceCap), 0},
	} {
		if n.have > n.max {
			return n.name
		}
	}
	for _, a := range d.CCAlgorithms {
		if !slices.Contains(own.CCAlgorithms, a) {
			return "CCAlgorithms"
		}
	}
	return ""
}

// Capabilities returns the capabilities of the NIC, and how many values are free.
func (n *NIC) Capabilities() hostapi.Capabilities {
	c := n.device
	c.EVFreeCount = c.EVMaxCount - n.state.EVCount()
	return c
}

func (n *NIC) has(option uint32) bool { return n.device.OptAttr&option != 0 }
