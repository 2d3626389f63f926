package fabric

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/test/seeds"
)

// Random switches and random packets: entries of some scenarios, less a few, with fields changed,
// and wholly random entries, under the packets of these scenarios and others, mutated or not. Every
// target must give the same result.

const (
	differentialPackets = 150 // a round
	differentialEntries = 40  // random ones a round
	differentialLargest = 200 // entries of a scenario that is taken
)

// trier is a target that reports whether it took an update.
type trier interface {
	target
	try(t testing.TB, u *p4v1.Update) error
}

// material holds the scenarios, entries and packets for rounds.
type material struct {
	stories [][]story          // by family: what a name has before its slash
	values  map[int32][][]byte // by width: values that mean something to some entry
}

// story is a scenario as material: its entries, also entries written under way, and its packets.
type story struct {
	entries []*p4v1.Update
	packets []wire
}

func newMaterial() *material {
	m := &material{values: map[int32][][]byte{}}
	families := map[string]int{}
	for _, s := range scenarios() {
		if s.virtual || len(s.entries) > differentialLargest {
			continue
		}
		st := story{entries: slices.Clone(s.entries)}
		for _, step := range s.steps {
			st.entries = append(st.entries, step.write...)
			if step.in.frame != nil {
				st.packets = append(st.packets, step.in)
			}
		}
		m.harvest(st.entries)
		family, _, _ := strings.Cut(s.name, "/")
		i, ok := families[family]
		if !ok {
			i = len(m.stories)
			families[family], m.stories = i, append(m.stories, nil)
		}
		m.stories[i] = append(m.stories[i], st)
	}
	m.harvest(baseEntries())
	for width, values := range m.values {
		slices.SortFunc(values, bytes.Compare)
		m.values[width] = slices.CompactFunc(values, bytes.Equal)
	}
	return m
}

func (m *material) harvest(updates []*p4v1.Update) {
	for _, u := range updates {
		eachValue(u, func(_ string, width int32, v *[]byte) {
			m.values[width] = append(m.values[width], *v)
		})
	}
}

// eachValue visits the key fields and parameters of a table entry.
func eachValue(u *p4v1.Update, visit func(name string, width int32, v *[]byte)) {
	e := u.GetEntity().GetTableEntry()
	if e == nil {
		return
	}
	t := tableByID(e.GetTableId())
	for _, m := range e.GetMatch() {
		f := t.GetMatchFields()[slices.IndexFunc(t.GetMatchFields(), func(f *p4config.MatchField) bool {
			return f.GetId() == m.GetFieldId()
		})]
		if x := m.GetExact(); x != nil {
			visit(f.GetName(), f.GetBitwidth(), &x.Value)
		} else if x := m.GetLpm(); x != nil && x.GetPrefixLen() == f.GetBitwidth() {
			visit(f.GetName(), f.GetBitwidth(), &x.Value)
		}
	}
	call := e.GetAction().GetAction()
	for _, p := range call.GetParams() {
		param := actionByID(call.GetActionId()).GetParams()[p.GetParamId()-1]
		visit(param.GetName(), param.GetBitwidth(), &p.Value)
	}
}

func tableByID(id uint32) *p4config.Table {
	return info.GetTables()[slices.IndexFunc(info.GetTables(), func(t *p4config.Table) bool {
		return t.GetPreamble().GetId() == id
	})]
}

func actionByID(id uint32) *p4config.Action {
	return info.GetActions()[slices.IndexFunc(info.GetActions(), func(a *p4config.Action) bool {
		return a.GetPreamble().GetId() == id
	})]
}

// round is one random switch and the packets for it.
type round struct {
	entries []*p4v1.Update
	packets []wire
}

func (m *material) round(seed uint64) round {
	d := draw{rand.New(rand.NewPCG(seed, 0)), m}
	r := round{entries: append(baseEntries(), fanOut()...)}
	var own []wire
	for range 1 + d.IntN(4) {
		s := d.story()
		r.entries, own = append(r.entries, s.entries...), append(own, s.packets...)
	}
	r.entries = slices.DeleteFunc(r.entries, func(*p4v1.Update) bool { return d.IntN(40) == 0 })
	for i, u := range r.entries {
		if d.IntN(12) == 0 {
			r.entries[i] = d.changed(u)
		}
	}
	for range d.IntN(differentialEntries) {
		r.entries = append(r.entries, d.entry())
	}
	for len(r.packets) < differentialPackets {
		from := own
		if d.IntN(4) == 0 {
			from = d.story().packets
		}
		if len(from) == 0 {
			continue
		}
		w := from[d.IntN(len(from))]
		if d.IntN(2) == 0 {
			w = d.mutated(w)
		}
		r.packets = append(r.packets, w)
	}
	return r
}

