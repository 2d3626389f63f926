package gnmi

import (
	"hash/maphash"
	"slices"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// minInterval is the shortest time between samples or heartbeats. A client that wants samples as
	// often as possible gets this interval.
	minInterval = 100 * time.Millisecond
	// counterInterval is how often the server looks at counters for a client that wants changes;
	// defaultInterval applies if the client leaves the interval to the switch.
	counterInterval = time.Second
	defaultInterval = 10 * time.Second
	// maxSubscriptions bounds the subscriptions of one stream, and maxCells the values that they
	// select: the server keeps a hash of the last sent value for each.
	maxSubscriptions = 64
	maxCells         = 65536
)

// A subscription is one path of a stream, with a record of the values already sent.
type subscription struct {
	pattern
	sample    bool          // or else on change
	every     time.Duration // between looks without a change; 0: there are none
	heartbeat time.Duration // 0: none
	suppress  bool          // samples that are as before

	looked, beaten time.Time // last
	due, beat      bool      // set by look
	sent           []sent    // of each of pattern.all
}

// sent is what was sent last of a selection: a hash of each value, row after row in the order of
// the rows, which does not change; 0 is none. Two values with one hash are one in 2^63.
type sent struct {
	hashes []uint64
	next   int // of the row that take is called with next; reset by look
}

// row returns the hashes of the next row.
func (s *sent) row(leaves int) []uint64 {
	at := s.next
	s.next += leaves
	for len(s.hashes) < s.next {
		s.hashes = append(s.hashes, 0)
	}
	return s.hashes[at:s.next]
}

var hashSeed = maphash.MakeSeed()

// hashOf is the hash of a value, never 0.
func hashOf(v any) uint64 { return maphash.Comparable(hashSeed, v) | 1 }

// subscriptionsOf compiles the subscriptions of a stream. A subscription to a path unknown to the
// switch selects nothing; the rest is served (gNMI, section 3.5.1.3).
func subscriptionsOf(list *gpb.SubscriptionList) ([]*subscription, error) {
	all := list.GetSubscription()
	if n := len(all); n == 0 || n > maxSubscriptions {
		return nil, status.Errorf(codes.InvalidArgument, "%d subscriptions; want 1 to %d", n,
			maxSubscriptions)
	}
	of, err := modules(list.GetUseModels())
	if err != nil {
		return nil, err
	}
	var out []*subscription
	for _, from := range all {
		p, err := find(list.GetPrefix(), from.GetPath())
		if err != nil {
			return nil, err
		}
		p = p.of(of)
		s := subscription{pattern: p, suppress: from.GetSuppressRedundant()}
		if s.heartbeat, err = interval("heartbeat_interval", from.GetHeartbeatInterval(), 0); err != nil {
			return nil, err
		}
		every, err := interval("sample_interval", from.GetSampleInterval(), minInterval)
		if err != nil {
			return nil, err
		}
		counts := func(l int) bool { return leaves[l].kind == counter }
		states, counters := p.of(func(l int) bool { return !counts(l) }), p.of(counts)
		switch from.GetMode() {
		case gpb.SubscriptionMode_SAMPLE:
			s.sample, s.every = true, every
			out = append(out, s.start(p))
		case gpb.SubscriptionMode_ON_CHANGE:
			if len(counters.all) > 0 {
				s.every = counterInterval
			}
			out = append(out, s.start(p))
		case gpb.SubscriptionMode_TARGET_DEFINED:
			if len(states.all) > 0 {
				out = append(out, s.start(states))
			}
			if len(counters.all) > 0 {
				s.sample, s.every = true, defaultInterval
				if from.GetSampleInterval() > 0 {
					s.every = every
				}
				out = append(out, s.start(counters))
			}
		default:
			return nil, status.Errorf(codes.InvalidArgument,
				"mode %v of a subscription; want ON_CHANGE, SAMPLE or TARGET_DEFINED", from.GetMode())
		}
	}
	return out, nil
}

// start is a copy of s for a pattern.
func (s subscription) start(p pattern) *subscription {
	s.pattern, s.sent = p, make([]sent, len(p.all))
	if s.sample && !s.suppress {
		s.heartbeat = 0 // every sample has all values anyway
	}
	return &s
}

