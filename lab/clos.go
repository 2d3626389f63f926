package lab

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// ClosConfig describes a fabric of planes (OCP MRC 1.0, §9.3.4 and §11.5). In each, every T0 has a
// link to every T1, and every host a port on a T0 of each plane. With three tiers a plane is
// divided into pods: a T0 has links to the T1s of its pod only, and every T1 to every T2. Start
// from the zero value.
type ClosConfig struct {
	Planes int // 1 to packet.MaxPort; default 2
	Tiers  int // of switches, 2 or 3; default 2
	T0     int // a plane; default 4
	T1     int // a plane; default 4
	// with 3 tiers, over which the T0s and T1s of a plane are spread evenly; default 2
	Pods  int
	T2    int // with 3 tiers, a plane; default as many as a T1 has T0s
	Hosts int // spread evenly over the T0s, the same in each plane; default 16
	// IPv4 gives hosts IPv4 addresses, 10.1.h.l for the number h*256 + l of the host, from 1; for mode
	// ecmp alone.
	IPv4  bool
	Rate  uint64        // of every link, bits a second; default no limit
	Delay time.Duration // of every link, one way
}

// WithDefaults returns the configuration with a value for every field that has a default but rate
// and delay.
func (c ClosConfig) WithDefaults() ClosConfig {
	set := func(field *int, value int) {
		if *field == 0 {
			*field = value
		}
	}
	set(&c.Planes, 2)
	set(&c.Tiers, 2)
	set(&c.T0, 4)
	set(&c.T1, 4)
	set(&c.Hosts, 16)
	if c.Tiers == 3 {
		set(&c.Pods, min(2, c.T0, c.T1))
		if c.Pods > 0 {
			set(&c.T2, (c.T0+c.Pods-1)/c.Pods)
		}
	}
	return c
}

// Validate names the first field that cannot be used; the error wraps ErrNetwork.
func (c ClosConfig) Validate() error {
	c = c.WithDefaults()
	for _, f := range []struct {
		name        string
		value       int
		least, most int
	}{
		{"planes", c.Planes, 1, packet.MaxPort}, {"tiers", c.Tiers, 2, 3}, {"t0", c.T0, 1, maxPort},
		{"t1", c.T1, 1, maxPort},
		{"pods", c.Pods, c.Tiers - 2, (c.Tiers - 2) * min(c.T0, c.T1)},
		{"t2", c.T2, c.Tiers - 2, (c.Tiers - 2) * maxPort},
		{"hosts", c.Hosts, c.T0, maxNodes},
	} {
		if f.value < f.least || f.value > f.most {
			why := ""
			if f.most == maxPort {
				why = " in a lab: a v1model switch has 9 bits for ports, some of which are reserved"
			}
			return &FieldError{Field: f.name, Problem: fmt.Sprintf("is %d: want %d to %d%s", f.value,
				f.least, f.most, why)}
		}
	}
	return nil
}

// Clos is a fabric of MRC hosts. Switches are P1-T0-1 and so on: plane, tier and number; hosts are
// H1 and so on. The configuration must be valid.
func Clos(c ClosConfig) Network {
	c = c.WithDefaults()
	n := Network{Name: "clos"}
	name := func(plane, tier, i int) string { return fmt.Sprintf("P%d-T%d-%d", plane, tier, i) }
	link := func(a, b string) {
		n.Links = append(n.Links, Link{A: a, B: b, Rate: c.Rate, Delay: c.Delay})
	}
	for h := range c.Hosts {
		host := Host{Name: fmt.Sprintf("H%d", h+1), Transport: MRC}
		if c.IPv4 {
			host.Address = netip.AddrFrom4([4]byte{10, 1, byte((h + 1) >> 8), byte(h + 1)})
		}
		n.Hosts = append(n.Hosts, host)
	}
	for p := 1; p <= c.Planes; p++ {
		for i := 1; i <= c.T0; i++ {
			n.Switches = append(n.Switches, Switch{Name: name(p, 0, i)})
		}
		for i := 1; i <= c.T1; i++ {
			n.Switches = append(n.Switches, Switch{Name: name(p, 1, i)})
			for j := 1; j <= c.T0; j++ {
				if c.Pod(i, c.T1) == c.Pod(j, c.T0) {
					link(name(p, 0, j), name(p, 1, i))
				}
			}
		}
		for i := 1; i <= c.T2; i++ {
			n.Switches = append(n.Switches, Switch{Name: name(p, 2, i)})
			for j := 1; j <= c.T1; j++ {
				link(name(p, 1, j), name(p, 2, i))
			}
		}
		for h := range n.Hosts {
			link(name(p, 0, c.Leaf(h)), n.Hosts[h].Name)
		}
	}
	return n
}

// Pod returns the pod, from 1, of a plane's i-th switch among the given number of switches; all
// switches of two tiers are in pod 0.
func (c ClosConfig) Pod(i, of int) int { return (i - 1) * c.Pods / of }

// Leaf returns the number of the T0s of the h-th host, from 0.
func (c ClosConfig) Leaf(h int) int { return 1 + h*c.T0/c.Hosts }

// demoLoad bounds the rate of all host ports together, in bits a second: one core of a small
// machine carries this load over all hops in a third of its time.
const demoLoad = 640e6

// DemoLinks returns links for a fabric in real time: slow enough for a processor that runs all
// switches and hosts, and long enough for a noticeable bandwidth-delay product.
func DemoLinks(c ClosConfig) (rate uint64, delay time.Duration) {
	c = c.WithDefaults()
	const most, step = 100_000_000, 100_000
	rate = min(most, max(step, uint64(demoLoad)/uint64(c.Hosts*c.Planes)/step*step))
	packet := time.Duration(writeWire * 8 * uint64(time.Second) / rate)
	return rate, (packet * 3 / 2).Round(100 * time.Microsecond)
}