type draw struct {
	*rand.Rand
	*material
}

func (d draw) story() story {
	family := d.stories[d.IntN(len(d.stories))]
	return family[d.IntN(len(family))]
}

// value draws a value for a field or parameter.
func (d draw) value(name string, width int32) []byte {
	switch name {
	case "nack_holdoff", "cnp_window": // what depends on the clock is over at once, or never
		return [][]byte{{0}, value(uint64(forever))}[d.IntN(2)]
	case "spacing", "burst_time": // of ICMPv6 errors; a spacing of 0 is none of them
		return [][]byte{{1}, value(uint64(1) << 47)}[d.IntN(2)]
	case "port", "upstream_port":
		if d.IntN(10) > 0 {
			return value(1 + d.IntN(ports))
		}
	}
	if known := d.values[width]; len(known) > 0 && d.IntN(8) > 0 {
		return known[d.IntN(len(known))]
	}
	v := make([]byte, (width+7)/8)
	for i := range v {
		v[i] = byte(d.Uint32())
	}
	if width%8 != 0 {
		v[0] &= 1<<(width%8) - 1
	}
	return canonical(v)
}

// changed returns an update with one value exchanged.
func (d draw) changed(u *p4v1.Update) *p4v1.Update {
	u = proto.CloneOf(u)
	n := 0
	eachValue(u, func(string, int32, *[]byte) { n++ })
	if n == 0 {
		return u
	}
	which := d.IntN(n)
	eachValue(u, func(name string, width int32, v *[]byte) {
		if which == 0 {
			*v = d.value(name, width)
		}
		which--
	})
	return u
}

// entry draws an entry for any table but the tables of an action profile.
func (d draw) entry() *p4v1.Update {
	tables := slices.DeleteFunc(slices.Clone(info.GetTables()), func(t *p4config.Table) bool {
		return t.GetImplementationId() != 0
	})
	t := tables[d.IntN(len(tables))]
	e := &p4v1.TableEntry{TableId: t.GetPreamble().GetId(),
		IsDefaultAction: len(t.GetMatchFields()) == 0}
	for _, f := range t.GetMatchFields() {
		m := &p4v1.FieldMatch{FieldId: f.GetId()}
		v := d.value(f.GetName(), f.GetBitwidth())
		switch f.GetMatchType() {
		case p4config.MatchField_EXACT:
			m.FieldMatchType = &p4v1.FieldMatch_Exact_{Exact: &p4v1.FieldMatch_Exact{Value: v}}
		case p4config.MatchField_LPM:
			length := f.GetBitwidth()
			if d.IntN(2) == 0 {
				length = d.Int32N(length + 1)
			}
			if length == 0 {
				continue
			}
			m.FieldMatchType = &p4v1.FieldMatch_Lpm{Lpm: &p4v1.FieldMatch_LPM{Value: prefix(v,
				f.GetBitwidth(), length), PrefixLen: length}}
		default:
			panic(fmt.Sprintf("%s: match kind %v", t.GetPreamble().GetAlias(), f.GetMatchType()))
		}
		e.Match = append(e.Match, m)
	}
	refs := slices.DeleteFunc(slices.Clone(t.GetActionRefs()), func(r *p4config.ActionRef) bool {
		return r.GetScope() == p4config.ActionRef_DEFAULT_ONLY && !e.IsDefaultAction
	})
	a := actionByID(refs[d.IntN(len(refs))].GetId())
	call := &p4v1.Action{ActionId: a.GetPreamble().GetId()}
	for _, p := range a.GetParams() {
		call.Params = append(call.Params, &p4v1.Action_Param{ParamId: p.GetId(),
			Value: d.value(p.GetName(), p.GetBitwidth())})
	}
	e.Action = &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: call}}
	u := &p4v1.Update{Type: p4v1.Update_INSERT,
		Entity: &p4v1.Entity{Entity: &p4v1.Entity_TableEntry{TableEntry: e}}}
	if e.IsDefaultAction {
		u.Type = p4v1.Update_MODIFY
	}
	return u
}

// prefix returns the value of width bits, with zeroes behind the first length bits.
func prefix(v []byte, width, length int32) []byte {
	full := make([]byte, (width+7)/8)
	copy(full[len(full)-len(v):], v)
	for bit := length; bit < width; bit++ {
		full[bit/8] &^= 0x80 >> (bit % 8)
	}
	return canonical(full)
}

