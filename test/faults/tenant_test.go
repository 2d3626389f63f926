package faults

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/topology/static"
)

const (
	// tenantTrouble is the time of a first trouble, after the first contents of switches have settled.
	// A second trouble begins when controllers tell receivers of causes.
	tenantTrouble = 10 * time.Second
	tellingStarts = tenantTrouble + 35*time.Second
	// tenantCalm is the time until everything that clients want is in force, and receivers know
	// every cause: a controller tells no cause in its first 30 s.
	tenantCalm = 50 * time.Second
	// untouched is the time in which the controller that starts last writes nothing.
	untouched = 5 * time.Second
)

// tenantStory is a WAN with tenants, and receivers of causes, during faults.
type tenantStory struct {
	scenario
	// kept are the specs of clients, by kind and name, as the controller has answered them.
	kept   map[string]string
	causes []api.Cause // of now
	// receivers are by URL.
	receivers map[string]*receiver
	receiving bool // receivers take messages
	updates   int  // that controllers have written
	// counts of events
	programmed, taken, described int
}

// receiver has the causes that a webhook receiver got.
type receiver struct {
	ids   map[string]bool
	knows map[string]bool
}

// keep notes the answer to a write of a client.
func keep[S any](s *tenantStory, key string, spec S, err error) error {
	if err == nil {
		s.kept[key] = encoded(spec)
	}
	return err
}

