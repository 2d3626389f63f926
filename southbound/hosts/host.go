package hosts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
)

// A Host holds the controller's knowledge of a host: the wanted state, the present state, and the
// update on its way. A Host is not safe for concurrent use.
type Host struct {
	name    string
	epoch   uint64
	retry   time.Duration
	deltas  *deltas // of all hosts
	number  uint64  // of the last update
	desired *hostapi.State
	wanted  bool // desired was set

	hello     hostapi.Hello // the last
	connected bool

	held    holding
	sent    sending // on its way, when sentOK
	sentOK  bool
	refused map[string]refusal
	fresh   []hostapi.Refused // refused here and not taken yet

	unsaid bool // whether it obeys has not been said since something was set, or it opened a stream
	say    bool // it obeys, without having been sent anything
}

// holding is a state with its version. The zero holding belongs to a host with an unknown state.
type holding struct {
	version hostapi.Version
	state   *hostapi.State
	of      *hostapi.State // what it was made of: the desired state, less what is refused
}

// sending holds the state that a host will have after the update on its way, and the delta of the
// update.
type sending struct {
	holding
	delta *delta
}

// refusal is what a host would not take: everything when its key is "", or one profile.
type refusal struct {
	why     hostapi.Refused
	state   *hostapi.State     // of all that was refused
	profile *hostapi.Profile   // or of the profile
	cc      *hostapi.CCProfile // or of the CC profile
	frozen  bool               // the profile is left as the host has it, denials too
	retry   time.Time          // when to try again; zero: when it changes
}

// NewHost returns a host with an unknown state. epoch differs after every start of the controller;
// retry is how long to wait after a temporary refusal.
func NewHost(name string, epoch uint64, retry time.Duration) *Host {
	return newHost(name, epoch, retry, new(deltas))
}

func newHost(name string, epoch uint64, retry time.Duration, d *deltas) *Host {
	return &Host{name: name, epoch: epoch, retry: retry, deltas: d, refused: make(map[string]refusal)}
}

// Set sets the wanted state of the host. A host without any Set keeps its present state.
func (h *Host) Set(s *hostapi.State) {
	if s == nil {
		s = &hostapi.State{}
	}
	h.desired, h.wanted, h.unsaid = s, true, true
}

// Unset withdraws the state that was set. The host keeps the state that it has.
func (h *Host) Unset() {
	h.desired, h.wanted, h.unsaid, h.say = nil, false, false, false
	clear(h.refused)
}

// Hello begins a new stream of the host. It reports whether the controller knows the host's state,
// so that a delta is enough.
func (h *Host) Hello(m *hostapi.Hello) (resumed bool) {
	switch none := (hostapi.Version{}); {
	case m.Version != none && m.Version == h.held.version:
	case m.Version != none && h.sentOK && m.Version == h.sent.version: // its answer was lost
		h.held = h.sent.holding
	default:
		h.held = holding{}
	}
	h.hello, h.connected, h.sentOK, h.sent = *m, true, false, sending{}
	clear(h.refused)
	h.unsaid, h.say = true, false
	return h.held.state != nil
}

// Gone is the end of the stream.
func (h *Host) Gone() { h.connected = false }

// Next returns the update to send now; nil if the host has everything, an update is on its way, or
// the host is not connected. If wake is not zero, the caller must ask again by that time.
func (h *Host) Next(now time.Time) (u *hostapi.Update, wake time.Time) {
	if !h.connected || !h.wanted || h.sentOK {
		return nil, time.Time{}
	}
	for key, r := range h.refused {
		if !r.retry.IsZero() && !now.Before(r.retry) {
			delete(h.refused, key)
		}
	}
	// Every turn refuses one more profile or part of a profile, or is the last turn.
	for range 2*(len(h.desired.Profiles)+len(h.desired.CC)) + 2 {
		target := h.target()
		if target == nil || h.held.state != nil && target == h.held.state {
			h.say = h.unsaid && h.Obeys()
			return nil, h.wake()
		}
		d := h.deltas.diff(h.held.state, target,
			h.hello.Capabilities.OptAttr&hostapi.OptEVProfileModifyOnline != 0)
		if h.held.state != nil && d.Empty() {
			// the same, in the shape that the next comparison has
			h.held.state, h.held.of = target, h.desired
			h.say = h.unsaid && h.Obeys()
			return nil, h.wake()
		}
		if err := h.hello.Capabilities.CheckUpdate(target, &d.Delta); err != nil {
			r := hostapi.AsRefusal(hostapi.Version{}, err)
			h.refuse(r, now)
			h.fresh = append(h.fresh, *r)
			continue
		}
		h.number++
		h.sent = sending{holding{version: hostapi.Version{Epoch: h.epoch, Number: h.number},
			state: target, of: h.desired}, d}
		h.sentOK = true
		return &hostapi.Update{Version: h.sent.version, Base: h.held.version, Delta: d.Delta}, h.wake()
	}
	return nil, h.wake()
}

