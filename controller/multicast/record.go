package multicast

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/controller/feature"
	"github.com/weft-sdn/weft/controller/multicast/member"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/store"
)

// Keys of the other records. A group under removal is no longer a resource. A separate record keeps
// the tree of the group until the tree has left the switches.
const (
	leavingPrefix = "leaving-groups/"
	epochPrefix   = "epochs/"
)

// The decisions about a group that is not under removal also use the form of the first.
var (
	_ = store.Form[treeRecord](leavingPrefix)
	_ = store.Form[uint32](epochPrefix)
)

// treeRecord holds the decisions of the controller about a group. Placements holds equal placements
// only once; the other fields are indexes into Placements, -1 for no placement.
type treeRecord struct {
	Index   uint16       `json:"index"`
	Job     string       `json:"job,omitempty"`
	Evicted []netip.Addr `json:"evicted,omitempty"`
	member.Hosts
	Token      string            `json:"token,omitempty"`
	Adopted    bool              `json:"adopted,omitempty"`
	Phase      phase             `json:"phase"`
	Placements []*tree.Placement `json:"placements"`
	Target     int               `json:"target"`
	Queued     int               `json:"queued"`
	Resp       int               `json:"resp"`
	Data       int               `json:"data"`
	OldResp    int               `json:"oldResp"`
	OldData    int               `json:"oldData"`
}

// MarshalJSON implements json.Marshaler.
func (g *group) MarshalJSON() ([]byte, error) {
	r := treeRecord{Index: g.index, Phase: g.phase, Evicted: g.evictedList(), Adopted: g.adopted,
		Job: g.job, Hosts: g.Hosts, Token: g.token}
	put := func(p *tree.Placement) int {
		if p == nil {
			return -1
		}
		if i := slices.Index(r.Placements, p); i >= 0 {
			return i
		}
		r.Placements = append(r.Placements, p)
		return len(r.Placements) - 1
	}
	r.Target, r.Queued = put(g.target), put(g.queued)
	r.Resp, r.Data, r.OldResp, r.OldData = put(g.resp), put(g.data), put(g.oldResp), put(g.oldData)
	return json.Marshal(r)
}

// UnmarshalJSON implements json.Unmarshaler.
func (g *group) UnmarshalJSON(b []byte) error {
	var r treeRecord
	if err := json.Unmarshal(b, &r); err != nil {
		return err
	}
	if r.Phase > cleaning {
		return fmt.Errorf("phase %d", r.Phase)
	}
	*g = *newGroup("", r.Index)
	g.phase, g.adopted, g.loaded, g.job = r.Phase, r.Adopted, true, r.Job
	g.Hosts, g.token = r.Hosts, r.Token
	for _, a := range r.Evicted {
		g.evicted[a] = true
	}
	for _, f := range []struct {
		to *(*tree.Placement)
		at int
	}{{&g.target, r.Target}, {&g.queued, r.Queued}, {&g.resp, r.Resp}, {&g.data, r.Data},
		{&g.oldResp, r.OldResp}, {&g.oldData, r.OldData}} {
		if f.at >= len(r.Placements) || f.at < -1 {
			return fmt.Errorf("placement %d of %d", f.at, len(r.Placements))
		}
		if f.at >= 0 {
			*f.to = r.Placements[f.at]
		}
	}
	switch g.phase {
	case steady, draining, cleaning:
		g.installed = g.target
	case switching:
		g.installed = g.oldData
	default:
		g.installed = g.data
	}
	return nil
}

// Load implements feature.Feature.
func (f *Feature) Load(r store.Record) (ok bool, err error) {
	if index, isEpoch := strings.CutPrefix(r.Key, epochPrefix); isEpoch {
		return true, f.loadEpoch(index, string(r.Value))
	}
	if name, leaving := strings.CutPrefix(r.Key, leavingPrefix); leaving {
		g := new(group)
		if err := json.Unmarshal(r.Value, g); err != nil {
			return true, err
		}
		return true, f.loadGroup(name, g)
	}
	if ok, err := f.resources.Load(r); !ok || err != nil {
		return ok, err
	}
	name := strings.TrimPrefix(r.Key, Kind.Prefix)
	item := f.resources.Get(name)
	g := item.Decided
	if g == nil || g.latest() == nil {
		return true, errors.New("no placement")
	}
	g.item = item
	if c := item.Spec.Connect; c != nil && c.Token != "" { // of before tokens were kept apart
		g.token, c.Token = c.Token, ""
	}
	return true, f.loadGroup(name, g)
}