func encoded(spec any) string {
	b, err := json.Marshal(spec)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// gone notes a deletion of a client.
func (s *tenantStory) gone(key string, err error) error {
	if err == nil {
		delete(s.kept, key)
	}
	return err
}

// policy returns a random policy: the last of three leads back.
func (s *tenantStory) policy(i int) api.SRv6PolicySpec {
	ends := [][2]string{{"R1", "R3"}, {"R1", "R3"}, {"R3", "R1"}}[i]
	return api.SRv6PolicySpec{Headend: ends[0], Endpoint: ends[1],
		Segments: [][]api.PolicySegment{nil, {{Node: "R2"}}, {{Node: "R4"}, {Node: "R5"}}}[s.rng.IntN(3)],
		Metric:   []api.PathMetric{"", api.MetricDelay}[s.rng.IntN(2)],
		Mode:     []api.PolicyMode{"", api.PolicyModeBestEffort}[s.rng.IntN(2)]}
}

// tenant returns a random tenant of the hosts of one of two.
func (s *tenantStory) tenant(i int) api.TenantSpec {
	spec := api.TenantSpec{Slice: uint32(1 + 2*i + s.rng.IntN(2)), Priority: uint8(2 + i),
		Policies: []string{fmt.Sprint("x", s.rng.IntN(2))}}
	hosts := [][2]string{{"DC1", "DC2"}, {"B1", "B2"}}[i]
	for i, sw := range []string{"R1", "R3"} {
		_, port := s.world.Network.Uplink(hosts[i])
		spec.Sites = append(spec.Sites, api.TenantSite{Switch: sw, Port: port})
	}
	if s.rng.IntN(2) == 0 {
		spec.Policies = append(spec.Policies, "x2")
	}
	return spec
}

// port returns the name of a random port, and a spec that the port takes.
func (s *tenantStory) port() (string, api.PortSpec) {
	enabled, mtu, text := s.rng.IntN(4) > 0, uint32(1500+100*s.rng.IntN(10)), fmt.Sprint(s.rng.IntN(9))
	return fmt.Sprintf("R%d/%d", 1+s.rng.IntN(5), 1+s.rng.IntN(2)),
		api.PortSpec{Enabled: &enabled, MTU: &mtu, Description: &text}
}

// network describes two nodes with a link, and sometimes one more, which no switch is.
func (s *tenantStory) network(i int) api.NetworkSpec {
	var spec api.NetworkSpec
	for n := range 2 + s.rng.IntN(2) {
		x := 10*(i+1) + n
		spec.Nodes = append(spec.Nodes, static.Node{Name: fmt.Sprint("D", x),
			RouterID: netip.AddrFrom4([4]byte{10, 77, 0, byte(x)}),
			Loopback: netip.MustParseAddr(fmt.Sprintf("2001:db8:77::%x", x)),
			Locator:  netip.MustParsePrefix(fmt.Sprintf("5f00:77:%x::/48", x))})
		if n > 0 {
			spec.Links = append(spec.Links, static.Link{A: fmt.Sprint("D", x-1), PortA: uint32(2 * n),
				B: fmt.Sprint("D", x), PortB: 1, Metric: uint32(10 + s.rng.IntN(3))})
		}
	}
	return spec
}

func (s *tenantStory) notification(name string) api.NotificationSpec {
	after := api.Duration(100 * time.Millisecond)
	spec := api.NotificationSpec{URL: fmt.Sprintf("https://%s.example/%d", name, s.rng.IntN(2)),
		Secret: "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3", After: &after}
	if s.rng.IntN(2) == 0 {
		spec.Severities = []api.Severity{api.SeverityFault}
	}
	return spec
}

// act changes a resource of a client.
func (s *tenantStory) act() {
	i, what, pre := s.rng.IntN(3), s.rng.IntN(15), resource.Precondition{}
	name, carried := fmt.Sprint("x", i), fmt.Sprint("x", i%2)
	policy, tenant, network, told := s.policy(i), s.tenant(i%2), s.network(i), s.notification(name)
	port, setting := s.port()
	lossless := api.PFCPolicySpec{Tenant: carried, SRv6Policy: fmt.Sprint("x", s.rng.IntN(3)),
		XOFF: 64 << 10} // else it follows from measured round trips, and another controller measures anew
	s.ask(fmt.Sprintf("%d of %s", what, name), func(core *controller.Core) error {
		switch what {
		case 0, 1:
			v, _, err := core.SRv6Policies().Put(name, policy, pre)
			return keep(s, "srv6/"+name, v.Spec, err)
		case 2, 3:
			v, _, err := core.Tenants().Put(carried, tenant, pre)
			return keep(s, "tenant/"+carried, v.Spec, err)
		case 4, 5, 14:
			v, _, err := core.PFCPolicies().Put(name, lossless, pre)
			return keep(s, "pfc/"+name, v.Spec, err)
		case 6, 7:
			v, _, err := core.Ports().Put(port, setting, pre)
			return keep(s, "port/"+port, v.Spec, err)
		case 8:
			v, _, err := core.Networks().Put(name, network, pre)
			return keep(s, "network/"+name, v.Spec, err)
		case 9:
			v, _, err := core.Notifications().Put(name, told, pre)
			return s.redirect(name, keep(s, "notification/"+name, v.Spec, err))
		case 10:
			return s.gone("srv6/"+name, core.SRv6Policies().Delete(name, pre))
		case 11:
			return s.gone("tenant/"+carried, core.Tenants().Delete(carried, pre))
		case 12:
			return s.gone("pfc/"+name, core.PFCPolicies().Delete(name, pre))
		}
		if s.rng.IntN(2) == 0 {
			return s.gone("network/"+name, core.Networks().Delete(name, pre))
		}
		return s.redirect(name, s.gone("notification/"+name, core.Notifications().Delete(name, pre)))
	})
	if s.rng.IntN(3) == 0 {
		s.find()
	}
}

// redirect forgets the receivers that a notification has no more: they are told nothing, and later
// everything from the beginning.
func (s *tenantStory) redirect(name string, err error) error {
	var spec api.NotificationSpec
	if text, ok := s.kept["notification/"+name]; ok {
		if err := json.Unmarshal([]byte(text), &spec); err != nil {
			panic(err)
		}
	}
	for url := range s.receivers {
		if strings.HasPrefix(url, "https://"+name+".") && url != spec.URL {
			delete(s.receivers, url)
		}
	}
	return err
}

// find has other causes be there.
func (s *tenantStory) find() {
	s.causes = nil
	for i := range 4 {
		if s.rng.IntN(2) == 0 {
			continue
		}
		s.causes = append(s.causes, api.Cause{Finding: api.Finding{ID: fmt.Sprint("link/", i),
			Kind: "link", What: "it is down", Severity: []api.Severity{api.SeverityFault,
				api.SeverityWarning}[i%2]}, Follows: []api.Finding{}, Counts: []api.CauseCount{}})
	}
	s.tellCauses()
}

// tellCauses passes the causes of now to the controller, as its watcher does.
func (s *tenantStory) tellCauses() {
	if s.control.Core() != nil {
		s.must(s.control.Change(func(core *controller.Core) error {
			core.SetCauses(s.causes)
			return nil
		}))
	}
}

// watch has a watcher pass the causes again and again.
func (s *tenantStory) watch() {
	s.world.After(time.Second, s.watch)
	s.tellCauses()
}

// receive is a receiver: it takes no message at times, and sometimes takes one and does not say so.
func (s *tenantStory) receive(p controller.Post) error {
	if !s.receiving && s.rng.IntN(2) == 0 {
		return fmt.Errorf("no answer from %s", p.URL)
	}
	r := s.receivers[p.URL]
	if r == nil {
		r = &receiver{ids: make(map[string]bool), knows: make(map[string]bool)}
		s.receivers[p.URL] = r
	}
	var m api.CauseMessage
	if err := json.NewDecoder(bytes.NewReader(p.Body)).Decode(&m); err != nil {
		return err
	}
	if !r.ids[p.ID] {
		r.ids[p.ID] = true
		began := m.Type != api.EventCauseEnded
		if m.Type != api.EventCauseChanged && r.knows[m.Data.ID] == began {
			s.fail("%s hears twice that %s: %s", p.URL, m.Data.ID, m.Type)
		}
		if r.knows[m.Data.ID] = began; !began {
			delete(r.knows, m.Data.ID)
		}
		s.taken++
	}
	if !s.receiving && s.rng.IntN(4) == 0 {
		return fmt.Errorf("%s breaks the connection off", p.URL)
	}
	return nil
}

// harm breaks something for a while.
func (s *tenantStory) harm() {
	off := s.between(time.Millisecond, 400*time.Millisecond)
	switch s.rng.IntN(3) {
	case 0:
		links := s.world.Network.Links
		l := links[s.rng.IntN(len(links))]
		s.link(l.A, l.B, off)
	case 1:
		s.power(fmt.Sprint("R", 1+s.rng.IntN(5)), off)
	case 2:
		s.pauseController(off)
	}
}

// enable has every port used that has a spec: the way of a policy may lead over the port.
func (s *tenantStory) enable() {
	for _, p := range s.control.Core().Ports().List() {
		if !p.Spec.Disabled() {
			continue
		}
		on := true
		p.Spec.Enabled = &on
		s.ask("use "+p.Name, func(core *controller.Core) error {
			v, _, err := core.Ports().Put(p.Name, p.Spec, resource.Precondition{})
			return keep(s, "port/"+p.Name, v.Spec, err)
		})
	}
}

// settled checks all after a calm time.
func (s *tenantStory) settled() {
	core, have := s.control.Core(), make(map[string]string)
	good := func(key string, spec any, of api.Conditions, want api.ConditionType) {
		have[key] = encoded(spec)
		if !of.Is(want) || of.Is(api.Degraded) {
			s.fail("%s is not as it should be: %+v", key, of)
		}
	}
	for _, v := range core.SRv6Policies().List() {
		good("srv6/"+v.Name, v.Spec, v.Status.Conditions, api.Programmed)
	}
	for _, v := range core.Tenants().List() {
		good("tenant/"+v.Name, v.Spec, v.Status.Conditions, api.Programmed)
	}
	for _, v := range core.PFCPolicies().List() {
		good("pfc/"+v.Name, v.Spec, v.Status.Conditions, api.Programmed)
		s.programmed++
	}
	for _, v := range core.Ports().List() {
		if v.Version > 0 {
			good("port/"+v.Name, v.Spec, v.Status.Conditions, api.Programmed)
			s.portHas(&v)
		}
	}
	nodes := make(map[string]bool)
	for _, v := range core.Networks().List() {
		good("network/"+v.Name, v.Spec, v.Status.Conditions, api.Accepted)
		for i := range v.Spec.Nodes {
			nodes[v.Spec.Nodes[i].Name] = true
		}
		if v.Status.InForce != v.Status.Links || v.Status.Links != 2*len(v.Spec.Links) {
			s.fail("of network %s %d links of %d are in force", v.Name, v.Status.InForce, v.Status.Links)
		}
		s.described++
	}
	for _, n := range core.Topology().Nodes {
		if strings.HasPrefix(n.Name, "D") && !nodes[n.Name] {
			s.fail("node %s is there, which nobody describes", n.Name)
		}
	}
	for _, v := range core.Notifications().List() {
		good("notification/"+v.Name, v.Spec, v.Status.Conditions, api.Accepted)
		s.heard(&v)
	}
	if !reflect.DeepEqual(have, s.kept) {
		s.fail("there is %v, and clients have written %v", have, s.kept)
	}
}

// portHas checks that a port of a switch has the settings of its spec.
func (s *tenantStory) portHas(v *api.Port) {
	n, err := s.world.Switch(v.Status.Switch)
	s.must(err)
	if has := n.PortSettings(v.Status.Port); has.Disabled == *v.Spec.Enabled ||
		uint32(has.MTU) != *v.Spec.MTU || has.Description != *v.Spec.Description {
		s.fail("port %s has %+v, and its spec is %s", v.Name, has, encoded(v.Spec))
	}
}

// heard checks that a receiver knows the causes of now.
func (s *tenantStory) heard(v *api.Notification) {
	r := s.receivers[v.Spec.URL]
	if r == nil {
		r = &receiver{}
	}
	if v.Status.Pending > 0 || v.Status.Told != len(r.knows) {
		s.fail("%d messages wait for %s, which knows %v of %d causes", v.Status.Pending, v.Spec.URL,
			r.knows, v.Status.Told)
	}
	now := make(map[string]bool)
	for i := range s.causes {
		c := &s.causes[i]
		now[c.ID] = true
		if v.Spec.Selects(c) && !r.knows[c.ID] {
			s.fail("%s does not know of %s", v.Spec.URL, c.ID)
		}
	}
	for id := range r.knows {
		if !now[id] {
			s.fail("%s does not know that %s is over", v.Spec.URL, id)
		}
	}
}

// contents returns the entries of all switches but the default actions of tables: those cannot be
// deleted.
func (s *tenantStory) contents() map[string]bool {
	out := make(map[string]bool)
	for _, sw := range s.world.Network.Switches {
		for _, e := range s.control.Entities(sw.Name) {
			if !strings.Contains(e, "/default -> ") {
				out[sw.Name+" "+e] = true
			}
		}
	}
	return out
}

// beyond returns what a has and b has not.
func beyond(a, b map[string]bool) (out []string) {
	for x := range a {
		if !b[x] {
			out = append(out, x)
		}
	}
	slices.Sort(out)
	return out
}

// replanned has another controller plan the same records: it finds nothing to write. Without the
// resources that clients have made, the switches hold what they held at first.
func (s *tenantStory) replanned(empty map[string]bool) {
	core := s.control.Core()
	if all := core.Orphans(); len(all) > 0 {
		s.fail("no resource explains %+v", all)
	}
	s.control.Stop()
	s.updates = 0
	s.must(s.control.Start())
	s.world.Run(s.world.Now()+untouched, s.stopped)
	if s.updates > 0 {
		s.fail("another controller writes %d updates", s.updates)
	}
	for _, key := range slices.Backward(slices.SortedFunc(maps.Keys(s.kept), byUse)) {
		kind, name, _ := strings.Cut(key, "/")
		s.ask("delete "+key, func(core *controller.Core) error {
			pre := resource.Precondition{}
			switch kind {
			case "srv6":
				return core.SRv6Policies().Delete(name, pre)
			case "tenant":
				return core.Tenants().Delete(name, pre)
			case "pfc":
				return core.PFCPolicies().Delete(name, pre)
			case "port":
				return core.Ports().Delete(name, pre)
			case "network":
				return core.Networks().Delete(name, pre)
			}
			return core.Notifications().Delete(name, pre)
		})
	}
	s.world.Run(s.world.Now()+untouched, s.stopped)
	now := s.contents()
	if more, less := beyond(now, empty), beyond(empty, now); len(more)+len(less) > 0 {
		s.fail("without resources the switches hold %q, and at first held %q", more, less)
	}
}

// byUse orders resources: those that others use come first.
func byUse(a, b string) int {
	rank := func(key string) int {
		return slices.Index([]string{"srv6", "tenant", "pfc"}, key[:strings.Index(key, "/")])
	}
	return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
}

// runTenants is the run of a seed.
func runTenants(seed uint64, cache *p4rt.Cache) (s *tenantStory, err error) {
	s = &tenantStory{scenario: scenario{rng: rand.New(rand.NewPCG(seed, 4))},
		kept: make(map[string]string), receivers: make(map[string]*receiver)}
	delay := time.Duration(1+s.rng.IntN(5)) * time.Millisecond
	if s.world, err = lab.NewWorld(lab.PFCNetwork(delay, 1e9),
		lab.Options{Seed: seed, Cache: cache}); err != nil {
		return s, err
	}
	if s.control, err = lab.NewControl(s.world, lab.DefaultLatencies()); err != nil {
		return s, err
	}
	s.control.GNMI, s.control.Post = true, s.receive
	s.control.Configure = func(inv *inventory.Inventory) {
		inv.Ports.Hold = api.Duration(50 * time.Millisecond)
		inv.Ports.MaxHold = api.Duration(2 * time.Second)
		inv.Intervals.Settle = api.Duration(50 * time.Millisecond)
	}
	s.control.Log = func(format string, args ...any) {
		if strings.Contains(format, "updates") {
			s.updates += args[2].(int)
		}
	}
	s.control.Events = func(e api.Event) { s.tell("%s %s: %s", e.Type, e.Object, e.Message) }
	if err := s.control.Start(); err != nil {
		return s, err
	}
	s.world.Run(tenantTrouble, nil)
	empty := s.contents()
	s.watch()
	for _, at := range []time.Duration{tenantTrouble, tellingStarts} {
		s.world.Run(at, s.stopped)
		s.play(at+clientTrouble, s.act, s.harm, time.Second)
	}
	if s.receiving = true; s.broken == nil {
		s.enable()
		s.world.Run(s.world.Now()+tenantCalm, s.stopped)
	}
	if s.broken == nil {
		s.settled()
	}
	if s.broken == nil {
		s.replanned(empty)
	}
	return s, s.outcome()
}

// TestTenants: clients change SRv6 policies, tenants, PFC policies, ports, networks and
// notifications during failures of links and switches, restarts of controllers, and refusals of
// receivers. Functions settled and replanned check the outcome.
func TestTenants(t *testing.T) {
	var programmed, taken, described atomic.Uint64
	n := sweep(t, clientSeeds, func(seed uint64, cache *p4rt.Cache) ([]string, error) {
		s, err := runTenants(seed, cache)
		programmed.Add(uint64(s.programmed))
		taken.Add(uint64(s.taken))
		described.Add(uint64(s.described))
		return s.story, err
	})
	t.Logf("%d PFC policies and %d networks were in force at the end, receivers took %d messages, in "+
		"%d seeds", programmed.Load(), described.Load(), taken.Load(), n)
	if n >= 8 && (programmed.Load() < n/8 || taken.Load() < 2*n || described.Load() < n/2) {
		t.Error("too few")
	}
}