// wake is the earliest time at which something refused is tried again.
func (h *Host) wake() time.Time {
	var first time.Time
	for _, r := range h.refused {
		if !r.retry.IsZero() && (first.IsZero() || r.retry.Before(first)) {
			first = r.retry
		}
	}
	return first
}

// Applied is the host's answer that it holds a version.
func (h *Host) Applied(v hostapi.Version) error {
	if !h.sentOK || v != h.sent.version {
		return fmt.Errorf("%w: applied.version: %v, want %v", ErrProtocol, v, h.awaited())
	}
	h.held, h.sentOK, h.sent = h.sent.holding, false, sending{}
	if h.Obeys() {
		h.unsaid = false
	}
	return nil
}

// Refused is the host's answer that it did not apply a version.
func (h *Host) Refused(r *hostapi.Refused, now time.Time) error {
	if !h.sentOK || r.Version != h.sent.version {
		return fmt.Errorf("%w: refused.version: %v, want %v", ErrProtocol, r.Version, h.awaited())
	}
	h.sentOK, h.sent = false, sending{}
	if r.Code == hostapi.CodeUnknownBase && h.held.version != (hostapi.Version{}) {
		h.held = holding{}
		return nil
	}
	h.refuse(r, now)
	return nil
}

func (h *Host) awaited() hostapi.Version {
	if h.sentOK {
		return h.sent.version
	}
	return hostapi.Version{}
}

// refuse records a refusal, as narrowly as its field allows.
func (h *Host) refuse(r *hostapi.Refused, now time.Time) {
	entry := refusal{why: *r}
	if r.Code != hostapi.CodeInvalid && r.Code != hostapi.CodeUnsupported {
		entry.retry = now.Add(h.retry)
	}
	kind, name := subject(r.Field)
	key := kind + name
	before, again := h.refused[key]
	switch {
	case kind == "profile:" && h.desired.Profile(name) != nil && !(again && before.frozen):
		entry.profile, entry.frozen = h.desired.Profile(name), again
	case kind == "cc:" && h.desired.CCProfile(name) != nil && !again:
		entry.cc = h.desired.CCProfile(name)
	default:
		key, entry.state = "", h.desired
	}
	h.refused[key] = entry
}

// subject is which profile a field belongs to.
func subject(field string) (kind, name string) {
	for prefix, kind := range map[string]string{"set_profiles[": "profile:",
		"change_profiles[": "profile:", "set_cc_profiles[": "cc:"} {
		if rest, ok := strings.CutPrefix(field, prefix); ok {
			if name, _, ok := strings.Cut(rest, "]"); ok {
				return kind, name
			}
		}
	}
	return "", ""
}

// Refusals are the refusals in force, in the order of their fields. Each has the version that was
// refused; a zero one was refused here, for the host's capabilities.
func (h *Host) Refusals() []hostapi.Refused {
	out := make([]hostapi.Refused, 0, len(h.refused))
	for _, r := range h.refused {
		out = append(out, r.why)
	}
	slices.SortFunc(out, func(a, b hostapi.Refused) int { return cmp.Compare(a.Field, b.Field) })
	return out
}

// TakeRefusals are the refusals made here, for the host's capabilities, since they were last taken.
func (h *Host) TakeRefusals() []hostapi.Refused {
	fresh := h.fresh
	h.fresh = nil
	return fresh
}

// Current reports whether the host holds all that it should hold.
func (h *Host) Current() bool {
	return h.wanted && h.held.state != nil && !h.sentOK && len(h.refused) == 0 &&
		h.held.state == h.desired
}

// Obeys reports whether the host holds the wanted state as far as it accepts that state, and uses
// no EV denied to it: if the host refuses anything, the refused part is new to the host.
func (h *Host) Obeys() bool {
	if !h.wanted || h.held.state == nil || h.sentOK || h.held.of != h.desired &&
		h.held.state != h.desired {
		return false
	}
	for key, r := range h.refused {
		if key == "" || r.frozen {
			return false
		}
	}
	return true
}

