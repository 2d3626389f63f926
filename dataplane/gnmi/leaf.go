package gnmi

// A leaf of an interface, in the order in which leaves are told.
type leaf struct {
	path    []string // below /interfaces/interface[name=…]
	counter bool
	// value is a string, uint32 or uint64; nil: the port has no such leaf.
	value func(*Port) any
}

// Values of admin-status and oper-status (openconfig-interfaces).
const (
	statusUp   = "UP"
	statusDown = "DOWN"
)

var leaves = []leaf{
	{path: []string{"name"}, value: func(p *Port) any { return p.Name }},
	{path: []string{"state", "name"}, value: func(p *Port) any { return p.Name }},
	{path: []string{"state", "ifindex"}, value: func(p *Port) any { return p.Number }},
	{path: []string{"state", "id"}, value: func(p *Port) any { return p.Number }},
	{path: []string{"state", "admin-status"}, value: func(*Port) any { return statusUp }},
	{path: []string{"state", "oper-status"}, value: func(p *Port) any {
		if p.Up {
			return statusUp
		}
		return statusDown
	}},
	counter("in-pkts", func(c *Counters) uint64 { return c.InPackets }),
	counter("in-octets", func(c *Counters) uint64 { return c.InOctets }),
	counter("in-discards", func(c *Counters) uint64 { return c.InDiscards }),
	counter("in-errors", func(c *Counters) uint64 { return c.InErrors }),
	counter("out-pkts", func(c *Counters) uint64 { return c.OutPackets }),
	counter("out-octets", func(c *Counters) uint64 { return c.OutOctets }),
	counter("out-discards", func(c *Counters) uint64 { return c.OutDiscards }),
}

func counter(name string, count func(*Counters) uint64) leaf {
	return leaf{path: []string{"state", "counters", name}, counter: true, value: func(p *Port) any {
		if p.Counters == nil {
			return nil
		}
		return count(p.Counters)
	}}
}
