package engine

import "github.com/weft-sdn/weft/dataplane/ir"

// Program is a loaded P4 program: immutable, and safe to share between any
// number of switches.
type Program struct {
	info       programInfo
	layout     ir.Layout
	errors     errorCodes
	std        stdFields
	digests    []digest
	actions    []*action
	tables     []*matchTable
	profiles   []*profile
	parser     parser
	ingress    pipeline
	egress     pipeline
	deparser   deparser
	told       programTrace
	keyWords   int // of the widest table key; at least 1
	closures   []closure
	translated *Translation // nil: all is interpreted
	paths      bool         // packets may follow the paths of others
}

// programInfo is what the control plane may know of a program.
type programInfo struct {
	tables    []TableInfo
	actions   []ActionInfo
	profiles  []ProfileInfo
	counters  []CounterInfo
	meters    []MeterInfo
	registers []RegisterInfo
	valueSets []ValueSetInfo
	digests   []DigestInfo
}

// Tables lists the tables; a table's index is its table index. The result and
// those of the methods below must not be changed.
func (p *Program) Tables() []TableInfo { return p.info.tables }

// Actions lists the actions.
func (p *Program) Actions() []ActionInfo { return p.info.actions }

// Profiles lists the action profiles and selectors.
func (p *Program) Profiles() []ProfileInfo { return p.info.profiles }

// Headers lists the headers of packets.
func (p *Program) Headers() []HeaderInfo {
	var out []HeaderInfo
	for _, h := range p.layout.Headers {
		if h.Meta {
			continue
		}
		info := HeaderInfo{Name: h.Name}
		for _, f := range h.Type.Fields {
			info.Fields = append(info.Fields, ParamInfo{Name: f.Name, Width: f.Width})
		}
		out = append(out, info)
	}
	return out
}

// Counters lists the counter arrays, direct ones included.
func (p *Program) Counters() []CounterInfo { return p.info.counters }

// Meters lists the meter arrays, direct ones included.
func (p *Program) Meters() []MeterInfo { return p.info.meters }

// Registers lists the register arrays.
func (p *Program) Registers() []RegisterInfo { return p.info.registers }

// ValueSets lists the parser value sets.
func (p *Program) ValueSets() []ValueSetInfo { return p.info.valueSets }

// Digests lists the digests.
func (p *Program) Digests() []DigestInfo { return p.info.digests }

// ReleaseEntries makes the entries that come with the program for a table ones
// that can be changed, in a table of size entries at least: BMv2 JSON does not
// tell const entries from others and leaves no room for more, P4Info knows
// better. It is for a program that no switch runs yet.
func (p *Program) ReleaseEntries(table, size int) {
	t, info := p.tables[table], &p.info.tables[table]
	t.constEntries, info.ConstEntries = false, false
	t.size = max(t.size, size)
	info.Size = t.size
}

// Translated reports whether packets that are not traced run a Translation.
func (p *Program) Translated() bool { return p.translated != nil }