// mutated returns a packet with octets changed, cut off or added, on another port, or with a
// repaired ICRC.
func (d draw) mutated(w wire) wire {
	w.frame = bytes.Clone(w.frame)
	shortest := packet.EthernetLen
	if w.port == p4.CpuPort {
		shortest = packetOutLen
	}
	if w.port != p4.CpuPort && d.IntN(6) == 0 {
		w.port = 1 + d.Uint32N(ports)
	}
	for range 1 + d.IntN(3) {
		switch n := len(w.frame); d.IntN(8) {
		case 0:
			w.frame = w.frame[:shortest+d.IntN(n-shortest+1)]
		case 1:
			for range d.IntN(30) {
				w.frame = append(w.frame, byte(d.Uint32()))
			}
		default:
			at := d.IntN(min(n, 160)) // mostly in the headers
			if d.IntN(2) == 0 {
				w.frame[at] ^= 1 << d.IntN(8)
			} else {
				w.frame[at] = byte(d.Uint32())
			}
		}
	}
	if p, n, err := packet.ParseRoCE(w.frame); w.port != p4.CpuPort && err == nil &&
		n == len(w.frame) && d.IntN(2) == 0 {
		w.frame = p.Append(nil)
	}
	return w
}

// setUp writes the entries of a round to a target, and reports for each entry whether the target
// took it.
func (r round) setUp(t testing.TB, to trier) []bool {
	t.Helper()
	to.reset(t)
	taken := make([]bool, len(r.entries))
	for i, u := range r.entries {
		taken[i] = to.try(t, u) == nil
	}
	return taken
}

// seen keeps the frames that arrive behind existing ports: no interface takes less than an Ethernet
// header.
func seen(wires []wire) []wire {
	return slices.DeleteFunc(wires, func(w wire) bool {
		return w.port != p4.CpuPort && (len(w.frame) < packet.EthernetLen || w.port != p4.PfcPort &&
			(w.port == 0 || w.port > ports))
	})
}

// compareTargets plays rounds on a target of virtual time and another.
func compareTargets(t *testing.T, a, b trier, first, rounds uint64) {
	t.Helper()
	m := newMaterial()
	for seed := first; seed < first+rounds; seed++ {
		r := m.round(seed)
		takenA, takenB := r.setUp(t, a), r.setUp(t, b)
		for i, u := range r.entries {
			if takenA[i] != takenB[i] {
				t.Errorf("seed %d: entry %d is taken by one (%v, %v): %v", seed, i, takenA[i], takenB[i], u)
			}
		}
		if t.Failed() {
			return
		}
		before := [2]map[cell]int{readCells(t, a), readCells(t, b)}
		for i, w := range r.packets {
			a.advance(time.Millisecond) // b has the real clock
			outA, outB := seen(a.inject(t, w)), seen(b.inject(t, w))
			compareOutput(t, fmt.Sprintf("seed %d, packet %d, %v\n%s\n", seed, i, w, dissect(w)), outA, outB)
			if t.Failed() {
				break
			}
		}
		after := [2]map[cell]int{readCells(t, a), readCells(t, b)}
		compareCells(t, fmt.Sprintf("seed %d", seed), before[0], after[0],
			difference(after[1], before[1]))
		if t.Failed() {
			t.Logf("replay it with WEFT_SEED=%d", seed)
			return
		}
	}
}

func difference(after, before map[cell]int) map[cell]int {
	d := map[cell]int{}
	for c, n := range after {
		d[c] = n - before[c]
	}
	return d
}

// TestRandomSwitches shows that the rounds are worth comparing: targets take and refuse entries,
// and deliver, copy and drop packets for most reasons. Every lost packet is counted.
func TestRandomSwitches(t *testing.T) {
	e := newEmbedded()
	m := newMaterial()
	first, rounds := seeds.Range(t, 121, 40)
	reasons, delivered, copied, taken, refused := map[cell]int{}, 0, 0, 0, 0
	for seed := first; seed < first+rounds; seed++ {
		r := m.round(seed)
		for _, ok := range r.setUp(t, e) {
			if ok {
				taken++
			} else {
				refused++
			}
		}
		for _, w := range r.packets {
			e.advance(time.Millisecond)
			switch n := len(e.inject(t, w)); {
			case n > 1:
				copied++
			case n == 1:
				delivered++
			}
		}
		for c, n := range readCells(t, e) {
			reasons[c] += n
		}
	}
	packets := int(rounds) * differentialPackets
	t.Logf("%d entries taken, %d refused; of %d packets %d left once, %d more than once; %d counters",
		taken, refused, packets, delivered, copied, len(reasons))
	copies := packets / 50
	if testing.Short() { // a few rounds may have few trees
		copies /= 2
	}
	if delivered < packets/10 || copied < copies || refused == 0 || refused > taken ||
		len(reasons) < 30 {
		t.Errorf("the rounds compare too little: %v", reasons)
	}
}
