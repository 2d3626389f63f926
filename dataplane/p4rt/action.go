package p4rt

import (
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/dataplane/engine"
)

// call converts an action specification to the engine's form. Every parameter
// must be given once; there are no defaults (P4Runtime specification, "Action
// Specification"). The arguments are in the memory of buf where they fit.
func (a *actionUse) call(x texts, buf [][]byte, args []*p4v1.Action_Param) (engine.ActionCall,
	*Error) {
	c := engine.ActionCall{Action: a.engine,
		Args: slices.Grow(buf[:0], len(a.params))[:len(a.params)]}
	clear(c.Args)
	for n, p := range args {
		i, ok := n, n < len(a.params) && a.params[n].id == p.GetParamId() // mostly in order
		if !ok {
			i, ok = a.byID[p.GetParamId()]
		}
		if !ok {
			return c, invalid("action %q has no parameter with id %d; want %s", a.name, p.GetParamId(),
				a.ids())
		}
		if c.Args[i] != nil {
			return c, invalid("action %q: parameter %q (id %d) is given twice", a.name, a.params[i].name,
				p.GetParamId())
		}
		var err *Error
		if c.Args[i], err = a.params[i].value(x, p.GetValue()); err != nil {
			return c, err.in("action %q: parameter %q (id %d)", a.name, a.params[i].name, p.GetParamId())
		}
	}
	for i, v := range c.Args {
		if v == nil {
			return c, invalid("action %q: parameter %q (id %d) is missing", a.name, a.params[i].name,
				a.params[i].id)
		}
	}
	return c, nil
}

// ids lists the parameters of the action for messages.
func (a *actionSchema) ids() string {
	if len(a.params) == 0 {
		return "none"
	}
	var b strings.Builder
	for i, p := range a.params {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d (%s)", p.id, p.name)
	}
	return b.String()
}

// find returns the action with an id as the table uses it.
func (t *tableSchema) find(id uint32) (*actionUse, *Error) {
	if a := t.actions[id]; a != nil {
		return a, nil
	}
	names := make([]string, 0, len(t.actions))
	for _, a := range t.actions {
		names = append(names, a.name)
	}
	slices.Sort(names)
	return nil, invalid("action id 0x%08x is not an action of the table; want one of %s", id,
		strings.Join(names, ", "))
}

// actionCall converts an action of an entry, or of the default entry; buf is as in call.
func (t *tableSchema) actionCall(x texts, buf [][]byte, act *p4v1.Action,
	asDefault bool) (engine.ActionCall, *Error) {
	a, err := t.find(act.GetActionId())
	if err != nil {
		return engine.ActionCall{}, err
	}
	switch {
	case asDefault && a.scope == configv1.ActionRef_TABLE_ONLY:
		return engine.ActionCall{}, errorf(codes.PermissionDenied,
			"action %q is @tableonly: it cannot be the default action", a.name)
	case !asDefault && a.scope == configv1.ActionRef_DEFAULT_ONLY:
		return engine.ActionCall{}, errorf(codes.PermissionDenied,
			"action %q is @defaultonly: it can only be the default action", a.name)
	}
	return a.call(x, buf, act.GetParams())
}

// action is the inverse of actionCall. It returns nil for an action that the
// P4Info does not list.
func (t *tableSchema) action(x texts, c engine.ActionCall) *p4v1.Action {
	a := t.byEngine[c.Action]
	if a == nil {
		return nil
	}
	out := new(p4v1.Action)
	if len(a.params) > 0 {
		out.Params = make([]*p4v1.Action_Param, len(a.params))
		for i := range out.Params {
			out.Params[i] = new(p4v1.Action_Param)
		}
	}
	a.fill(x, out, c)
	return out
}

// fill sets an action that has its parameters, but not their values.
func (a *actionUse) fill(x texts, out *p4v1.Action, c engine.ActionCall) {
	out.ActionId = a.id
	for i := range a.params {
		out.Params[i].ParamId, out.Params[i].Value = a.params[i].id, a.params[i].told(x, c.Args[i])
	}
}