func (f *Feature) loadEpoch(index, value string) error {
	i, err := strconv.ParseUint(index, 10, 16)
	if err != nil {
		return err
	}
	epoch, err := strconv.ParseUint(value, 10, 32)
	if err != nil {
		return err
	}
	f.epochs[uint16(i)] = max(f.epochs[uint16(i)], uint32(epoch))
	return nil
}

// loadGroup takes a group that was loaded. A group that has both records was being
// made again, or about to be removed, when the controller ended: the resource counts.
func (f *Feature) loadGroup(name string, g *group) error {
	g.name = name
	if other := f.groups[name]; other != nil && other.index == g.index {
		f.unsaved[name] = true
		if g.item == nil {
			return nil
		}
		delete(f.byIndex, other.index)
	}
	if other := f.byIndex[g.index]; other != nil {
		return fmt.Errorf("index %d is that of %q too", g.index, other.name)
	}
	f.groups[name], f.byIndex[g.index] = g, g
	return nil
}

// save has the record of a group written.
func (f *Feature) save(g *group) {
	if g.item != nil {
		f.resources.Save(g.name)
	} else {
		f.unsaved[g.name] = true
	}
}

// Changes implements feature.Feature. A group has one of its two records at any
// moment, also when only a part of the writes takes effect.
func (f *Feature) Changes() []store.Op {
	var out, gone []store.Op
	for _, i := range slices.Sorted(maps.Keys(f.raised)) {
		out = append(out, store.Op{Key: epochKey(i), Value: resource.Encode(f.epochs[i])})
	}
	clear(f.raised)
	for _, name := range slices.Sorted(maps.Keys(f.unsaved)) {
		if g := f.groups[name]; g != nil && g.item == nil {
			out = append(out, store.Op{Key: leavingPrefix + name, Value: resource.Encode(g)})
		} else {
			gone = append(gone, store.Op{Key: leavingPrefix + name})
		}
	}
	clear(f.unsaved)
	return slices.Concat(out, f.resources.Changes(), gone)
}

// Records implements feature.Feature.
func (f *Feature) Records() []store.Record {
	var out []store.Record
	for i, epoch := range f.epochs {
		out = append(out, store.Record{Key: epochKey(i), Value: resource.Encode(epoch)})
	}
	for _, g := range f.ordered() {
		if g.item == nil {
			out = append(out, store.Record{Key: leavingPrefix + g.name, Value: resource.Encode(g)})
		}
	}
	return append(out, f.resources.Records()...)
}

// Fork implements feature.Feature: it copies the set of written epochs.
func (f *Feature) Fork() func(feature.Feature) {
	writes := make(map[string]map[string]uint32)
	for name, g := range f.groups {
		writes[name] = maps.Clone(g.writes)
	}
	return func(to feature.Feature) {
		t := to.(*Feature)
		for name, g := range t.groups {
			g.writes, g.loaded = maps.Clone(writes[name]), false
		}
	}
}

func epochKey(index uint16) string { return epochPrefix + strconv.Itoa(int(index)) }

// learnEpochs learns the used epochs from a switch, so that the controller never uses an epoch
// again.
func (f *Feature) learnEpochs(sw string, contents entry.Contents) {
	highest := make(map[uint16]uint32)
	for _, e := range contents.Entities {
		epoch, ok := plan.EpochOf(e)
		if i := plan.GroupOf(e); ok && i >= 0 {
			highest[uint16(i)] = max(highest[uint16(i)], epoch)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(highest)) {
		epoch := highest[i]
		f.noteEpoch(i, epoch)
		// Registers with an epoch from another core may reflect another membership.
		g := f.byIndex[i]
		if g == nil || g.target == nil || epoch < g.target.Epoch || g.wrote(sw, epoch) {
			continue
		}
		f.raise(g)
	}
}
