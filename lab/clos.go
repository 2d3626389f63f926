package lab

import (
	"fmt"
	"time"
)

// ClosConfig describes a fabric of planes: in each, every T0 has a link to every T1, and every
// host a port on a T0 of each plane (OCP MRC 1.0, §9.3.4 and §11.5).
type ClosConfig struct {
	Planes int           // default 2
	T0     int           // a plane; default 4
	T1     int           // a plane; default 4
	Hosts  int           // spread evenly over the T0s, the same in each plane; default 16
	Rate   uint64        // of every link, bits a second; default no limit
	Delay  time.Duration // of every link, one way
}

func (c ClosConfig) withDefaults() ClosConfig {
	for _, f := range []struct {
		field *int
		value int
	}{{&c.Planes, 2}, {&c.T0, 4}, {&c.T1, 4}, {&c.Hosts, 16}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return c
}

// Clos is a fabric of MRC hosts. Switches are P1-T0-1 and so on: plane, tier and number; hosts are
// H1 and so on.
func Clos(c ClosConfig) Network {
	c = c.withDefaults()
	n := Network{Name: "clos"}
	name := func(plane, tier, i int) string { return fmt.Sprintf("P%d-T%d-%d", plane, tier, i) }
	link := func(a, b string) { n.Links = append(n.Links, Link{A: a, B: b, Rate: c.Rate, Delay: c.Delay}) }
	for h := range c.Hosts {
		n.Hosts = append(n.Hosts, Host{Name: fmt.Sprintf("H%d", h+1), Transport: MRC})
	}
	for p := 1; p <= c.Planes; p++ {
		for i := 1; i <= c.T0; i++ {
			n.Switches = append(n.Switches, Switch{Name: name(p, 0, i)})
		}
		for i := 1; i <= c.T1; i++ {
			n.Switches = append(n.Switches, Switch{Name: name(p, 1, i)})
			for j := 1; j <= c.T0; j++ {
				link(name(p, 0, j), name(p, 1, i))
			}
		}
		for h := range n.Hosts {
			link(name(p, 0, 1+h*c.T0/c.Hosts), n.Hosts[h].Name)
		}
	}
	return n
}
