package gnmi

import (
	"strconv"
	"time"
)

// Values of admin-status and oper-status (openconfig-interfaces).
const (
	statusUp   = "UP"
	statusDown = "DOWN"
)

func upOrDown(up bool) any {
	if up {
		return statusUp
	}
	return statusDown
}

// orNone is a value, or none for the zero value.
func orNone[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

// ethernetPort is the type of every port (iana-if-type, RFC 7224).
var ethernetPort = identity{"iana-if-type", "ethernetCsmacd"}

const (
	moduleInterfaces = "openconfig-interfaces"
	moduleEthernet   = "openconfig-if-ethernet"
	moduleP4RT       = "openconfig-p4rt"
	modulePFC        = "weft-pfc"
)

func interfaceTables() {
	name := func(r *row) any { return r.port.Name }
	number := func(r *row) any { return r.port.Number }
	count := func(path string, of func(*Counters) uint64) leaf {
		return value(counter, path, func(r *row) any {
			if r.port.Counters == nil {
				return nil
			}
			return of(r.port.Counters)
		})
	}
	mac := func(r *row) any {
		if r.port.MAC == nil {
			return nil
		}
		return r.port.MAC.String()
	}
	define(moduleInterfaces+":interfaces/interface[name]", 0, eachPort,
		value(state, "name", name),
		fixed("config/name", name),
		fixed("config/type", func(*row) any { return ethernetPort }),
		settable("config/mtu", mtuSetting, func(r *row) any { return orNone(uint32(r.settings.MTU)) }),
		settable("config/description", descriptionSetting, func(r *row) any {
			return orNone(r.settings.Description)
		}),
		settable("config/enabled", enabledSetting, func(r *row) any { return !r.settings.Disabled }),
		fixed("config/"+moduleP4RT+":id", number),
		value(applied, "state/name", name),
		value(applied, "state/type", func(*row) any { return ethernetPort }),
		value(applied, "state/mtu", func(r *row) any { return orNone(uint32(r.port.MTU)) }),
		value(applied, "state/description", func(r *row) any { return orNone(r.settings.Description) }),
		value(applied, "state/enabled", func(r *row) any { return !r.settings.Disabled }),
		value(state, "state/ifindex", number),
		value(applied, "state/"+moduleP4RT+":id", number),
		value(state, "state/admin-status", func(r *row) any { return upOrDown(!r.settings.Disabled) }),
		value(state, "state/oper-status", func(r *row) any { return upOrDown(r.port.Up) }),
		value(state, "state/last-change", func(r *row) any { return uint64(r.link.changed.UnixNano()) }),
		value(state, "state/management", func(*row) any { return false }),
		value(state, "state/cpu", func(*row) any { return false }),
		count("state/counters/in-pkts", func(c *Counters) uint64 { return c.InPackets }),
		count("state/counters/in-octets", func(c *Counters) uint64 { return c.InOctets }),
		count("state/counters/in-discards", func(c *Counters) uint64 { return c.InDiscards }),
		count("state/counters/in-errors", func(c *Counters) uint64 { return c.InErrors }),
		count("state/counters/out-pkts", func(c *Counters) uint64 { return c.OutPackets }),
		count("state/counters/out-octets", func(c *Counters) uint64 { return c.OutOctets }),
		count("state/counters/out-discards", func(c *Counters) uint64 { return c.OutDiscards }),
		count("state/counters/out-errors", func(c *Counters) uint64 { return c.OutErrors }),
		value(state, "state/counters/carrier-transitions", func(r *row) any {
			return r.link.transitions
		}),
		value(state, "state/counters/interface-transitions", func(r *row) any {
			return r.link.transitions
		}),
		settable(moduleEthernet+":ethernet/config/auto-negotiate", autoNegotiateSetting,
			func(r *row) any { return r.settings.AutoNegotiate.value() }),
		settable(moduleEthernet+":ethernet/config/port-speed", speedSetting, func(r *row) any {
			if r.settings.Speed == 0 {
				return nil
			}
			return speedOf(r.settings.Speed)
		}),
		value(applied, moduleEthernet+":ethernet/state/mac-address", mac),
		value(state, moduleEthernet+":ethernet/state/hw-mac-address", mac),
		value(applied, moduleEthernet+":ethernet/state/auto-negotiate", func(r *row) any {
			return r.port.AutoNegotiate.value()
		}),
		value(applied, moduleEthernet+":ethernet/state/port-speed", func(r *row) any {
			return speedOf(r.port.Speed)
		}),
		count(moduleEthernet+":ethernet/state/counters/in-oversize-frames", func(c *Counters) uint64 {
			return c.InErrors
		}),
	)

	pfc := func(path string, of func(*Priority) uint64) leaf {
		return value(counter, path, func(r *row) any { return of(r.priority) })
	}
	id := func(r *row) any { return uint32(r.id & 0xff) }
	define(moduleInterfaces+":interfaces/interface[name]/"+moduleEthernet+":ethernet/"+modulePFC+
		":priority-flow-control/priorities/priority[id]",
		PFC, eachPriority,
		value(state, "id", id),
		value(state, "state/id", id),
		pfc("state/in-pause-frames", func(p *Priority) uint64 { return p.InPause }),
		pfc("state/in-resume-frames", func(p *Priority) uint64 { return p.InResume }),
		pfc("state/out-pause-frames", func(p *Priority) uint64 { return p.OutPause }),
		pfc("state/out-resume-frames", func(p *Priority) uint64 { return p.OutResume }),
		pfc("state/upstream-pause-frames", func(p *Priority) uint64 { return p.UpstreamPause }),
		pfc("state/upstream-resume-frames", func(p *Priority) uint64 { return p.UpstreamResume }),
	)
}

// value is a Choice as the value of a leaf.
func (c Choice) value() any {
	if c == Unset {
		return nil
	}
	return c == Yes
}

// link is what the server knows of the link of a port.
type link struct {
	changed     time.Time // last; when the switch started if never
	transitions uint64    // up and down
}

func eachPort(v *view, f func(*row)) {
	for i := range v.ports {
		p := &v.ports[i]
		f(v.row(p, 0, p.Name))
	}
}

func eachPriority(v *view, f func(*row)) {
	for i := range v.ports {
		p := &v.ports[i]
		for n := range p.Priorities {
			r := v.row(p, n, p.Name, strconv.Itoa(n))
			r.priority = &p.Priorities[n]
			f(r)
		}
	}
}

// row returns the row of a port, or of a part of the port with a number below 256.
func (v *view) row(p *Port, n int, keys ...string) *row {
	r := &row{id: uint64(p.Number)<<8 | uint64(n), group: uint64(p.Number), keys: keys, view: v,
		port: p, settings: v.settings[p.Number]}
	var ok bool
	if r.link, ok = v.links[p.Number]; !ok {
		r.link.changed = v.system.Started
	}
	return r
}
