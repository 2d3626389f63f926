package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gaissmai/bart"

	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
)

// The units of a switch: the unit of a group has the group's index.
const (
	linkUnit  = plan.OwnerLinks
	routeUnit = plan.OwnerRoutes
	pfcUnit   = plan.OwnerPFC
)

// maxUpdates bounds the updates of one Work.
const maxUpdates = 4000

// device is what the core knows of one switch: what it has, what it should
// have, and what is under way.
type device struct {
	sw        inventory.Switch
	connected bool
	known     bool                // has been read back once
	routed    bool                // its routes have been planned once
	settling  bool                // nothing but what belongs to groups is removed
	spares    func(unit int) bool // whether nothing of a unit is removed
	since     time.Duration
	reason    string
	ports     *PortStates // as the switch says; nil: nothing yet

	have   map[entry.Key]entry.Entity // what the switch holds
	unsure map[entry.Key]bool         // holds it, but perhaps with other content
	owner  map[entry.Key]int          // unit of what it holds
	units  map[int]*unit
	dirty  map[int]bool // units whose pending updates are to be computed anew

	failed map[entry.Key]*failure
	busy   *Work
	sent   []pending // the updates of busy, in order
	read   bool      // wants to be read back
	// blocked: nobody knows what it holds; nothing is written before it was read.
	blocked bool
	audits  int  // counts connections, to end the audits of earlier ones
	kept    bool // holds something for nobody but a group that leads to it
	out     []entry.PacketOut
}

// unit is a part of what a switch holds that one intent, or none, wants.
type unit struct {
	want    map[entry.Key]entry.Entity
	order   []entry.Key // of want
	owned   map[entry.Key]bool
	pending []pending
	// partial: want has routes to single destinations, and there may be more.
	partial bool
}

type pending struct {
	entry.Update
	key  entry.Key
	unit int
	rank int
}

// failure is an update that the switch refused.
type failure struct {
	update   pending
	reason   entry.RefusalReason
	message  string
	attempts int
	until    time.Duration // not tried again before
}

func newDevice(sw inventory.Switch) *device {
	return &device{
		sw: sw, reason: "not connected yet", settling: true,
		have: make(map[entry.Key]entry.Entity), unsure: make(map[entry.Key]bool), owner: make(map[entry.Key]int),
		units: make(map[int]*unit), dirty: make(map[int]bool), failed: make(map[entry.Key]*failure),
	}
}

func (d *device) unit(i int) *unit {
	u := d.units[i]
	if u == nil {
		u = &unit{owned: make(map[entry.Key]bool)}
		d.units[i] = u
	}
	return u
}

// wantRoutes sets the routes; see unit.partial.
func (d *device) wantRoutes(entities []entry.Entity, partial bool) {
	d.want(routeUnit, entities)
	d.unit(routeUnit).partial = partial
}

// want sets what a unit wants.
func (d *device) want(i int, entities []entry.Entity) {
	u := d.unit(i)
	u.want = make(map[entry.Key]entry.Entity, len(entities))
	u.order = make([]entry.Key, 0, len(entities))
	for _, e := range entities {
		k := e.Key()
		if _, twice := u.want[k]; !twice {
			u.order = append(u.order, k)
		}
		u.want[k] = e
	}
	d.dirty[i] = true
	if d.kept {
		d.dirty[linkUnit] = true
	}
}

// hold notes that the switch holds an entity.
func (d *device) hold(k entry.Key, i int, e entry.Entity) {
	if old, ok := d.owner[k]; ok && old != i {
		delete(d.unit(old).owned, k)
	}
	d.have[k], d.owner[k] = e, i
	d.unit(i).owned[k] = true
	delete(d.unsure, k)
}

func (d *device) drop(k entry.Key) {
	if i, ok := d.owner[k]; ok {
		delete(d.unit(i).owned, k)
	}
	delete(d.have, k)
	delete(d.owner, k)
	delete(d.unsure, k)
}

// connect takes over what was read back.
func (d *device) connect(contents entry.Contents, now time.Duration) {
	d.connected, d.known, d.since, d.reason = true, true, now, ""
	d.forget()
	for _, e := range contents.Entities {
		d.hold(e.Key(), plan.OwnerOf(e), e)
	}
	for i := range d.units {
		d.dirty[i] = true
	}
}

func (d *device) wants(k entry.Key) bool {
	for _, u := range d.units {
		if _, ok := u.want[k]; ok {
			return true
		}
	}
	return false
}

