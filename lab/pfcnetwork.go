package lab

import (
	"time"

	"github.com/weft-sdn/weft/packet"
)

// PFCNetwork is Figure 3 of the PFC draft with the detour of its Figure 2: DC1 - R1 - R2 - R3 -
// DC2, and R1 - R4 - R5 - R3. R1 and R3 handle PFC, the others know nothing of it. Each data center
// has the host of another tenant too (B1, B2). delay is one way from R1 to R3, rate that of the WAN
// in bit/s.
func PFCNetwork(delay time.Duration, rate uint64) Network {
	n := Network{Name: "pfc"}
	for _, name := range []string{"R1", "R2", "R3", "R4", "R5"} {
		n.Switches = append(n.Switches, Switch{Name: name, PFC: name == "R1" || name == "R3"})
	}
	for _, name := range []string{"DC1", "DC2", "B1", "B2"} {
		n.Hosts = append(n.Hosts, Host{Name: name})
	}
	n.Links = []Link{
		{A: "R1", B: "R2", Delay: delay / 2, Rate: rate},
		{A: "R2", B: "R3", Delay: delay - delay/2, Rate: rate},
		{A: "R1", B: "R4", Delay: delay / 2, Rate: rate, Metric: 20},
		{A: "R4", B: "R5", Delay: delay / 2, Rate: rate},
		{A: "R5", B: "R3", Delay: delay / 2, Rate: rate},
		{A: "DC1", B: "R1", Delay: time.Microsecond, Rate: rate},
		{A: "B1", B: "R1", Delay: time.Microsecond, Rate: rate},
		{A: "R3", B: "DC2", Delay: time.Microsecond, Rate: rate},
		{A: "R3", B: "B2", Delay: time.Microsecond, Rate: rate},
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
