package underlay

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/plan/node"
	"github.com/weft-sdn/weft/southbound/entry"
	sonicswitch "github.com/weft-sdn/weft/southbound/sonic"
	"github.com/weft-sdn/weft/southbound/target"
	"github.com/weft-sdn/weft/southbound/target/sonic"
	"github.com/weft-sdn/weft/store"
)

// A switch without P4 gets configuration rows, made from the model of the switch (package node) for
// the operating system of the switch (package target). The rows have the same owner as links: they
// need no order, because the switch applies a change as a whole.
//
// The rows of a switch without P4 do not show who wrote them. So the controller keeps a record of
// the rows that it has wanted on the switch, and removes only rows in the record.

// renderers make rows of what a switch is, by system.
var renderers = map[target.System]func(*target.Device, *api.SwitchModel) []entry.Entity{
	target.SONiC: sonicRows,
	target.Linux: sonicRows, // its agent has the same tables
}

func sonicRows(d *target.Device, m *api.SwitchModel) (out []entry.Entity) {
	for _, t := range sonic.Config(d, m) {
		for _, r := range t.Rows {
			var cells []entry.Cell
			for _, f := range r.Fields {
				c := entry.CellOf(f.Name, f.Value)
				if f.List != nil {
					c = entry.Cell{Name: f.Name, Values: f.List, List: true}
				}
				cells = append(cells, c)
			}
			for _, e := range sonicswitch.Rows(entry.RowOf(t.Name, r.Key, cells...)) {
				out = append(out, e)
			}
		}
	}
	return out
}

// rowsPrefix begins the keys of the records of rows, one record a switch.
const rowsPrefix = "rows/"

var _ = store.Form[[]entry.Key](rowsPrefix)

// rows notes the rows that this controller, or an earlier controller on the same store, has wanted
// on switches.
type rows struct {
	wanted map[string]map[entry.Key]bool // by switch; those that may be there still
	change map[string]bool               // switches whose records must be written

	// made holds the last inputs of the rows, by switch: new inputs make new rows.
	made map[string]made
}

// made holds the inputs of the rows of a switch, and the rows.
type made struct {
	assignment *ev.Assignment
	inventory  *inventory.Inventory
	network    *plan.Network // nil: the topology does not matter
	findings   []target.Finding
	rows       []entry.Entity
}

func newRows() rows {
	return rows{wanted: make(map[string]map[entry.Key]bool), change: make(map[string]bool),
		made: make(map[string]made)}
}

// own reports whether a controller on this store has wanted a row.
func (r *rows) own(sw string, k entry.Key) bool { return r.wanted[sw][k] }

// want notes that rows are wanted.
func (r *rows) want(sw string, entities []entry.Entity) {
	of := r.wanted[sw]
	if of == nil {
		of = make(map[entry.Key]bool)
		r.wanted[sw] = of
	}
	for _, e := range entities {
		if k := e.Key(); !of[k] {
			of[k], r.change[sw] = true, true
		}
	}
}

// forget drops the state of removed switches and keeps their records: a switch that returns still
// owns its rows.
func (r *rows) forget(exists func(sw string) bool) {
	maps.DeleteFunc(r.made, func(sw string, _ made) bool { return !exists(sw) })
}

// planRows plans the rows of a switch without P4. Until the controller takes the topology for the
// whole network, the switch keeps its rows: rows made from a part of the topology would remove the
// remaining rows.
func (f *Feature) planRows(sw *inventory.Switch) {
	if !f.Released() {
		return
	}
	a := f.Assignment()
	is := made{assignment: a, inventory: f.inv(), network: f.env.Net}
	if a != nil && a.Format().Mode.SRv6() {
		is.network = nil // what a switch is does not change when a link is lost
	}
	if was, ok := f.rows.made[sw.Name]; ok && was.assignment == is.assignment &&
		was.inventory == is.inventory && was.network == is.network {
		return
	}
	m := node.Of(node.Fabric{Network: f.env.Net, Assignment: a}, sw, nil)
	d := sw.Target()
	is.findings = d.Lint(&m)
	is.rows = renderers[sw.System](&d, &m)
	f.rows.made[sw.Name] = is
	f.rows.want(sw.Name, is.rows)
	f.env.Want.Set(sw.Name, links, is.rows, nil)
}

// forgetRows forgets the rows of a switch that are neither wanted nor present any more: rows from
// another writer under equal keys do not belong to this controller.
func (f *Feature) forgetRows(sw string) {
	is, known := f.rows.made[sw]
	if !known || !f.env.Switches.Connected(sw) {
		return // it is not known yet what is wanted, or what is there
	}
	wanted := make(map[entry.Key]bool, len(is.rows))
	for _, e := range is.rows {
		wanted[e.Key()] = true
	}
	for k := range f.rows.wanted[sw] {
		if _, held := f.env.Switches.Entity(sw, k); !held && !wanted[k] {
			delete(f.rows.wanted[sw], k)
			f.rows.change[sw] = true
		}
	}
}

// Findings returns the wanted functions that a switch without P4 lacks or does wrong.
func (f *Feature) Findings(sw string) []target.Finding {
	out := f.rows.made[sw].findings
	if s := f.inv().Switch(sw); s != nil && !s.RunsP4() && len(f.env.Net.Isolated()) > 0 &&
		len(f.env.Net.HostsAt(sw)) > 0 { // a project that was there before the switch
		out = append(slices.Clone(out), target.Finding{Severity: target.Cannot,
			Text: "isolation of projects: only the P4 program does it"})
	}
	return out
}

// Load implements feature.Feature.
func (f *Feature) Load(r store.Record) (ok bool, err error) {
	sw, ok := strings.CutPrefix(r.Key, rowsPrefix)
	if !ok {
		return false, nil
	}
	var keys []entry.Key
	if err := json.Unmarshal(r.Value, &keys); err != nil {
		return true, err
	}
	of := make(map[entry.Key]bool, len(keys))
	for _, k := range keys {
		of[k] = true
	}
	f.rows.wanted[sw] = of
	return true, nil
}

// Changes implements feature.Feature.
func (f *Feature) Changes() (out []store.Op) {
	for _, sw := range slices.Sorted(maps.Keys(f.rows.change)) {
		out = append(out, store.Op{Key: rowsPrefix + sw, Value: f.rows.record(sw)})
	}
	clear(f.rows.change)
	return out
}

// Records implements feature.Feature.
func (f *Feature) Records() (out []store.Record) {
	for _, sw := range slices.Sorted(maps.Keys(f.rows.wanted)) {
		out = append(out, store.Record{Key: rowsPrefix + sw, Value: f.rows.record(sw)})
	}
	return out
}

func (r *rows) record(sw string) []byte {
	b, err := json.Marshal(slices.Sorted(maps.Keys(r.wanted[sw])))
	if err != nil {
		panic(fmt.Sprintf("underlay: record cannot be written: %v", err)) // a list of strings
	}
	return b
}
