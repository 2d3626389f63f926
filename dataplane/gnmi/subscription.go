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
	// maxSubscriptions bounds those of one stream.
	maxSubscriptions = 64
)

// A subscription is one path of a stream, and what has been sent of it.
type subscription struct {
	pattern
	sample    bool          // or else on change
	every     time.Duration // between looks without a change; 0: there are none
	heartbeat time.Duration // 0: none
	suppress  bool          // samples that are as before

	looked, beaten time.Time // last
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

// split tells states from counters.
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

// take chooses what is to be sent now, of ports in their order, and takes it for
// sent. It is called the first time when the stream begins.
func (s *subscription) take(now time.Time, ports []Port, send func(p *Port, leaf int, v any)) {
	first := s.looked.IsZero()
	beat := first || s.heartbeat > 0 && !now.Before(s.beaten.Add(s.heartbeat))
	due := first || s.every > 0 && !now.Before(s.looked.Add(s.every))
	if s.sample && !due && !beat {
		return
	}
	if due {
		s.looked = now
	}
	if beat {
		s.beaten = now
	}
	s.each(ports, func(p *Port, i int, v any) {
		c := cell{p.Number, i}
		old, known := s.sent[c]
		changed := !known || old != v
		if beat || changed && (!s.sample || due) || s.sample && due && !s.suppress {
			s.sent[c] = v
			send(p, i, v)
		}
	})
}

// each calls f with every leaf of ports that a pattern selects.
func (p *pattern) each(ports []Port, f func(p *Port, leaf int, v any)) {
	for i := range ports {
		if p.name != "" && p.name != ports[i].Name {
			continue
		}
		for _, l := range p.leaves {
			if v := leaves[l].value(&ports[i]); v != nil {
				f(&ports[i], l, v)
			}
		}
	}
}

// A report gathers updates as notifications, one a port.
type report struct {
	at       time.Time
	prefix   *gpb.Path
	encoding gpb.Encoding
	all      []*gpb.Notification
	ports    []uint32 // of all
}

// newReport makes one for a client that gave a prefix; its target is repeated.
func newReport(at time.Time, prefix *gpb.Path, e gpb.Encoding) *report {
	r := &report{at: at, encoding: e}
	if t := prefix.GetTarget(); t != "" {
		r.prefix = &gpb.Path{Target: t}
	}
	return r
}

func (r *report) add(p *Port, l int, v any) {
	i := slices.Index(r.ports, p.Number)
	if i < 0 {
		i = len(r.all)
		r.ports = append(r.ports, p.Number)
		r.all = append(r.all, &gpb.Notification{Timestamp: r.at.UnixNano(), Prefix: r.prefix})
	}
	r.all[i].Update = append(r.all[i].Update, &gpb.Update{Path: pathOf(p, &leaves[l]), Val: encode(v, r.encoding)})
}
