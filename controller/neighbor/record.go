package neighbor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/store"
)

// recordPrefix begins the keys of bindings; the address follows, and of the ports of a host beyond
// its first a slash and their number, from 2.
const recordPrefix = "neighbors/"

// record is a binding in the store.
type record struct {
	Switch string    `json:"switch"`
	Port   uint32    `json:"port"`
	MAC    string    `json:"mac"`
	Since  time.Time `json:"since"`
}

var _ = store.Form[record](recordPrefix)

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
	text, number, beyond := strings.Cut(text, "/")
	port := 0
	if beyond {
		n, err := strconv.ParseUint(number, 10, 8)
		if err != nil || n < 2 || n > hostapi.MaxPort {
			return true, fmt.Errorf("neighbor: port %q of a host: want 2 to %d", number, hostapi.MaxPort)
		}
		port = int(n) - 1
	}
	a, err := netip.ParseAddr(text)
	if err != nil {
		return true, fmt.Errorf("neighbor: %w", err)
	}
	mac, err := packet.ParseMAC(v.MAC)
	if err != nil {
		return true, fmt.Errorf("neighbor: %w", err)
	}
	f.table(port).Load(f.env.Now, Binding{Address: a, At: At{v.Switch, v.Port}, MAC: mac,
		Since: v.Since.Sub(f.env.Start)})
	return true, nil
}

// Start implements feature.Feature. Stored bindings hold from the first plan on.
func (f *Feature) Start() {
	for _, t := range f.tables {
		t.Take()
	}
	f.stale = true
}

func (f *Feature) encode(b *Binding) []byte {
	return resource.Encode(record{b.At.Switch, b.At.Port, b.MAC.String(),
		f.env.Start.Add(b.Since).UTC()})
}

func (b bound) compare(c bound) int {
	return cmp.Or(b.address.Compare(c.address), cmp.Compare(b.port, c.port))
}

func (b bound) key() string {
	if b.port == 0 {
		return recordPrefix + b.address.String()
	}
	return fmt.Sprintf("%s%v/%d", recordPrefix, b.address, b.port+1)
}

// Changes implements feature.Feature.
func (f *Feature) Changes() []store.Op {
	var out []store.Op
	for _, x := range slices.SortedFunc(maps.Keys(f.unsaved), bound.compare) {
		op := store.Op{Key: x.key()}
		if b, ok := f.table(x.port).Binding(x.address); ok && b.Sure {
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
	for port, t := range f.tables {
		for _, b := range t.Bound() {
			out = append(out, store.Record{Key: bound{b.Address, port}.key(), Value: f.encode(&b)})
		}
	}
	return out
}
