package neighbor

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/store"
)

// recordPrefix begins the keys of bindings; the address follows.
const recordPrefix = "neighbors/"

// record is what the store keeps of a binding.
type record struct {
	Switch string    `json:"switch"`
	Port   uint32    `json:"port"`
	MAC    string    `json:"mac"`
	Since  time.Time `json:"since"`
}

// Load implements feature.Feature.
func (f *Feature) Load(r store.Record) (ok bool, err error) {
	text, ok := strings.CutPrefix(r.Key, recordPrefix)
	if !ok {
		return false, nil
	}
	var v record
	if err := json.Unmarshal(r.Value, &v); err != nil {
		return true, fmt.Errorf("neighbor: %w", err)
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return true, fmt.Errorf("neighbor: %w", err)
	}
	mac, err := packet.ParseMAC(v.MAC)
	if err != nil {
		return true, fmt.Errorf("neighbor: %w", err)
	}
	f.table.Load(f.env.Now, Binding{Address: a, At: At{v.Switch, v.Port}, MAC: mac,
		Since: v.Since.Sub(f.env.Start)})
	return true, nil
}

// Start implements feature.Feature. What was bound is so from the first plan on.
func (f *Feature) Start() {
	f.table.Take()
	f.stale = true
}

func (f *Feature) encode(b *Binding) []byte {
	return resource.Encode(record{b.At.Switch, b.At.Port, b.MAC.String(),
		f.env.Start.Add(b.Since).UTC()})
}

// Changes implements feature.Feature.
func (f *Feature) Changes() []store.Op {
	var out []store.Op
	for _, a := range slices.SortedFunc(maps.Keys(f.unsaved), netip.Addr.Compare) {
		op := store.Op{Key: recordPrefix + a.String()}
		if b, ok := f.table.Binding(a); ok && b.Sure {
			op.Value = f.encode(&b)
		}
		out = append(out, op)
	}
	clear(f.unsaved)
	return out
}

// Records implements feature.Feature.
func (f *Feature) Records() []store.Record {
	var out []store.Record
	for _, b := range f.table.Bound() {
		out = append(out, store.Record{Key: recordPrefix + b.Address.String(), Value: f.encode(&b)})
	}
	return out
}