// oneShotModes holds the settings of a one-shot action set. The engine does not keep them, because
// they always equal the settings of the selector.
type oneShotModes struct {
	mode p4v1.ActionProfileActionSet_ActionSelectionMode
	size p4v1.ActionProfileActionSet_SizeSemantics
}

// target converts the action of a table entry. The kind must fit the table's
// implementation. The arguments of a direct action are in the memory of buf where they fit.
func (t *tableSchema) target(x texts, buf [][]byte, act *p4v1.TableAction,
	ports portCheck) (engine.Target, oneShotModes, *Error) {
	var modes oneShotModes
	want := "an action"
	if t.profile != nil {
		want = "an action profile member id"
		if t.profile.selector {
			want = "an action profile member id, a group id or an action set"
		}
	}
	mismatch := func(got string) *Error {
		return invalid("the table action is %s; want %s", got, want)
	}
	switch a := act.GetType().(type) {
	case *p4v1.TableAction_Action:
		if t.profile != nil {
			return engine.Target{}, modes, mismatch("an action")
		}
		c, err := t.actionCall(x, buf, a.Action, false)
		return engine.Target{Kind: engine.TargetAction, Action: c}, modes, err
	case *p4v1.TableAction_ActionProfileMemberId:
		if t.profile == nil {
			return engine.Target{}, modes, mismatch("an action profile member id")
		}
		if a.ActionProfileMemberId == 0 {
			return engine.Target{}, modes, invalid("action_profile_member_id is 0; want the id of a member")
		}
		return engine.Target{Kind: engine.TargetMember, Member: a.ActionProfileMemberId}, modes, nil
	case *p4v1.TableAction_ActionProfileGroupId:
		if t.profile == nil || !t.profile.selector {
			return engine.Target{}, modes, mismatch("an action profile group id")
		}
		if a.ActionProfileGroupId == 0 {
			return engine.Target{}, modes, invalid("action_profile_group_id is 0; want the id of a group")
		}
		return engine.Target{Kind: engine.TargetGroup, Group: a.ActionProfileGroupId}, modes, nil
	case *p4v1.TableAction_ActionProfileActionSet:
		if t.profile == nil || !t.profile.selector {
			return engine.Target{}, modes, mismatch("an action set")
		}
		return t.actionSet(x, a.ActionProfileActionSet, ports)
	}
	return engine.Target{}, modes, mismatch("empty")
}

func (t *tableSchema) actionSet(x texts, set *p4v1.ActionProfileActionSet,
	ports portCheck) (engine.Target, oneShotModes, *Error) {
	p := t.profile
	modes := oneShotModes{set.GetActionSelectionMode(), set.GetSizeSemantics()}
	out := engine.Target{Kind: engine.TargetActionSet}
	switch modes.mode {
	case p4v1.ActionProfileActionSet_DEFAULT_MODE_DETERMINED_BY_ACTION_SELECTOR,
		p4v1.ActionProfileActionSet_HASH:
	case p4v1.ActionProfileActionSet_RANDOM:
		out.Random = true
	default:
		return out, modes, invalid("action_selection_mode %s; want HASH or RANDOM", modes.mode)
	}
	own := p4v1.ActionProfileActionSet_SUM_OF_WEIGHTS
	if p.sumOfMembers {
		own = p4v1.ActionProfileActionSet_SUM_OF_MEMBERS
	}
	if modes.size != p4v1.ActionProfileActionSet_DEFAULT_SIZE_DETERMINED_BY_ACTION_SELECTOR &&
		modes.size != own {
		return out, modes, errorf(codes.Unimplemented,
			"size semantics %s; those of action selector %q are %s", modes.size, p.name, own)
	}
	if len(set.GetActionProfileActions()) == 0 {
		return out, modes, invalid("the action set is empty; want 1 action or more")
	}
	sizes := p.newGroupSize(p.maxGroupSize)
	for i, a := range set.GetActionProfileActions() {
		if a.GetAction() == nil {
			return out, modes, invalid("action %d of the set is not set", i)
		}
		c, err := t.actionCall(x, nil, a.GetAction(), false)
		if err != nil {
			return out, modes, err.in("action %d of the set", i)
		}
		w, err := sizes.add(a.GetWeight())
		if err != nil {
			return out, modes, err.in("action %d of the set", i)
		}
		if _, old := a.GetWatchKind().(*p4v1.ActionProfileAction_Watch); old {
			return out, modes, invalid("action %d of the set: watch is deprecated; use watch_port", i)
		}
		port, err := ports.watch(a.GetWatchPort())
		if err != nil {
			return out, modes, err.in("action %d of the set", i)
		}
		out.Set = append(out.Set, engine.WeightedAction{ActionCall: c, Weight: w, WatchPort: port})
	}
	return out, modes, nil
}

