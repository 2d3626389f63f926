package gnmi

import "time"

// System has the facts about a switch that do not change while the switch runs.
type System struct {
	// Hostname is the name of the switch.
	Hostname string
	// Software is the version of what runs; "": unknown.
	Software string
	// DeviceID is the id of P4Runtime.
	DeviceID uint64
	// Started is when the switch did.
	Started time.Time
}

const (
	modulePlatform      = "openconfig-platform"
	modulePlatformTypes = "openconfig-platform-types"
	moduleSystem        = "openconfig-system"
)

// A component of the switch (openconfig-platform).
type component struct {
	name, class, description string
}

var components = []component{
	{"chassis", "CHASSIS", "Weft embedded P4 switch"},
	{"os", "OPERATING_SYSTEM", "Weft"},
	{"asic", "INTEGRATED_CIRCUIT", "P4 data plane (v1model, BMv2 JSON)"},
}

func (c *component) is(class string) bool { return c.class == class }

func platformTables() {
	name := func(r *row) any { return r.part.name }
	node := func(r *row) any {
		if !r.part.is("INTEGRATED_CIRCUIT") {
			return nil
		}
		return r.view.system.DeviceID
	}
	define(modulePlatform+":components/component[name]", 0, eachComponent,
		value(state, "name", name),
		fixed("config/name", name),
		value(applied, "state/name", name),
		value(state, "state/type", func(r *row) any {
			return identity{modulePlatformTypes, r.part.class}
		}),
		value(state, "state/description", func(r *row) any { return r.part.description }),
		value(state, "state/oper-status", func(*row) any {
			return identity{modulePlatformTypes, "ACTIVE"}
		}),
		value(state, "state/software-version", func(r *row) any {
			if r.part.is("INTEGRATED_CIRCUIT") {
				return nil
			}
			return orNone(r.view.system.Software)
		}),
		fixed("integrated-circuit/config/"+moduleP4RT+":node-id", node),
		value(applied, "integrated-circuit/state/"+moduleP4RT+":node-id", node),
	)
}

func eachComponent(v *view, f func(*row)) {
	for i := range components {
		c := &components[i]
		f(&row{id: uint64(i), group: uint64(i), keys: []string{c.name}, view: v, part: c})
	}
}

func systemTables() {
	hostname := func(r *row) any { return orNone(r.view.system.Hostname) }
	define(moduleSystem+":system", 0, func(v *view, f func(*row)) { f(&row{view: v}) },
		fixed("config/hostname", hostname),
		value(applied, "state/hostname", hostname),
		value(counter, "state/current-datetime", func(r *row) any {
			return r.view.at.UTC().Format(time.RFC3339Nano)
		}),
		value(state, "state/boot-time", func(r *row) any {
			return uint64(r.view.system.Started.UnixNano())
		}),
		value(counter, "state/up-time", func(r *row) any {
			return uint64(r.view.at.Sub(r.view.system.Started))
		}),
		value(state, "state/software-version", func(r *row) any {
			return orNone(r.view.system.Software)
		}),
	)
}
