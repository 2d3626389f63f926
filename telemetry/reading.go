package telemetry

import (
	"time"

	"github.com/weft-sdn/weft/southbound/gnmi"
)

// Reading is the controller's knowledge, at some time, about an object that is not on a switch.
type Reading struct {
	Name string
	At   time.Time // of the controller's clock
	// Values are by metric of the kind: counters since any time, and gauges.
	Values []gnmi.Count
}

// shardOf names the shard of a kind whose objects are not on a switch. No switch has that name.
func shardOf(k Kind) string { return "\x00" + k.String() }

// TakeReadings takes readings of objects without a switch, all of kind k. interval is the time
// until the next readings.
func (st *Store) TakeReadings(k Kind, interval time.Duration, all []Reading) {
	s := st.shard(shardOf(k))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interval = interval
	for i := range all {
		at := all[i].At
		if s.fine.start > 0 && at.Unix() < s.fine.start {
			s.rewind(st, at.Unix())
		}
		s.advance(st, at.Unix())
		o, ok := s.object(st, key{kind: k, name: all[i].Name})
		if !ok {
			continue
		}
		r := reading{object: o}
		for m, c := range all[i].Values {
			r.set(m, c)
		}
		if s.weigh(&r, at.UnixNano(), 0) {
			st.stats.restarts.Add(1)
			r.grown = 0
		}
		s.note(st, &r, at.UnixNano(), at)
	}
	st.stats.samples.Add(uint64(len(all)))
}

// forgotten is the time without a reading after which no segment contains values of an object.
const forgotten = (coarseKept + coarseTotal + fineSpan + fineGrace) * time.Second

// forget frees the places of removed objects in a shard of readings, since names come and go.
func (s *shard) forget(st *Store, now time.Time) {
	for k, i := range s.index {
		if o := &s.objects[i]; !k.kind.onSwitch() && o.at != 0 && now.UnixNano()-o.at > int64(forgotten) {
			delete(s.index, k)
			o.key = key{kind: k.kind}
			o.known, o.counts, o.present, o.presentCoarse = 0, 0, [2]uint64{}, 0
			for m := range metrics[k.kind] {
				s.fine.drop(int(o.base) + m)
				s.coarse.drop(int(o.base) + m)
			}
			s.free = append(s.free, i)
			st.unreserve(k)
		}
	}
}