// tableAction is the inverse of target. An action the P4Info does not list
// gives nil.
func (t *tableSchema) tableAction(x texts, to engine.Target, modes oneShotModes) *p4v1.TableAction {
	switch to.Kind {
	case engine.TargetAction:
		a := t.action(x, to.Action)
		if a == nil {
			return nil
		}
		return &p4v1.TableAction{Type: &p4v1.TableAction_Action{Action: a}}
	case engine.TargetMember:
		return &p4v1.TableAction{
			Type: &p4v1.TableAction_ActionProfileMemberId{ActionProfileMemberId: to.Member}}
	case engine.TargetGroup:
		return &p4v1.TableAction{
			Type: &p4v1.TableAction_ActionProfileGroupId{ActionProfileGroupId: to.Group}}
	}
	set := &p4v1.ActionProfileActionSet{ActionSelectionMode: modes.mode, SizeSemantics: modes.size}
	for _, w := range to.Set {
		a := &p4v1.ActionProfileAction{Action: t.action(x, w.ActionCall), Weight: int32(w.Weight)}
		if t.profile.noWeights {
			a.Weight = 0
		}
		if w.WatchPort != engine.NoPort {
			a.WatchKind = &p4v1.ActionProfileAction_WatchPort{WatchPort: portBytes(w.WatchPort)}
		}
		set.ActionProfileActions = append(set.ActionProfileActions, a)
	}
	return &p4v1.TableAction{
		Type: &p4v1.TableAction_ActionProfileActionSet{ActionProfileActionSet: set}}
}

// groupSize checks the weights and the size of a group, or of a one-shot action set, while it
// grows.
type groupSize struct {
	p    *profileSchema
	max  int64 // 0: no limit
	size int64
}

func (p *profileSchema) newGroupSize(max int32) groupSize {
	return groupSize{p: p, max: int64(max)}
}

// add takes one member and returns the weight the engine gets.
func (g *groupSize) add(weight int32) (int, *Error) {
	if g.p.noWeights {
		if weight != 0 {
			return 0, invalid("weight %d; action selector %q disallows weights, leave it 0", weight,
				g.p.name)
		}
		weight = 1
	} else if weight <= 0 {
		return 0, invalid("weight %d; want 1 or more", weight)
	}
	what := "the sum of the weights"
	if g.p.sumOfMembers {
		what = "the number of members"
		if g.p.maxWeight > 0 && weight > g.p.maxWeight {
			return 0, invalid("weight %d; action selector %q allows at most %d", weight, g.p.name,
				g.p.maxWeight)
		}
		g.size++
	} else {
		g.size += int64(weight)
	}
	if g.max > 0 && g.size > g.max {
		return 0, invalid("%s is %d with this one; want at most %d", what, g.size, g.max)
	}
	// The size of a selector counts all its groups, and so bounds each (P4Runtime, "ActionProfile").
	if g.p.size > 0 && g.size > g.p.size {
		return 0, errorf(codes.ResourceExhausted,
			"%s is %d with this one; action selector %q has a size of %d", what, g.size, g.p.name, g.p.size)
	}
	return int(weight), nil
}
