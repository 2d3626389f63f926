package controller_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/resource"
)

// TestTenantTakesPort: a tenant that takes a receiver's port reports the conflict in the dry run,
// and the group reports it afterwards.
func TestTenantTakesPort(t *testing.T) {
	net := sample.Figure1()
	_, pfc := controller.PFCNetwork()
	net.Inventory.PFC = pfc.PFC
	w := up(t, net, 1)
	w.put("g1", net.Spec(1, "s1", "r1", "r2", "r3", "r4", "r5"))
	w.run(time.Second)
	degraded := func() *api.Condition { return w.group("g1").Status.Conditions.Find(api.Degraded) }
	if c := degraded(); c == nil || c.Status {
		t.Fatalf("before: %+v", c)
	}
	site := func(host string) api.TenantSite {
		for _, h := range net.Inventory.Hosts {
			if h.Name == host {
				return api.TenantSite{Switch: h.Switch, Port: h.Port}
			}
		}
		t.Fatalf("no host %s", host)
		return api.TenantSite{}
	}
	spec := api.TenantSpec{Slice: 7, Sites: []api.TenantSite{site("r1"), site("r4")}}
	put := func(core *controller.Core) error {
		_, _, err := core.Tenants().Put("red", spec, resource.Precondition{})
		return err
	}
	const said = "tenant red has port 101 of n1, where r1 is; " +
		"tenant red has port 101 of n3, where r4 is"
	takes, err := w.core.Takes(put)
	if err != nil || len(takes) != 1 || takes[0] != (api.Taken{Kind: "multicast group", Name: "g1",
		Object: "multicast-groups/g1", Reason: api.ReasonPortTaken, Message: said}) {
		t.Errorf("the dry run takes %+v, %v", takes, err)
	}
	if c := degraded(); c.Status {
		t.Errorf("the dry run changed the group: %+v", c)
	}
	if err := put(w.core); err != nil {
		t.Fatal(err)
	}
	w.run(time.Second)
	if c := degraded(); !c.Status || c.Reason != api.ReasonPortTaken || c.Message != said {
		t.Errorf("after: %+v", c)
	}
	// A write takes nothing from a resource that suffers already.
	takes, err = w.core.Takes(func(core *controller.Core) error {
		spec.Priority = 1
		_, _, err := core.Tenants().Put("red", spec, resource.Precondition{})
		return err
	})
	if err != nil || len(takes) != 0 {
		t.Errorf("another write takes %+v, %v", takes, err)
	}
	if err := w.core.Tenants().Delete("red", resource.Precondition{}); err != nil {
		t.Fatal(err)
	}
	w.run(time.Second)
	if c := degraded(); c.Status && strings.Contains(c.Message, "tenant") {
		t.Errorf("without the tenant: %+v", c)
	}
}

// taken returns what a change would take, an object and its loss a line.
func taken(t *testing.T, core *controller.Core, change func(*controller.Core) error) string {
	t.Helper()
	all, err := core.Takes(change)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, x := range all {
		if x.Name == "" || x.Kind == "" || x.Reason == "" {
			t.Errorf("%+v lacks words", x)
		}
		out = append(out, x.Object+": "+x.Message)
	}
	return strings.Join(out, "\n")
}

// TestTakes: a dry run says who loses something by a write or a deletion: members in groups, sites
// of tenants, tenants in PFC policies, the ends of SRv6 policies, jobs, and hosts behind a disabled
// port.
func TestTakes(t *testing.T) {
	pre := resource.Precondition{}
	wan := controller.PFCCore(t, nil)
	controller.PutPFC(t, wan)
	figure1 := up(t, sample.Figure1(), 1)
	spec := figure1.net.Spec(1, "s1", "r1", "r2", "r3")
	figure1.put("g1", spec)
	figure1.run(time.Second)
	host := func(name string) (sw string, port uint32) {
		for _, h := range figure1.net.Inventory.Hosts {
			if h.Name == name {
				return h.Switch, h.Port
			}
		}
		t.Fatalf("no host %s", name)
		return "", 0
	}
	sw, number := host("r1")
	port := fmt.Sprintf("%s/%d", sw, number)
	off, on := false, true
	for _, c := range []struct {
		name   string
		core   *controller.Core
		change func(*controller.Core) error
		want   string
	}{
		{"a PFC policy goes", wan, func(c *controller.Core) error {
			return c.PFCPolicies().Delete("p", pre)
		}, "pfc-policies/p: it loses tenant a"},
		{"a tenant goes", wan, func(c *controller.Core) error {
			if err := c.PFCPolicies().Delete("p", pre); err != nil {
				return err
			}
			return c.Tenants().Delete("a", pre)
		}, "pfc-policies/p: it loses tenant a\ntenants/a: it loses site R1/11, site R3/11"},
		{"a site of a tenant is disabled", wan, func(c *controller.Core) error {
			_, _, err := c.Ports().Put("R3/11", api.PortSpec{Enabled: &off}, pre)
			return err
		}, "hosts/a2: it loses port R3/11\ntenants/a: it loses site R3/11"},
		{"a port gets its MTU", wan, func(c *controller.Core) error {
			mtu := uint32(9216)
			_, _, err := c.Ports().Put("R3/11", api.PortSpec{Enabled: &on, MTU: &mtu}, pre)
			return err
		}, ""},
		{"an SRv6 policy goes", wan, func(c *controller.Core) error {
			if _, _, err := c.SRv6Policies().Put("other", api.SRv6PolicySpec{Headend: "R1",
				Endpoint: "R3"}, pre); err != nil {
				return err
			}
			return c.SRv6Policies().Delete("other", pre)
		}, ""}, // one that nobody had
		{"a group goes", figure1.core, func(c *controller.Core) error {
			return c.Groups().Delete("g1", pre)
		}, "multicast-groups/g1: it loses source s1, receiver r1, receiver r2, receiver r3"},
		{"a receiver goes", figure1.core, func(c *controller.Core) error {
			fewer := spec
			fewer.Receivers = spec.Receivers[:2]
			_, _, err := c.Groups().Put("g1", fewer, pre)
			return err
		}, "multicast-groups/g1: it loses receiver r3"},
		{"a receiver comes", figure1.core, func(c *controller.Core) error {
			_, _, err := c.Groups().Put("g1", figure1.net.Spec(1, "s1", "r1", "r2", "r3", "r4"), pre)
			return err
		}, ""},
		{"the port of a receiver is disabled", figure1.core, func(c *controller.Core) error {
			_, _, err := c.Ports().Put(port, api.PortSpec{Enabled: &off}, pre)
			return err
		}, "hosts/r1: it loses port " + port + "\nmulticast-groups/g1: it loses receiver r1"},
	} {
		if got := taken(t, c.core, c.change); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestJobTakes: the dry run of a job's deletion names the losses for the job's ranks, and for the
// members of the job's groups.
func TestJobTakes(t *testing.T) {
	w := up(t, sample.Figure1(), 1)
	w.putJob("train", weightsJob(100, "r1,r2"))
	w.run(time.Second)
	got := taken(t, w.core, func(c *controller.Core) error {
		return c.Jobs().Delete("train", resource.Precondition{})
	})
	if !strings.Contains(got, "jobs/train: it loses all that the fabric has ready for its ranks") ||
		!strings.Contains(got, "multicast-groups/") {
		t.Errorf("it takes %q", got)
	}
}
