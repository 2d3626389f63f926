package reconcile

import (
	"maps"
	"time"

	"github.com/weft-sdn/weft/southbound/entry"
)

// The reconciler removes an entity of a guarded owner from a switch only with a claim: the
// controller, or an earlier controller on the same store, has wanted an entity for the owner on the
// switch since the read of the switch. Every other unwanted entity is an orphan. An orphan stays
// until a feature wants, adopts or releases the orphan. The store keeps claims and orphans (see
// record.go). So any controller carries out a removal that was decided while a switch was away when
// the switch is back.

// claim is where a guarded owner may have entities.
type claim struct {
	object   string // whose they are, in messages
	switches map[string]bool
}

// orphans are what a switch holds for an owner and nothing explains.
type orphans struct {
	since    time.Time
	entities map[entry.Key]entry.Entity // as they were read last
	loaded   map[entry.Key]bool         // keys of a record, until the switch is read
}

func (s *orphans) has(k entry.Key) bool {
	return s != nil && (s.entities[k] != nil || s.loaded[k])
}

// ledger is what outlives connections to switches, and the controller.
type ledger struct {
	claims  map[Owner]*claim
	orphans map[string]map[Owner]*orphans // by switch; has every switch that was ever read
	count   map[Owner]int                 // switches that hold orphans of an owner

	changed map[string]bool // switches whose orphans have changed since Events.OrphansChanged
	records records
}

func newLedger() ledger {
	return ledger{
		claims: make(map[Owner]*claim), orphans: make(map[string]map[Owner]*orphans),
		count:   make(map[Owner]int),
		changed: make(map[string]bool), records: newRecords(),
	}
}

func (l *ledger) claimed(sw string, o Owner) bool {
	c := l.claims[o]
	return c != nil && c.switches[sw]
}

func (l *ledger) claim(sw string, o Owner, object string) {
	c := l.claims[o]
	if c == nil {
		c = &claim{switches: make(map[string]bool)}
		l.claims[o] = c
	}
	if c.switches[sw] && c.object == object {
		return
	}
	c.object, c.switches[sw] = object, true
	l.records.claims[o] = true
	if l.orphans[sw][o] != nil {
		l.records.switches[sw] = true // the record must report which they are
	}
}

func (l *ledger) disclaim(sw string, o Owner) {
	c := l.claims[o]
	delete(c.switches, sw)
	if len(c.switches) == 0 {
		delete(l.claims, o)
	}
	l.records.claims[o] = true
}

// note records that the orphans of a switch have changed.
func (l *ledger) note(sw string) { l.changed[sw], l.records.switches[sw] = true, true }

// put replaces the orphans of an owner on a switch; nil is none.
func (l *ledger) put(sw string, o Owner, s *orphans) {
	of := l.orphans[sw]
	if of == nil {
		of = make(map[Owner]*orphans)
		l.orphans[sw] = of
	}
	switch was := of[o]; {
	case was == nil && s != nil:
		l.count[o]++
	case was != nil && s == nil:
		if l.count[o]--; l.count[o] == 0 {
			delete(l.count, o)
		}
	}
	if s == nil {
		delete(of, o)
	} else {
		of[o] = s
	}
	l.note(sw)
}

// drop forgets one orphan of a switch, whoever's it is.
func (l *ledger) drop(sw string, k entry.Key) {
	for o, s := range l.orphans[sw] {
		if !s.has(k) {
			continue
		}
		delete(s.entities, k)
		delete(s.loaded, k)
		l.note(sw)
		if len(s.entities)+len(s.loaded) == 0 {
			l.put(sw, o, nil)
		}
	}
}

// findOrphans finds what a switch that was just read holds for no known reason.
func (r *reconciler) findOrphans(d *device) {
	l := &r.ledger
	if l.orphans[d.name] == nil {
		l.orphans[d.name] = make(map[Owner]*orphans)
		l.records.switches[d.name] = true
	}
	was := maps.Clone(l.orphans[d.name])
	for o, u := range d.units {
		if !r.cfg.Intended(o) {
			continue
		}
		known, claimed := was[o], l.claimed(d.name, o)
		delete(was, o)
		found := make(map[entry.Key]entry.Entity)
		for k := range u.owned {
			if e := d.have[k]; e.Kind() != entry.KindDefault && (!claimed || known.has(k)) && !d.wanted(k) {
				found[k] = e
			}
		}
		switch {
		case len(found) == 0 && known == nil:
		case len(found) == 0:
			l.put(d.name, o, nil)
		case known == nil:
			l.put(d.name, o, &orphans{since: r.wall(), entities: found})
		default:
			same := maps.EqualFunc(known.entities, found, entry.Equal)
			known.entities, known.loaded = found, nil
			if !same {
				l.note(d.name)
			}
		}
	}
	for o := range was { // the switch holds nothing of theirs any more
		l.put(d.name, o, nil)
	}
}

// settleClaim brings the claim of an owner on a connected switch up to date with a difference
// that was just computed.
func (r *reconciler) settleClaim(d *device, o Owner, u *unit) {
	if len(r.ledger.orphans[d.name]) > 0 {
		for _, k := range u.order {
			r.ledger.drop(d.name, k)
		}
	}
	if !r.cfg.Intended(o) {
		return
	}
	if len(u.want) > 0 {
		r.ledger.claim(d.name, o, r.cfg.Object(o))
		return
	}
	if !r.ledger.claimed(d.name, o) {
		return
	}
	left := r.ledger.orphans[d.name][o]
	for k := range u.owned {
		if d.have[k].Kind() != entry.KindDefault && !left.has(k) {
			return
		}
	}
	r.ledger.disclaim(d.name, o)
}

func (s *orphans) all() map[entry.Key]entry.Entity {
	if s == nil {
		return nil
	}
	return maps.Clone(s.entities)
}
