package nic

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/packet"
)

// A plan holds the changes that Apply computes before any change.
type plan struct {
	to       *hostapi.State
	profiles map[string]*profile // all of them, those that stay as they are now
	fresh    map[string]*profile // new ones, or in place of one of the name
	// indexes of values with a changed denial, in profiles without any other change
	flips map[*profile][]int
	is    map[*profile]*hostapi.Profile // what these are to be
	moved bool                          // destinations may have changed
	wire  packet.MRCSettings
}

// Apply makes the NIC hold a state in place of the one it holds, all of it or, with an error,
// nothing. The state is one of hostapi's making (NewState, State.Apply): valid by itself. The error
// is a *hostapi.FieldError that names the field that the NIC cannot hold, with CodeBusy if it could
// when queue pairs did not use what is to change. Call Advance afterwards: queue pairs may have
// waited for a path.
func (n *NIC) Apply(to *hostapi.State) error {
	if to == nil {
		to = &hostapi.State{}
	}
	p, err := n.plan(merged(to, n.local))
	if err != nil {
		return err
	}
	n.given, n.applied = to, true
	n.carryOut(p)
	return nil
}

// plan checks a state and compiles what is new in it.
func (n *NIC) plan(to *hostapi.State) (*plan, error) {
	if err := n.device.Check(to); err != nil {
		return nil, err
	}
	wire, err := n.wire(to)
	if err != nil {
		return nil, err
	}
	for _, c := range to.CC {
		if was := n.state.CCProfile(c.Name); was == c || was != nil && *was == *c {
			continue
		}
		if err := n.checkCC(c); err != nil {
			return nil, err
		}
		if !n.has(hostapi.OptCCProfileModifyOnline) && n.usesCC(c.Name) {
			return nil, refusal(hostapi.CodeBusy, fmt.Sprintf("set_cc_profiles[%s]", c.Name),
				"queue pairs use it, and the device cannot modify it ONLINE")
		}
	}
	p := &plan{
		to: to, wire: wire, profiles: make(map[string]*profile, len(to.Profiles)),
		fresh: make(map[string]*profile),
		flips: make(map[*profile][]int), is: make(map[*profile]*hostapi.Profile),
	}
	for _, is := range to.Profiles {
		was := n.profiles[is.Name]
		switch {
		case was == nil:
		case was.is == is:
			p.profiles[is.Name] = was
			continue
		case was.is.SameDefinition(is):
			p.profiles[is.Name] = was
			p.flips[was], p.is[was] = was.differing(is), is
			continue
		case was.flows > 0 && !n.has(hostapi.OptEVProfileModifyOnline):
			return nil, refusal(hostapi.CodeBusy, fmt.Sprintf("set_profiles[%s]", is.Name),
				"%d queue pairs use it, and the device cannot modify it ONLINE", was.flows)
		}
		made, err := n.compile(is)
		if err != nil {
			return nil, err
		}
		p.profiles[is.Name], p.fresh[is.Name] = made, made
		p.moved = true
	}
	for name, was := range n.profiles {
		if p.profiles[name] != nil {
			continue
		}
		p.moved = true
		if was.flows > 0 && !n.has(hostapi.OptEVProfileModifyOnline) {
			return nil, refusal(hostapi.CodeBusy, fmt.Sprintf("remove_profiles[%s]", name),
				"%d queue pairs use it", was.flows)
		}
	}
	return p, nil
}

// usesCC reports whether queue pairs have the parameters of a CC profile.
func (n *NIC) usesCC(name string) bool {
	for _, f := range n.flows {
		if f.window != nil && f.cc(f.profile) == name {
			return true
		}
	}
	return false
}

// carryOut does what was planned. Nothing in it can fail.
func (n *NIC) carryOut(p *plan) {
	before := n.profiles
	n.state, n.profiles = p.to, p.profiles
	n.DenyPorts(packet.PortMask(p.to.DeniedPorts))
	_ = n.SetWire(p.wire) // it was checked
	for was, is := range p.is {
		was.is = is
		for _, i := range p.flips[was] {
			was.made.EVs[i].Denied = is.IsDenied(was.evs[i])
		}
		if was.answers != nil {
			flip(was.answers, was, p.flips[was])
		}
	}
	if p.moved {
		n.serve = newDestinations(n.profiles)
	}
	// bad values reported to the controller, for profiles with a new version
	bad := make(map[string]map[hostapi.EV]bool)
	for name, made := range p.fresh {
		if was := before[name]; was != nil {
			made.inherit(was)
			bad[name] = was.told()
		}
	}
	for _, f := range n.flows {
		n.follow(f, p, before)
	}
	for _, is := range p.to.Profiles {
		if told, ok := bad[is.Name]; ok {
			n.compareBad(p.fresh[is.Name], told)
		}
	}
	n.retune()
}

