package p4

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// Objects outside the tables of the program that references lead to, by their names in SAI P4.
const (
	MulticastGroups = "builtin::multicast_group_table"
	CloneSessions   = "builtin::clone_session_table"
)

// Features that own entries, as @weft_owner names them.
const (
	OwnerMulticast = "multicast"
	OwnerPfc       = "pfc"
	OwnerRoutes    = "routes"
)

// GroupsOf names the groups of an action profile. The name of the profile itself stands for its
// members.
func GroupsOf(profile string) string { return profile + "/groups" }

// Rank returns the place of an object in the order of writes: an entry refers only to entries of
// objects with a lower rank. The object is a table, an action profile (its members), [GroupsOf]
// one, or [MulticastGroups] or [CloneSessions]. Rank is 0 for an object that P4Info lacks.
func Rank(object string) int { return fabricContract().rank[object] }

// Owner returns the feature that an entry of a table belongs to, "" for the underlay that all
// features share. nonZero reports whether a match field or action parameter of the entry is there
// and not zero.
func Owner(table, action string, nonZero func(field string) bool) string {
	c := fabricContract()
	for _, v := range c.fields[table] {
		if v.field == "" || nonZero(v.field) {
			return v.owner
		}
	}
	for _, v := range c.actions[action] {
		if v.field == "" || nonZero(v.field) {
			return v.owner
		}
	}
	return c.tables[table]
}

// Annotations of the program, as p4c writes them to P4Info. @refers_to(table, field) marks a match
// field or an action parameter with values of that field. @referenced_by(table, field) marks a
// match field with values that the named field contains. @weft_owner("feature") names the feature
// that owns all entries of a table, or the entries with an action, or the entries with a nonzero
// value in a match field or parameter.
var (
	refersTo     = regexp.MustCompile(`^@refers_to\(([^,]+),`)
	referencedBy = regexp.MustCompile(`^@referenced_by\(([^,]+),`)
	owner        = regexp.MustCompile(`^@weft_owner\("(\w+)"\)$`)
)

// annotated returns what the first group of an expression matches in each annotation. P4Info has
// spaces between the tokens of an annotation.
func annotated(expression *regexp.Regexp, annotations []string) (values []string) {
	for _, a := range annotations {
		if m := expression.FindStringSubmatch(strings.ReplaceAll(a, " ", "")); m != nil {
			values = append(values, m[1])
		}
	}
	return values
}

// contract is what the annotations say, by names (aliases).
type contract struct {
	rank    map[string]int // of tables, action profiles, their groups and builtin objects
	tables  map[string]string
	fields  map[string][]owned // by table: match fields
	actions map[string][]owned // by action: itself, and parameters
}

// owned is a field or parameter that belongs to a feature when nonzero; for an action, field is
// empty.
type owned struct{ field, owner string }

var fabricContract = sync.OnceValue(func() *contract {
	c, err := newContract(P4Info())
	if err != nil {
		panic(err) // the tests read it
	}
	return c
})

func newContract(info *p4config.P4Info) (*contract, error) {
	c := &contract{rank: map[string]int{}, tables: map[string]string{}, fields: map[string][]owned{},
		actions: map[string][]owned{}}
	own := func(to map[string][]owned, name, field string, annotations []string) {
		for _, o := range annotated(owner, annotations) {
			to[name] = append(to[name], owned{field, o})
		}
	}
	names := map[uint32]string{}
	after := map[string][]string{MulticastGroups: nil, CloneSessions: nil} // what an object refers to
	actions := map[uint32][]string{}
	for _, a := range info.GetActions() {
		name := a.GetPreamble().GetAlias()
		own(c.actions, name, "", a.GetPreamble().GetAnnotations())
		for _, p := range a.GetParams() {
			actions[a.GetPreamble().GetId()] = append(actions[a.GetPreamble().GetId()],
				annotated(refersTo, p.GetAnnotations())...)
			own(c.actions, name, p.GetName(), p.GetAnnotations())
		}
	}
	for _, p := range info.GetActionProfiles() {
		name := p.GetPreamble().GetAlias()
		names[p.GetPreamble().GetId()] = name
		after[name] = nil
		after[GroupsOf(name)] = []string{name}
	}
	for _, t := range info.GetTables() {
		name := t.GetPreamble().GetAlias()
		for _, o := range annotated(owner, t.GetPreamble().GetAnnotations()) {
			c.tables[name] = o
		}
		if _, ok := after[name]; !ok {
			after[name] = nil
		}
		for _, f := range t.GetMatchFields() {
			after[name] = append(after[name], annotated(refersTo, f.GetAnnotations())...)
			for _, by := range annotated(referencedBy, f.GetAnnotations()) {
				after[by] = append(after[by], name)
			}
			own(c.fields, name, f.GetName(), f.GetAnnotations())
		}
		// A table with an action profile takes its actions from the members of the profile.
		holder := name
		if profile := names[t.GetImplementationId()]; profile != "" {
			after[name] = append(after[name], GroupsOf(profile))
			holder = profile
		}
		for _, a := range t.GetActionRefs() {
			after[holder] = append(after[holder], actions[a.GetId()]...)
		}
	}
	for name := range after {
		if _, err := c.order(name, after, nil); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// order returns the rank of an object: the length of the longest chain of references from it.
func (c *contract) order(name string, after map[string][]string, chain []string) (int, error) {
	if r, ok := c.rank[name]; ok {
		return r, nil
	}
	if slices.Contains(chain, name) {
		return 0, fmt.Errorf("p4: references go in a circle: %s, %s", strings.Join(chain, ", "), name)
	}
	to, ok := after[name]
	if !ok {
		return 0, fmt.Errorf("p4: %s refers to %s, which is not in P4Info", chain[len(chain)-1], name)
	}
	rank := 0
	for _, t := range to {
		r, err := c.order(t, after, append(chain, name))
		if err != nil {
			return 0, err
		}
		rank = max(rank, r+1)
	}
	c.rank[name] = rank
	return rank, nil
}