func (d *device) disconnect(reason string, now time.Duration) {
	d.connected, d.since, d.reason = false, now, reason
	d.audits++
	d.forget()
	d.out = nil
}

func (d *device) forget() {
	clear(d.have)
	clear(d.owner)
	clear(d.unsure)
	clear(d.failed)
	d.busy, d.sent, d.read, d.blocked = nil, nil, false, false
	for i, u := range d.units {
		clear(u.owned)
		u.pending = nil
		if len(u.want) == 0 {
			delete(d.units, i)
		}
	}
}

// diff computes the pending updates of a unit.
func (d *device) diff(i int) {
	delete(d.dirty, i)
	u := d.unit(i)
	u.pending = u.pending[:0]
	if !d.connected {
		return
	}
	if i == linkUnit {
		d.kept = false
	}
	var led map[entry.Key]bool
	if u.partial {
		led = d.led(u)
	}
	for _, k := range u.order {
		e := u.want[k]
		held, ok := d.have[k]
		switch {
		case led[k]:
		case !ok:
			u.pending = append(u.pending, pending{entry.Update{Type: entry.Insert, Entity: e}, k, i, rank(e)})
		case d.unsure[k] || !entry.SameContent(held, e):
			u.pending = append(u.pending, pending{entry.Update{Type: entry.Modify, Entity: e}, k, i, rank(e)})
		}
	}
	var extra []entry.Key
	for k := range u.owned {
		if i < 0 && d.settling || d.spares(i) || u.partial {
			break
		}
		if d.have[k].Kind() == entry.KindDefault {
			continue // cannot be removed
		}
		if _, wanted := u.want[k]; !wanted && !d.wants(k) {
			extra = append(extra, k)
		}
	}
	slices.Sort(extra)
	var routes *bart.Table[entry.Table]
	if i == routeUnit && len(extra) > 0 {
		routes = u.wantedRoutes()
	}
	for _, k := range extra {
		e := d.have[k]
		if routes != nil {
			if to, ok := behind(routes, e); ok && (d.unsure[k] || !entry.SameContent(e, to)) {
				u.pending = append(u.pending, pending{entry.Update{Type: entry.Modify, Entity: to}, k, i, rank(to)})
				continue
			}
		}
		if i == linkUnit && d.leadsTo(e) {
			d.kept = true
			continue
		}
		u.pending = append(u.pending, pending{entry.Update{Type: entry.Delete, Entity: e}, k, i, removalRank - rank(e)})
	}
	for k, f := range d.failed {
		if f.update.unit == i && !slices.ContainsFunc(u.pending, func(p pending) bool { return p.key == k }) {
			delete(d.failed, k) // no longer wanted, or there by now
		}
	}
	if len(u.want) == 0 && len(u.owned) == 0 {
		delete(d.units, i)
	}
}

// leadsTo reports whether the entries of a group, perhaps of a tree it is about
// to leave, lead to a neighbor or clone session.
func (d *device) leadsTo(e entry.Entity) bool {
	var param string
	var id entry.Value
	switch e := e.(type) {
	case entry.Clone:
		param, id = "cnp_session", entry.Uint(uint64(e.ID))
	case entry.Table:
		m, ok := e.Field("id")
		if e.Name != p4.TableNeighbor || !ok {
			return false
		}
		param, id = "neighbor", m.Value
	}
	if id == "" {
		return false
	}
	leads := func(e entry.Entity) bool {
		t, ok := e.(entry.Table)
		return ok && t.Action.Arg(param) == id
	}
	for i, u := range d.units {
		if i < 0 {
			continue
		}
		for _, e := range u.want {
			if leads(e) {
				return true
			}
		}
		if d.spares(i) {
			for k := range u.owned {
				if leads(d.have[k]) {
					return true
				}
			}
		}
	}
	return false
}

// ready reports whether the switch has what every group needs, as far as it
// takes it.
func (d *device) ready() bool { return d.routed && !d.lacks(linkUnit) && !d.lacks(routeUnit) }

// clean reports whether a unit has nothing left to do on a connected switch.
func (d *device) clean(i int) bool {
	u := d.units[i]
	return u == nil || len(u.pending) == 0 && !d.dirty[i]
}

// lacks reports whether a unit still wants something of a connected switch,
// beside what the switch refused.
func (d *device) lacks(i int) bool {
	u := d.units[i]
	return u != nil && (d.dirty[i] || slices.ContainsFunc(u.pending, func(p pending) bool { return p.Type != entry.Delete && d.failed[p.key] == nil }))
}