// TakeObeyed reports, once, that the host now obeys although nothing was sent, because its state
// already equals the wanted state.
func (h *Host) TakeObeyed() bool {
	say := h.say
	if say {
		h.say, h.unsaid = false, false
	}
	return say
}

// Held returns the version that the host last acknowledged, and the state of that version; nil if
// the controller does not know the state.
func (h *Host) Held() (hostapi.Version, *hostapi.State) { return h.held.version, h.held.state }

// Knows reports whether the host may report an EV: the EV belongs to a profile that the host holds,
// or will hold once the host has applied the update on its way. Otherwise Knows returns the reason.
func (h *Host) Knows(profile string, v hostapi.EV) error {
	var err error
	for _, state := range []*hostapi.State{h.held.state, h.sent.state} {
		p := state.Profile(profile)
		switch {
		case p == nil && err == nil:
			err = fmt.Errorf("%w: profile: %q is not one that host %s holds", ErrUnknownEV, profile, h.name)
		case p == nil:
		case p.Mode == hostapi.ModeAuto || p.Has(v):
			return nil
		default:
			err = fmt.Errorf("%w: ev: %v is not one of profile %q of host %s", ErrUnknownEV, v, profile,
				h.name)
		}
	}
	return err
}

// target returns the wanted state without the refused parts; nil: the host refuses everything.
func (h *Host) target() *hostapi.State {
	h.forgetChanged()
	if len(h.refused) == 0 {
		return h.desired
	}
	if _, all := h.refused[""]; all {
		return nil
	}
	next := *h.desired
	next.CC, next.Profiles = nil, nil
	for _, c := range h.desired.CC {
		if _, no := h.refused["cc:"+c.Name]; no {
			if c = h.held.state.CCProfile(c.Name); c == nil {
				continue
			}
		}
		next.CC = append(next.CC, c)
	}
	for _, p := range h.desired.Profiles {
		if r, no := h.refused["profile:"+p.Name]; no {
			if p = h.fallback(p, r.frozen); p == nil {
				continue
			}
		}
		if p.CC != "" && next.CCProfile(p.CC) == nil {
			q := *p
			q.CC = "" // the host cannot hold it: the device's own choice
			p = &q
		}
		next.Profiles = append(next.Profiles, p)
	}
	made, err := hostapi.NewState(next)
	if err != nil { // what the host keeps does not go with what is new: it goes
		next.Profiles = slices.DeleteFunc(slices.Clone(next.Profiles), func(p *hostapi.Profile) bool {
			_, no := h.refused["profile:"+p.Name]
			return no
		})
		if made, err = hostapi.NewState(next); err != nil {
			return nil
		}
	}
	return made
}

// fallback returns the profile that a host keeps if it refuses a new profile: the present profile,
// without the EVs that the new profile denies or lacks; nil if the host has no such profile.
func (h *Host) fallback(p *hostapi.Profile, frozen bool) *hostapi.Profile {
	old := h.held.state.Profile(p.Name)
	if old == nil || frozen {
		return old
	}
	denied := slices.DeleteFunc(slices.Clone(p.Denied), func(v hostapi.EV) bool { return !old.Has(v) })
	if old.Mode == hostapi.ModeExplicit && p.Mode == hostapi.ModeExplicit {
		more := slices.Clone(denied)
		for _, v := range old.EVs {
			if !p.Has(v) && !slices.Contains(more, v) {
				more = append(more, v)
			}
		}
		if q := old.WithDenied(more); q.Active() > 0 {
			return q
		}
	}
	return old.WithDenied(denied)
}

// forgetChanged drops the refusals of parts that have since changed in the wanted state; the
// controller then sends these parts again.
func (h *Host) forgetChanged() {
	for key, r := range h.refused {
		kind, name, _ := strings.Cut(key, ":")
		var same bool
		switch kind {
		case "":
			same = r.state == h.desired
		case "profile":
			p := h.desired.Profile(name)
			same = p != nil && (p == r.profile || p.SameDefinition(r.profile))
		case "cc":
			c := h.desired.CCProfile(name)
			same = c != nil && *c == *r.cc
		}
		if !same {
			delete(h.refused, key)
		}
	}
}
