package causes

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// TestOutOfUse: a maintenance explains the down state of its objects: a cable, a switch with its
// consequences, a port of a host. None of these is a fault. A down object outside of the
// maintenance is a fault.
func TestOutOfUse(t *testing.T) {
	cut := []api.Link{link("a,1~b,1", dead), link("b,1~a,1", dead)}
	maintenance := func(
		phase api.MaintenancePhase, objects ...api.MaintenanceObject,
	) []api.Maintenance {
		return []api.Maintenance{{Name: "m", Spec: api.MaintenanceSpec{Objects: objects},
			Status: api.MaintenanceStatus{Phase: phase}}}
	}
	host := []api.Host{{Name: "h", Connected: true, Ports: []api.HostPort{{Port: 2,
		Status: api.HostPortStatus{LeafName: "A", LeafPort: 7, LinkDown: true}}}}}
	const active = api.MaintenanceActive
	for _, c := range []struct {
		name string
		k    Known
		want string
	}{
		{"a link", Known{Links: cut, Maintenances: maintenance(active,
			api.MaintenanceObject{Link: "b,1~a,1"})}, "maintenance/m[link/a,1~b,1]"},
		{"another link", Known{Links: cut, Maintenances: maintenance(active,
			api.MaintenanceObject{Link: "b,2~a,2"})}, "link/a,1~b,1[] maintenance/m[]"},
		{"a plane, while it is drained", Known{Links: cut,
			Maintenances: maintenance(api.MaintenanceDraining, api.MaintenanceObject{Plane: 1})},
			"maintenance/m[link/a,1~b,1]"},
		{"a node by its id", Known{Links: cut, Switches: []api.SwitchStatus{sw("A", "a", false)},
			Maintenances: maintenance(active, api.MaintenanceObject{Node: "a"})},
			"maintenance/m[switch/A link/a,1~b,1]"},
		{"a node by its name", Known{Links: cut, Switches: []api.SwitchStatus{sw("A", "a", false)},
			Maintenances: maintenance(active, api.MaintenanceObject{Node: "A"})},
			"maintenance/m[switch/A link/a,1~b,1]"},
		{"one that has yet to begin", Known{Links: cut, Maintenances: maintenance(
			api.MaintenancePlanned, api.MaintenanceObject{Link: "a,1~b,1"})}, "link/a,1~b,1[]"},
		{"one that is over", Known{Links: cut, Maintenances: maintenance(
			api.MaintenanceEnded, api.MaintenanceObject{Link: "a,1~b,1"})}, "link/a,1~b,1[]"},
		{"a lease that has lost its paths", Known{Links: cut, Leases: []api.PathLease{{Name: "l",
			Status: api.PathLeaseStatus{Conditions: api.Conditions{{Type: api.Ready,
				Reason: api.ReasonUnreachable}}}}}}, "link/a,1~b,1[lease/l]"},
		{"a lease that another one has taken links from", Known{Links: cut,
			Leases: []api.PathLease{{Name: "l", Status: api.PathLeaseStatus{Conditions: api.Conditions{
				{Type: api.Ready, Reason: api.ReasonPreempted}}}}}}, "link/a,1~b,1[] lease/l[]"},
		{"a port of a host", Known{Hosts: host, Maintenances: maintenance(active,
			api.MaintenanceObject{Host: "h", Port: 2})}, "maintenance/m[hostport/h/2]"},
		{"profiles of a maintenance", Known{Profiles: []api.EVProfile{profile("p")},
			Maintenances: maintenance(active, api.MaintenanceObject{Plane: 1})},
			"maintenance/m[profile/p]"},
	} {
		all := Find(&c.k)
		if got := shape(all); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		for i := range all {
			work := strings.HasPrefix(all[i].ID, "maintenance/")
			if work != (all[i].Severity == api.SeverityWork) {
				t.Errorf("%s: %s is %s", c.name, all[i].ID, all[i].Severity)
			}
		}
	}
}

