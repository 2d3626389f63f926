package lab

import (
	"time"

	"github.com/weft-sdn/weft/packet"
)

// PFCNetwork returns Figure 3 of the PFC draft with the detour of its Figure 2: DC1 - R1 - R2 - R3
// - DC2, and R1 - R4 - R5 - R3. Only R1 and R3 handle PFC. Each data center also has a host of a
// second tenant (B1, B2). delay is the one-way delay from R1 to R3, rate the rate of the WAN in
// bit/s.
func PFCNetwork(delay time.Duration, rate uint64) Network {
	return pfcNetwork("pfc", "R3", delay, rate, []Link{
		{A: "R1", B: "R2"}, {A: "R2", B: "R3"},
		{A: "R1", B: "R4", Metric: 20}, {A: "R4", B: "R5"}, {A: "R5", B: "R3"},
	})
}

// PFCFigure2 returns Figure 2 of the PFC draft as drawn: DC1 - R1 - R2 - R5 - DC2, and R1 - R3 - R4
// - R5. Only R1 and R5 handle PFC. Hosts, delay and rate are as of [PFCNetwork].
func PFCFigure2(delay time.Duration, rate uint64) Network {
	return pfcNetwork("pfc-figure2", "R5", delay, rate, []Link{
		{A: "R1", B: "R2"}, {A: "R2", B: "R5"},
		{A: "R1", B: "R3"}, {A: "R3", B: "R4"}, {A: "R4", B: "R5"},
	})
}

// pfcNetwork returns five switches with links of half the delay each, of which R1 and far handle
// PFC and have two hosts each.
func pfcNetwork(name, far string, delay time.Duration, rate uint64, links []Link) Network {
	n := Network{Name: name, Links: links}
	for _, name := range []string{"R1", "R2", "R3", "R4", "R5"} {
		n.Switches = append(n.Switches, Switch{Name: name, PFC: name == "R1" || name == far})
	}
	for i := range n.Links {
		n.Links[i].Delay, n.Links[i].Rate = delay/2, rate
	}
	for _, h := range [][2]string{{"DC1", "R1"}, {"B1", "R1"}, {far, "DC2"}, {far, "B2"}} {
		n.Links = append(n.Links, Link{A: h[0], B: h[1], Delay: time.Microsecond, Rate: rate})
	}
	for _, name := range []string{"DC1", "DC2", "B1", "B2"} {
		n.Hosts = append(n.Hosts, Host{Name: name})
	}
	return n
}

// TunnelledPFC returns the PFC frame that a frame carries in a tunnel; ok is false for any other.
func TunnelledPFC(frame []byte) (pfc packet.PFC, ok bool) {
	p, _, err := packet.ParseSRv6Frame(frame)
	if err == nil {
		_, err = pfc.ParseFrame(p.Frame)
	}
	return pfc, err == nil
}
