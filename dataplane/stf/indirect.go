package stf

import (
	"fmt"
	"math/big"

	"github.com/weft-sdn/weft/dataplane/engine"
)

// AddToSet adds a member to a parser value set.
type AddToSet struct {
	Set   string
	Value *big.Int
}

// Member makes a member of an action profile or selector. Members of a profile have numbers from 0.
type Member struct {
	Profile string
	Action  Action
}

// MemberGroup makes a group of an action selector, numbered like members.
type MemberGroup struct {
	Profile string
}

// Join adds a member to a group.
type Join struct {
	Profile       string
	Member, Group int
}

// AddIndirect inserts an entry that names a member or a group.
type AddIndirect struct {
	Add
	Group bool
	To    int
}

func (r *run) profile(name string) (int, error) {
	return find("action profile", name, r.program.Profiles(), func(p engine.ProfileInfo) string {
		return p.Name
	})
}

func (r *run) addToSet(s AddToSet) error {
	i, err := find("value set", s.Set, r.program.ValueSets(), func(v engine.ValueSetInfo) string {
		return v.Name
	})
	if err != nil {
		return err
	}
	all, err := r.sw.ValueSet(i)
	if err != nil {
		return err
	}
	octets := (r.program.ValueSets()[i].Width + 7) / 8
	if s.Value.BitLen() > 8*octets {
		return fmt.Errorf("value set %s: %#x has more than %d octets", s.Set, s.Value, octets)
	}
	return r.sw.SetValueSet(i, append(all, s.Value.FillBytes(make([]byte, octets))))
}

func (r *run) member(s Member) error {
	i, err := r.profile(s.Profile)
	if err != nil {
		return err
	}
	info := &r.program.Profiles()[i]
	call, err := r.callOf("action profile "+info.Name, info.Actions, s.Action)
	if err != nil {
		return err
	}
	return r.sw.InsertMember(i, engine.Member{ID: count(r.sw.Members(i)), Action: call})
}

// count is how many elements a sequence has.
func count[T any](all func(func(T) bool)) (n uint32) {
	for range all {
		n++
	}
	return n
}

func (r *run) memberGroup(s MemberGroup) error {
	i, err := r.profile(s.Profile)
	if err != nil {
		return err
	}
	return r.sw.InsertGroup(i, engine.Group{ID: count(r.sw.Groups(i))})
}

func (r *run) join(s Join) error {
	i, err := r.profile(s.Profile)
	if err != nil {
		return err
	}
	g, err := r.sw.Group(i, uint32(s.Group))
	if err != nil {
		return err
	}
	g.Members = append(g.Members, engine.GroupMember{Member: uint32(s.Member), Weight: 1,
		WatchPort: engine.NoPort})
	return r.sw.ModifyGroup(i, g)
}

func (r *run) addIndirect(s AddIndirect) error {
	t, err := r.table(s.Table)
	if err != nil {
		return err
	}
	e, err := r.keys(t, s.Add)
	if err != nil {
		return err
	}
	e.Target = engine.Target{Kind: engine.TargetMember, Member: uint32(s.To)}
	if s.Group {
		e.Target = engine.Target{Kind: engine.TargetGroup, Group: uint32(s.To)}
	}
	return r.sw.InsertEntry(t, e)
}