// Ranks order the updates of a switch: first what others refer to, last what
// leads packets somewhere, long routes before short ones; removals the other way
// round and after everything else.
const (
	rankMembers = iota
	rankGroups
	rankTables
	rankCopies
	rankWays
	removalRank = 1000
)

func rank(e entry.Entity) int {
	switch e := e.(type) {
	case entry.Clone, entry.Member:
		return rankMembers
	case entry.Group:
		return rankGroups
	case entry.Multicast:
		return rankCopies
	case entry.Table:
		switch e.Name {
		case p4.TableIpv6Route:
			return routeRank(e)
		case p4.TableLocalSid, p4.TableMtSource, p4.TableSrv6Policy, p4.TablePfcQueue:
			return rankWays
		}
	}
	return rankTables
}

// refused returns the failure that keeps an update from being tried now.
func (d *device) refused(p *pending, now time.Duration) *failure {
	f := d.failed[p.key]
	if f == nil || f.until <= now {
		return nil
	}
	if f.update.Type != p.Type || !entry.SameContent(f.update.Entity, p.Entity) {
		return nil
	}
	return f
}

// next chooses what to write now, as batches in order. Removals of a unit wait
// for everything else it wants, unless there is no room for that.
func (d *device) next(now time.Duration) []pending {
	var add, remove []pending
	for _, i := range slices.Sorted(maps.Keys(d.units)) {
		held := false // something this unit wants is missing
		from := len(remove)
		for k := range d.units[i].pending {
			p := &d.units[i].pending[k]
			f := d.refused(p, now)
			switch {
			case p.Type == entry.Delete && f == nil:
				remove = append(remove, *p)
			case p.Type == entry.Delete:
			case f == nil:
				add = append(add, *p)
				held = true
			default:
				held = held || f.reason != entry.RefusedCapacity
			}
		}
		if held {
			remove = remove[:from]
		}
	}
	chosen := add
	if len(chosen) == 0 {
		chosen = remove
	}
	slices.SortStableFunc(chosen, func(a, b pending) int { return cmp.Compare(a.rank, b.rank) })
	return chosen[:min(len(chosen), maxUpdates)]
}

// batches splits updates where the rank changes.
func batches(ps []pending) [][]entry.Update {
	var out [][]entry.Update
	for i, p := range ps {
		if i == 0 || p.rank != ps[i-1].rank {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], p.Update)
	}
	return out
}

// apply notes the outcome of the updates under way, and returns the units they
// belong to.
func (d *device) apply(refusals []entry.Refusal, now, retryMin, retryMax time.Duration) map[int]bool {
	refused := make(map[int]entry.Refusal, len(refusals))
	for _, r := range refusals {
		refused[r.Update] = r
	}
	units := make(map[int]bool)
	for i := range d.sent {
		p := d.sent[i]
		units[p.unit] = true
		r, bad := refused[i]
		switch {
		case !bad && p.Type == entry.Delete:
			d.drop(p.key)
			delete(d.failed, p.key)
		case !bad:
			d.hold(p.key, p.unit, p.Entity)
			delete(d.failed, p.key)
		case r.Reason == entry.RefusedExists && p.Type == entry.Insert:
			d.hold(p.key, p.unit, p.Entity)
			d.unsure[p.key] = true
		case r.Reason == entry.RefusedMissing && p.Type != entry.Insert:
			d.drop(p.key)
		default:
			d.fail(p, r, now, retryMin, retryMax)
		}
	}
	for i := range units {
		d.dirty[i] = true
	}
	d.busy, d.sent = nil, nil
	return units
}

func (d *device) fail(p pending, r entry.Refusal, now, retryMin, retryMax time.Duration) {
	f := d.failed[p.key]
	if f == nil {
		f = &failure{}
		d.failed[p.key] = f
	}
	f.update, f.reason, f.message = p, r.Reason, r.Message
	pause := retryMin
	for range min(f.attempts, 32) {
		pause = min(2*pause, retryMax)
	}
	f.attempts++
	f.until = now + pause
}

// failures returns what the switch refused of a unit's, at most n, in order.
func (d *device) failures(i, n int) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(d.failed)) {
		if f := d.failed[k]; f.update.unit == i && len(out) < n {
			out = append(out, fmt.Sprintf("%s: %s: %s", d.sw.Name, describeUpdate(f.update), f.message))
		}
	}
	return out
}

func describeUpdate(p pending) string { return p.Type.String() + " " + string(p.key) }

// pendingCount returns the number of updates still to be made.
func (d *device) pendingCount() (n int) {
	for _, u := range d.units {
		n += len(u.pending)
	}
	return n
}
