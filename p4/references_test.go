package p4

import (
	"strings"
	"testing"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"
)

// TestRank: whatever an entry may refer to has a lower rank than its table.
func TestRank(t *testing.T) {
	for _, c := range []struct{ referring, to string }{
		{TableMtGroup, CloneSessions},
		{TableMtProxy, TableMtGroup}, {TableMtBranch, TableMtGroup}, {TableMtReplica, TableMtGroup},
		{TableMtReplica, TableNeighbor}, {TableMtUpstream, TableNeighbor},
		{MulticastGroups, TableMtReplica},
		{TableLocalSid, MulticastGroups}, {TableLocalSid, TableNeighbor},
		{TableMtSource, MulticastGroups},
		{"ecmp_selector", TableNeighbor}, {GroupsOf("ecmp_selector"), "ecmp_selector"},
		{TableEcmp, GroupsOf("ecmp_selector")}, {TableIpv6Route, TableEcmp},
		{TableIpv6Route, TableNeighbor},
		{TableSrv6Policy, TableSrPolicy}, {TableSrPolicy, TableNeighbor},
		{TablePfcQueue, TablePfcUpstream}, {TablePfcUpstream, TableSrPolicy}, {TableEvUp, TableNeighbor},
	} {
		if Rank(c.referring) <= Rank(c.to) {
			t.Errorf("%s has rank %d and refers to %s, which has rank %d", c.referring, Rank(c.referring),
				c.to, Rank(c.to))
		}
	}
}

// TestProfilesWithoutTables: an action profile that no table has is there all the same: its groups
// refer to its members.
func TestProfilesWithoutTables(t *testing.T) {
	info := &p4config.P4Info{ActionProfiles: []*p4config.ActionProfile{{
		Preamble: &p4config.Preamble{Id: 7, Alias: "lonely"}}}}
	c, err := newContract(info)
	if err != nil {
		t.Fatal(err)
	}
	if m, g := c.rank["lonely"], c.rank[GroupsOf("lonely")]; m != 0 || g != 1 {
		t.Errorf("members have rank %d, groups %d; want 0 and 1", m, g)
	}
}

// TestParametersThatReferSaySo: a neighbor, a group or a policy in an entry is a reference.
func TestParametersThatReferSaySo(t *testing.T) {
	refers := map[string]string{
		"neighbor": TableNeighbor, "mcast_group": MulticastGroups, "cnp_session": CloneSessions,
		"policy": TableSrPolicy,
	}
	found := map[string]int{}
	for _, a := range P4Info().GetActions() {
		for _, p := range a.GetParams() {
			to, ok := refers[p.GetName()]
			if !ok {
				continue
			}
			found[p.GetName()]++
			if got := annotated(refersTo, p.GetAnnotations()); len(got) != 1 || got[0] != to {
				t.Errorf("parameter %s of %s refers to %v, want %s", p.GetName(), a.GetPreamble().GetAlias(),
					got, to)
			}
		}
	}
	for name := range refers {
		if found[name] == 0 {
			t.Errorf("no action has a parameter %s", name)
		}
	}
}

// TestOwner: a feature owns a whole table, one of the table's actions, or a nonzero field.
func TestOwner(t *testing.T) {
	for _, c := range []struct{ table, action, nonZero, want string }{
		{TableNeighbor, ActionSetMacs, "", ""},
		{TableMtBranch, ActionSetBranch, "group", OwnerMulticast},
		{TableMtBranch, ActionSetBranch, "", OwnerMulticast},
		{TableIpv6Route, ActionForward, "", OwnerRoutes},
		{TableIpv6Route, ActionForward, "vrf", OwnerPfc},
		{TableLocalSid, ActionEndDt6, "", ""},
		{TableLocalSid, ActionEndDt6, "vrf", OwnerPfc},
		{TableLocalSid, ActionEnd, "vrf", ""},
		{TableSrv6Policy, ActionHEncaps1, "", ""},
		{TableSrv6Policy, ActionVpnSteer, "", OwnerPfc},
		{TablePfcSid7, ActionUpstreamPfc, "", OwnerPfc},
		{TableSlice, ActionSetSlice, "", OwnerPfc},
	} {
		got := Owner(c.table, c.action, func(field string) bool { return field == c.nonZero })
		if got != c.want {
			t.Errorf("%s, %s, %q not zero: %q, want %q", c.table, c.action, c.nonZero, got, c.want)
		}
	}
}

// TestBadReferences: a circle and a reference to nothing are errors that name the objects.
func TestBadReferences(t *testing.T) {
	table := func(id uint32, name string, annotations ...string) *p4config.Table {
		return &p4config.Table{
			Preamble:    &p4config.Preamble{Id: id, Alias: name},
			MatchFields: []*p4config.MatchField{{Id: 1, Name: "f", Annotations: annotations}},
		}
	}
	for _, c := range []struct {
		name   string
		tables []*p4config.Table
		want   string
	}{
		{"circle", []*p4config.Table{table(1, "a", "@refers_to(b , f)"),
			table(2, "b", "@refers_to(a , f)")}, "circle"},
		{"itself", []*p4config.Table{table(1, "a", "@refers_to(a , f)")}, "circle: a, a"},
		{"nothing", []*p4config.Table{table(1, "a", "@refers_to(c , f)")},
			"a refers to c, which is not in P4Info"},
	} {
		if _, err := newContract(&p4config.P4Info{Tables: c.tables}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
	}
}