// of is the part of a pattern with some leaves.
func (p pattern) of(some func(leaf int) bool) pattern {
	out := pattern{depth: p.depth}
	for _, s := range p.all {
		s.leaves = slices.DeleteFunc(slices.Clone(s.leaves), func(l int) bool { return !some(l) })
		if len(s.leaves) > 0 {
			out.all = append(out.all, s)
		}
	}
	return out
}

func interval(field string, nanoseconds uint64, none time.Duration) (time.Duration, error) {
	switch {
	case nanoseconds == 0:
		return none, nil
	case nanoseconds < uint64(minInterval) || nanoseconds > uint64(365*24*time.Hour):
		return 0, status.Errorf(codes.InvalidArgument, "%s is %d ns; want at least %d ns, or 0", field,
			nanoseconds, minInterval.Nanoseconds())
	}
	return time.Duration(nanoseconds), nil
}

// next is when to look at the latest; false: when something changes.
func (s *subscription) next() (at time.Time, ok bool) {
	if s.every > 0 {
		at, ok = s.looked.Add(s.every), true
	}
	if s.heartbeat > 0 {
		if beat := s.beaten.Add(s.heartbeat); !ok || beat.Before(at) {
			at, ok = beat, true
		}
	}
	return at, ok
}

// look begins a look at the switch: take is called with each row. The first look is when the stream
// begins.
func (s *subscription) look(now time.Time) {
	first := s.looked.IsZero()
	s.beat = first || s.heartbeat > 0 && !now.Before(s.beaten.Add(s.heartbeat))
	s.due = first || s.every > 0 && !now.Before(s.looked.Add(s.every))
	if s.due {
		s.looked = now
	}
	if s.beat {
		s.beaten = now
	}
	for i := range s.sent {
		s.sent[i].next = 0
	}
}

// take selects the values of a table row to send now, and marks them as sent. For a value sent
// earlier and gone now, it sends nil.
func (s *subscription) take(t int, r *row, send func(r *row, leaf int, v any)) {
	if s.sample && !s.due && !s.beat {
		return
	}
	for i := range s.all {
		if s.all[i].table != t || !s.all[i].has(r) {
			continue
		}
		last := s.sent[i].row(len(s.all[i].leaves))
		for j, l := range s.all[i].leaves {
			v := leaves[l].value(r)
			now := uint64(0)
			if v != nil {
				now = hashOf(v)
			}
			switch {
			case v == nil && last[j] == 0:
			case v == nil, s.beat, now != last[j] && (!s.sample || s.due), s.sample && s.due && !s.suppress:
				last[j] = now
				send(r, l, v)
			}
		}
	}
}

// has reports whether a selection includes a row.
func (s *selection) has(r *row) bool {
	for i, want := range s.keys {
		if want != "" && want != r.keys[i] {
			return false
		}
	}
	return true
}

// A report gathers values as one notification. A value that several subscriptions select is in it
// once.
type report struct {
	at       time.Time
	prefix   *gpb.Path
	encoding gpb.Encoding
	out      *gpb.Notification // nil: nothing
	has      map[cell]bool
}

// newReport makes one for a client that gave a prefix; its target is repeated.
func newReport(at time.Time, prefix *gpb.Path, e gpb.Encoding) *report {
	r := &report{at: at, encoding: e, has: make(map[cell]bool)}
	if t := prefix.GetTarget(); t != "" {
		r.prefix = &gpb.Path{Target: t}
	}
	return r
}

// add adds a value; nil is one that is gone.
func (r *report) add(of *row, l int, v any) {
	c := cell{l, of.id}
	if r.has[c] {
		return
	}
	r.has[c] = true
	if r.out == nil {
		r.out = &gpb.Notification{Timestamp: r.at.UnixNano(), Prefix: r.prefix}
	}
	path := pathOf(of, leaves[l].path)
	if v == nil {
		r.out.Delete = append(r.out.Delete, path)
		return
	}
	r.out.Update = append(r.out.Update, &gpb.Update{Path: path, Val: encode(v, r.encoding)})
}

// clear empties the report.
func (r *report) clear() {
	r.out = nil
	clear(r.has)
}