// flip denies and allows values of a set to match its profile.
func flip(s *spray.Set, p *profile, indexes []int) {
	for _, i := range indexes {
		if p.made.EVs[i].Denied {
			_ = s.Deny(i) // the index is the profile's, here and below
		} else {
			_ = s.Allow(i)
		}
	}
}

// inherit copies the counts of remaining values from an earlier version of the profile.
func (p *profile) inherit(was *profile) {
	for _, v := range p.evs {
		if c, ok := was.retired[v]; ok {
			p.retired[v] = c
		}
	}
}

// follow has a flow use the profile that serves its peer now.
func (n *NIC) follow(f *flow, p *plan, before map[string]*profile) {
	was, now := f.profile, f.profile
	if p.moved {
		now = n.serving(f)
	}
	switch {
	case f.set == nil:
		f.profile = now
		count(was, now)
	case was == now:
		n.flipFlow(f, p)
	case was != nil && now != nil && before[now.is.Name] == was:
		// Another version of the profile: EVs in both versions keep their state. compareBad counts the
		// bad EVs again.
		f.profile = now
		count(was, now)
		n.replace(f, now, f.set.Replace)
		for i := range now.evs {
			if state, _ := f.set.State(i); state == spray.AssumedBad {
				now.bad[now.first[i]]++
			}
		}
	default:
		f.leave()
		f.profile = now
		count(nil, now)
		n.replace(f, now, f.set.Restart)
	}
	n.setPorts(f)
}

// count moves a flow from one profile to another.
func count(from, to *profile) {
	if from != nil {
		from.flows--
	}
	if to != nil {
		to.flows++
	}
}

func (n *NIC) replace(f *flow, p *profile, by func(spray.Profile) error) {
	_ = by(n.values(f, p)) // it was valid when it was compiled
	f.set.Share(p.shared())
}

// flipFlow denies and allows values of a flow. A denied value no longer counts as bad.
func (n *NIC) flipFlow(f *flow, p *plan) {
	for _, i := range p.flips[f.profile] {
		if state, _ := f.set.State(i); state == spray.AssumedBad {
			n.recovered(f.profile, i)
		}
	}
	flip(f.set, f.profile, p.flips[f.profile])
}

// told returns the values reported to the controller as bad.
func (p *profile) told() map[hostapi.EV]bool {
	told := make(map[hostapi.EV]bool)
	for i, count := range p.bad {
		if count > 0 && p.is.Events {
			told[p.evs[i]] = true
		}
	}
	return told
}

// compareBad reports changes of bad values after a new version of a profile: values that no queue
// pair finds bad any more become good, and bad values of a profile that begins to report become
// bad.
func (n *NIC) compareBad(p *profile, told map[hostapi.EV]bool) {
	for i, v := range p.evs {
		switch {
		case p.first[i] != i:
			continue
		case p.bad[i] > 0 && !told[v]:
			n.tell(p, i, hostapi.EVAssumedBad)
		case p.bad[i] == 0 && told[v]:
			n.tell(p, i, hostapi.EVGood)
		}
		delete(told, v)
	}
	// Values left over are absent from the new version of a generated profile, which could contain
	// them: no queue pair finds these values bad any more.
	for _, v := range slices.SortedFunc(maps.Keys(told), hostapi.EV.Compare) {
		if p.is.Events && p.is.Has(v) && !p.is.IsDenied(v) {
			n.event(hostapi.EVEvent{Profile: p.is.Name, EV: v, State: hostapi.EVGood})
		}
	}
}

// retune applies the congestion control parameters to all flows.
func (n *NIC) retune() {
	type of struct {
		cc  string
		mtu int
	}
	made := make(map[of]nscc.Config)
	for _, f := range n.flows {
		at := of{mtu: f.mtu, cc: f.cc(f.profile)}
		c, ok := made[at]
		if !ok {
			c, _ = n.congestion(n.state, at.cc, f.mtu) // it was checked
			made[at] = c
		}
		f.setCongestion(c)
	}
}
