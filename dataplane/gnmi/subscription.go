package gnmi

import (
	"slices"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// minInterval is the shortest time between samples or heartbeats, and what a
	// client gets that wants samples as often as possible.
	minInterval = 100 * time.Millisecond
	// counterInterval is how often counters are looked at for a client that wants
	// their changes, defaultInterval for one that leaves it to the switch.
	counterInterval = time.Second
	defaultInterval = 10 * time.Second
	// maxSubscriptions bounds those of one stream, maxCells the values that they select: of each, the last
	// that was sent is remembered.
	maxSubscriptions = 64
	maxCells         = 16384
)

// A subscription is one path of a stream, and what has been sent of it.
type subscription struct {
	pattern
	sample    bool          // or else on change
	every     time.Duration // between looks without a change; 0: there are none
	heartbeat time.Duration // 0: none
	suppress  bool          // samples that are as before

	looked, beaten time.Time // last
	due, beat      bool      // set by look
	sent           map[cell]any
}

// cell is a leaf of a port.
type cell struct {
	port uint32
	leaf int
}

// subscriptionsOf compiles the subscriptions of a stream.
func subscriptionsOf(list *gpb.SubscriptionList) ([]*subscription, error) {
	all := list.GetSubscription()
	if n := len(all); n == 0 || n > maxSubscriptions {
		return nil, status.Errorf(codes.InvalidArgument, "%d subscriptions; want 1 to %d", n, maxSubscriptions)
	}
	var out []*subscription
	for _, from := range all {
		p, err := compile(list.GetPrefix(), from.GetPath())
		if err != nil {
			return nil, err
		}
		s := subscription{pattern: p, suppress: from.GetSuppressRedundant()}
		if s.heartbeat, err = interval("heartbeat_interval", from.GetHeartbeatInterval(), 0); err != nil {
			return nil, err
		}
		every, err := interval("sample_interval", from.GetSampleInterval(), minInterval)
		if err != nil {
			return nil, err
		}
		states, counters := p.split()
		switch from.GetMode() {
		case gpb.SubscriptionMode_SAMPLE:
			s.sample, s.every = true, every
			out = append(out, s.of(p.leaves))
		case gpb.SubscriptionMode_ON_CHANGE:
			if len(counters) > 0 {
				s.every = counterInterval
			}
			out = append(out, s.of(p.leaves))
		case gpb.SubscriptionMode_TARGET_DEFINED:
			if len(states) > 0 {
				out = append(out, s.of(states))
			}
			if len(counters) > 0 {
				s.sample, s.every = true, defaultInterval
				if from.GetSampleInterval() > 0 {
					s.every = every
				}
				out = append(out, s.of(counters))
			}
		default:
			return nil, status.Errorf(codes.InvalidArgument, "mode %v of a subscription; want ON_CHANGE, SAMPLE or TARGET_DEFINED", from.GetMode())
		}
	}
	return out, nil
}

// of is a copy of s for some leaves.
func (s subscription) of(leaves []int) *subscription {
	s.leaves, s.sent = leaves, make(map[cell]any)
	return &s
}

func interval(field string, nanoseconds uint64, none time.Duration) (time.Duration, error) {
	switch {
	case nanoseconds == 0:
		return none, nil
	case nanoseconds < uint64(minInterval) || nanoseconds > uint64(365*24*time.Hour):
		return 0, status.Errorf(codes.InvalidArgument, "%s is %d ns; want at least %d ns, or 0", field, nanoseconds, minInterval.Nanoseconds())
	}
	return time.Duration(nanoseconds), nil
}

// split separates states from counters.
func (p *pattern) split() (states, counters []int) {
	for _, i := range p.leaves {
		if leaves[i].counter {
			counters = append(counters, i)
		} else {
			states = append(states, i)
		}
	}
	return states, counters
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

// look begins a look at all ports, each of which take is called with. The first look is when the stream
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
}

// take selects the values of a port to send now, and marks them as sent.
func (s *subscription) take(p *Port, send func(p *Port, leaf int, v any)) {
	if s.sample && !s.due && !s.beat {
		return
	}
	s.each(p, func(p *Port, i int, v any) {
		c := cell{p.Number, i}
		old, known := s.sent[c]
		changed := !known || old != v
		if s.beat || changed && (!s.sample || s.due) || s.sample && s.due && !s.suppress {
			s.sent[c] = v
			send(p, i, v)
		}
	})
}

// each calls f with every leaf of a port that a pattern selects.
func (p *pattern) each(port *Port, f func(p *Port, leaf int, v any)) {
	if p.name != "" && p.name != port.Name {
		return
	}
	for _, l := range p.leaves {
		if v := leaves[l].value(port); v != nil {
			f(port, l, v)
		}
	}
}

// A report gathers updates as notifications, one a port. A value that several subscriptions select is in
// it once.
type report struct {
	at       time.Time
	prefix   *gpb.Path
	encoding gpb.Encoding
	all      []*gpb.Notification
	ports    []uint32 // of all
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

func (r *report) add(p *Port, l int, v any) {
	c := cell{p.Number, l}
	if r.has[c] {
		return
	}
	r.has[c] = true
	i := slices.Index(r.ports, p.Number)
	if i < 0 {
		i = len(r.all)
		r.ports = append(r.ports, p.Number)
		r.all = append(r.all, &gpb.Notification{Timestamp: r.at.UnixNano(), Prefix: r.prefix})
	}
	r.all[i].Update = append(r.all[i].Update, &gpb.Update{Path: pathOf(p, &leaves[l]), Val: encode(v, r.encoding)})
}