// TestIntents: a network, a lease, a maintenance, a notification or a port gives a warning while
// its conditions say that something is wrong.
func TestIntents(t *testing.T) {
	lease := func(ready bool, reason string) []api.PathLease {
		return []api.PathLease{{Name: "l", Status: api.PathLeaseStatus{Conditions: api.Conditions{
			{Type: api.Accepted, Status: true}, {Type: api.Ready, Status: ready, Reason: reason}}}}}
	}
	maintenance := func(reason string) []api.Maintenance {
		return []api.Maintenance{{Name: "m", Status: api.MaintenanceStatus{
			Phase: api.MaintenancePlanned, Conditions: degraded(reason)}}}
	}
	off := api.Port{Name: "A/1", Status: api.PortStatus{Switch: "A", Port: 1,
		Conditions: degraded(api.ReasonDrifted)}}
	for _, c := range []struct {
		k    Known
		want string
	}{
		{Known{Networks: []api.Network{{Name: "n", Status: api.NetworkStatus{
			Conditions: degraded("KnownElsewhere")}}}}, "Network n is not in force as it is described"},
		{Known{Notifications: []api.Notification{{Name: "n", Status: api.NotificationStatus{
			Conditions: degraded(api.ReasonFailing)}}}}, "Notification n does not reach its receiver"},
		{Known{Leases: lease(false, api.ReasonUnreachable)}, "Lease l has no paths"},
		{Known{Leases: lease(false, api.ReasonPreempted)}, "Another lease has taken links from lease l"},
		{Known{Leases: lease(true, api.ReasonPreempted)}, "Another lease has taken links from lease l"},
		{Known{Leases: lease(true, api.ReasonPlanned)}, ""},
		{Known{Leases: lease(false, api.ReasonEnded)}, ""},
		{Known{Maintenances: maintenance(api.ReasonJobsConcerned)},
			"Maintenance m takes paths from jobs"},
		{Known{Maintenances: maintenance(api.ReasonNotPlannable)},
			"Maintenance m cannot drain all of its objects"},
		{Known{Ports: []api.Port{off}}, "Port 1 of A does not have all of its settings"},
	} {
		all := Find(&c.k)
		got := ""
		for i := range all {
			if got += all[i].What; all[i].Severity != api.SeverityWarning {
				t.Errorf("%s is %s", all[i].What, all[i].Severity)
			}
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestWho: a cause that a write has made names the resource that was written, and who wrote it when
// the cause began: a drain, a maintenance, a tenant that has a port, a lease that took links. A
// cause that nobody has made names nobody.
func TestWho(t *testing.T) {
	host := api.MulticastGroup{Name: "g", Spec: api.MulticastGroupSpec{
		Receivers: []api.GroupReceiver{{Address: netip.MustParseAddr("2001:db8::2")}}},
		Status: api.MulticastGroupStatus{Conditions: degraded(api.ReasonPortTaken)}}
	k := Known{
		Groups: []api.MulticastGroup{host},
		Tenants: []api.Tenant{{Name: "other", Spec: api.TenantSpec{Sites: []api.TenantSite{
			{Switch: "A", Port: 8}}}}, {Name: "red", Spec: api.TenantSpec{Sites: []api.TenantSite{
			{Switch: "A", Port: 7}}}}},
		Attached: map[string]api.SwitchPort{"2001:db8::2": {Switch: "A", Port: 7}},
		Ports: []api.Port{{Name: "A/3", Spec: api.PortSpec{Enabled: new(bool)}, // no cause by itself
			Status: api.PortStatus{Switch: "A", Port: 3}}},
		Links: []api.Link{link("a,1~b,1", drained), link("a,2~b,2", dead)},
		Nodes: []api.Node{{ID: "n", Spec: api.AdminSpec{Admin: api.AdminDrained},
			Status: api.NodeStatus{Name: "N"}}},
		Maintenances: []api.Maintenance{{Name: "m", Status: api.MaintenanceStatus{
			Phase: api.MaintenanceActive}}},
		Leases: []api.PathLease{{Name: "low", Status: api.PathLeaseStatus{Conditions: api.Conditions{
			{Type: api.Ready, Reason: api.ReasonPreempted}}}}, {Name: "high",
			Status: api.PathLeaseStatus{TookFrom: []string{"low"}}}},
	}
	asked := make(map[string]int)
	k.Who = func(object string) (string, time.Time) {
		asked[object]++
		return "alice", at(5)
	}
	want := map[string]string{"group/g": "tenants/red",
		"drain/a,1~b,1": "links/a,1~b,1", "node/n": "nodes/n", "maintenance/m": "maintenances/m",
		"lease/low": "leases/high", "link/a,2~b,2": ""}
	found := Find(&k)
	attribute(nil, found, k.Who)
	for i := range found {
		c := &found[i]
		object, ok := want[c.ID]
		switch {
		case !ok:
			t.Errorf("%s is a cause", c.ID)
		case object == "" && c.Change != nil, object != "" && (c.Change == nil ||
			*c.Change != api.CauseChange{Object: object, By: "alice", At: at(5)}):
			t.Errorf("%s was made by %+v, want %q", c.ID, c.Change, object)
		}
		delete(want, c.ID)
	}
	if len(want) > 0 {
		t.Errorf("these are no causes: %v", want)
	}
	// A client that later changes a drained link did not drain the link.
	k.Who = func(string) (string, time.Time) { return "bob", at(9) }
	again := Find(&k)
	attribute(found, again, k.Who)
	for i := range again {
		if c := again[i].Change; c != nil && c.By != "alice" {
			t.Errorf("%s was made by %+v", again[i].ID, c)
		}
	}
	for object, n := range asked {
		if n != 1 {
			t.Errorf("%s was asked for %d times", object, n)
		}
	}
}

// TestBlocked: an exclusive lease that holds links on which jobs depend is a cause, which names the
// jobs, their projects and who wrote the lease. A shared lease, a lease without paths, and the
// lease's own job cause nobody a loss.
func TestBlocked(t *testing.T) {
	job := func(name string, priority, affected int) api.JobDependent {
		return api.JobDependent{Name: name, Priority: priority, Affected: affected, Ranks: 8}
	}
	of := func(part api.Part) []api.JobDependent {
		switch part {
		case api.Part{Kind: api.PartLink, Name: "a,1~b,1"}:
			return []api.JobDependent{job("acme-train", 1, 2), job("own", 0, 8)}
		case api.Part{Kind: api.PartLink, Name: "a,2~b,2"}:
			return []api.JobDependent{job("vip", 9, 1), job("acme-train", 1, 4)}
		}
		return nil
	}
	lease := func(sharing api.LeaseSharing, phase api.LeasePhase) api.PathLease {
		l := api.PathLease{Name: "l", Spec: api.PathLeaseSpec{Sharing: sharing, Job: "own"}}
		l.Status.Granted, l.Status.Phase = at(3), phase
		l.Status.Paths = []api.LeasedPath{{Links: []topology.LinkID{"a,1~b,1", "a,3~b,3"}}}
		l.Status.Former = []api.LeasedPath{{Links: []topology.LinkID{"a,1~b,1", "a,2~b,2"}}}
		return l
	}
	for _, c := range []struct {
		sharing api.LeaseSharing
		phase   api.LeasePhase
		want    string
	}{
		{api.LeaseExclusive, api.LeaseActive, "vip 1, acme-train 4"},
		{api.LeaseExclusive, api.LeaseMoving, "vip 1, acme-train 4"},
		{api.LeaseExclusive, api.LeaseBroken, ""}, {api.LeaseExclusive, api.LeaseEnded, ""},
		{api.LeaseShared, api.LeaseActive, ""},
	} {
		l := lease(c.sharing, c.phase)
		var got []string
		for _, j := range Blocked(&l, of) {
			got = append(got, fmt.Sprint(j.Name, " ", j.Affected))
		}
		if got := strings.Join(got, ", "); got != c.want {
			t.Errorf("a lease that is %s and %s blocks %q, want %q", c.sharing, c.phase, got, c.want)
		}
	}
	k := Known{Leases: []api.PathLease{lease(api.LeaseExclusive, api.LeaseActive)}, Dependents: of,
		Project: func(name string) string {
			project, _, _ := strings.Cut(name, "-")
			return strings.TrimSuffix(strings.TrimSuffix(project, "vip"), "own")
		}}
	all := Find(&k)
	if len(all) != 1 {
		t.Fatalf("%+v", all)
	}
	f := all[0]
	if f.ID != "blocks/l" || f.Object != "leases/l" || f.What != "Lease l blocks 2 jobs" ||
		!strings.Contains(f.Detail, "vip, acme-train (project acme).") ||
		f.Jobs == nil || !slices.Equal(f.Jobs.Names, []string{"vip", "acme-train"}) ||
		f.Change == nil || f.Change.Object != "leases/l" || !f.Since.Equal(at(3)) ||
		f.Severity != api.SeverityWarning || !strings.Contains(f.Todo, "Delete the lease") {
		t.Errorf("%+v, jobs %+v", f, f.Jobs)
	}
	k.Leases[0].Status.Ends = at(9)
	if f := Find(&k)[0]; !strings.Contains(f.Todo, "Wait for the end of the lease at "+
		at(9).UTC().Format(time.RFC3339)) {
		t.Errorf("a lease that ends: %s", f.Todo)
	}
	k.Dependents = nil
	if all := Find(&k); len(all) != 0 {
		t.Errorf("without jobs: %+v", all)
	}
}
