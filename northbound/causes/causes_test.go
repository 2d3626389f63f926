package causes

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

func at(seconds int) time.Time { return time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC) }

// link returns one direction of an up link. change may alter the link.
func link(id string, change func(*api.Link)) api.Link {
	from, to, _ := strings.Cut(id, "~")
	node := func(end string) topology.NodeID {
		n, _, _ := strings.Cut(end, ",")
		return topology.NodeID(n)
	}
	l := api.Link{ID: topology.LinkID(id), Spec: api.AdminSpec{Admin: api.AdminUp},
		Status: api.LinkStatus{From: node(from), To: node(to), Phase: "up", Plane: 1}}
	if change != nil {
		change(&l)
	}
	return l
}

func dead(l *api.Link) { l.Status.Phase, l.Status.Denied = "down", true }
func drained(l *api.Link) {
	l.Spec.Admin, l.Status.Drained, l.Status.Denied = api.AdminDrained, true, true
}

func sw(name, node string, connected bool) api.SwitchStatus {
	return api.SwitchStatus{Name: name, Node: node, Managed: true, Connected: connected,
		Synced: connected, Entries: 1}
}

func contested(name, node string) api.SwitchStatus {
	s := sw(name, node, false)
	s.Conditions = api.Conditions{{Type: api.Contested, Status: true}}
	return s
}

func degraded(reason string) api.Conditions {
	return api.Conditions{{Type: api.Degraded, Status: true, Reason: reason}}
}

func profile(name string, lost ...topology.LinkID) api.EVProfile {
	return api.EVProfile{Name: name, Status: api.EVProfileStatus{Conditions: degraded("LinksLost"),
		LostLinks: lost, Active: 6, Count: 8, MinActive: 2}}
}

// shape writes causes with the ids of what follows from them.
func shape(all []api.Cause) string {
	var out []string
	for _, c := range all {
		var follows []string
		for _, f := range c.Follows {
			follows = append(follows, f.ID)
		}
		out = append(out, fmt.Sprint(c.ID, follows))
	}
	return strings.Join(out, " ")
}

func suspect(s api.Suspect, links ...topology.LinkID) api.Suspect {
	s.Links, s.Loss, s.Confidence, s.Since = links, 0.5, 0.99, at(2)
	s.Why = "too few paths are left"
	return s
}

// TestRoots: one cause for each root, whatever follows from it.
func TestRoots(t *testing.T) {
	address := netip.MustParseAddr
	deadSwitch := sw("A", "64512:10.0.0.1", false)
	deadSwitch.Address = "192.0.2.1:9559"
	other := sw("B", "64512:10.0.0.2", true)
	other.Address = "192.0.2.2:9559"
	group := api.MulticastGroup{Name: "g", Spec: api.MulticastGroupSpec{
		Source:    api.GroupSource{Address: address("2001:db8::1")},
		Receivers: []api.GroupReceiver{{Address: address("2001:db8::2")}},
	}, Status: api.MulticastGroupStatus{Conditions: degraded("Unreachable")}}
	port := api.HostPort{Port: 0, Spec: api.AdminSpec{Admin: api.AdminUp},
		Status: api.HostPortStatus{Leaf: "64512:10.0.0.1", LinkDown: true}}
	slow := api.MulticastGroup{Name: "g", Status: api.MulticastGroupStatus{
		Conditions: degraded("Stalled"),
		StalledReceivers: []api.StalledReceiver{
			{Address: address("2001:db8::1"), Switch: "A", AckPSN: 5, Valid: true, Since: at(0)},
		}, Tree: &api.GroupTree{Root: "A", Nodes: []api.TreeNode{{Switch: "A"}}},
	}}
	policy := api.SRv6Policy{Name: "p", Spec: api.SRv6PolicySpec{Headend: "x", Endpoint: "y"},
		Status: api.SRv6PolicyStatus{Conditions: degraded("NoPath")}}
	tenant := api.Tenant{Name: "t", Spec: api.TenantSpec{Policies: []string{"p"}},
		Status: api.TenantStatus{Conditions: degraded("Other")}}
	pfc := api.PFCPolicy{Name: "l", Spec: api.PFCPolicySpec{SRv6Policy: "p", Tenant: "t"},
		Status: api.PFCPolicyStatus{Conditions: degraded("Other")}}
	for _, c := range []struct {
		name string
		k    Known
		want string
	}{
		{"nothing is wrong", Known{Switches: []api.SwitchStatus{sw("A", "a", true)}}, ""},
		{"a lost switch, its links and the profiles over them", Known{
			Switches: []api.SwitchStatus{sw("A", "a", false), sw("B", "b", true)},
			Links:    []api.Link{link("a,1~b,1", dead), link("b,1~a,1", dead)},
			Profiles: []api.EVProfile{profile("p", "a,1~b,1")},
		}, "switch/A[link/a,1~b,1 profile/p]"},
		{"switches that another installation programs, and a link of theirs", Known{
			Switches: []api.SwitchStatus{contested("A", "a"), contested("B", "b"), sw("C", "c", false)},
			Links:    []api.Link{link("a,1~b,1", dead)},
		}, "installation[switch/A switch/B link/a,1~b,1] switch/C[]"},
		{"one direction of a cable stands for both", Known{
			Links: []api.Link{link("b,2~a,1", dead), link("a,1~b,2", dead)},
		}, "link/a,1~b,2[]"},
		{"a drain is work, and explains denied links of both directions", Known{
			Links:    []api.Link{link("a,1~b,1", drained), link("b,1~a,1", drained)},
			Profiles: []api.EVProfile{profile("p", "b,1~a,1")},
		}, "drain/a,1~b,1[profile/p]"},
		{"a drained plane explains what is denied in it", Known{
			Planes: []api.Plane{{Plane: 1, Spec: api.AdminSpec{Admin: api.AdminDrained}}},
			Links:  []api.Link{link("a,1~b,1", func(l *api.Link) { l.Status.Denied = true })},
		}, "plane/1[link/a,1~b,1]"},
		{"a drained switch explains its links", Known{
			Nodes: []api.Node{{ID: "a", Spec: api.AdminSpec{Admin: api.AdminDrained}}},
			Links: []api.Link{link("a,1~b,1", func(l *api.Link) { l.Status.Denied = true })},
		}, "node/a[link/a,1~b,1]"},
		{"a dead switch is one cause", Known{
			Switches: []api.SwitchStatus{deadSwitch, other},
			Peers: []api.BGPPeer{
				{Name: "192.0.2.1", Address: address("192.0.2.1"), State: topology.PeerConnecting},
				{Name: "192.0.2.2", Address: address("192.0.2.2"), State: topology.PeerEstablished},
			},
			Links: []api.Link{link("64512:10.0.0.1,1~64512:10.0.0.2,1", dead),
				link("64512:10.0.0.2,1~64512:10.0.0.1,1", dead)},
			Fabric: &api.Fabric{},
			Hosts: []api.Host{{Name: "h", Address: address("2001:db8::2"),
				Ports: []api.HostPort{port}}},
			Groups: []api.MulticastGroup{group},
			Checks: []api.ReadinessCheck{{Name: "bgp-ls", Message: "waits for 192.0.2.1"}},
		}, "switch/A[peer/192.0.2.1 bgp-ls link/64512:10.0.0.1,1~64512:10.0.0.2,1 hostport/h/0 host/h " +
			"group/g]"},
		{"two switches behind one address explain no session", Known{
			Switches: []api.SwitchStatus{deadSwitch, func() api.SwitchStatus {
				o := other
				o.Address = "192.0.2.1:9560"
				return o
			}()},
			Peers: []api.BGPPeer{{Name: "192.0.2.1", Address: address("192.0.2.1"),
				State: topology.PeerConnecting}},
		}, "peer/192.0.2.1[] switch/A[]"},
		{"a loopback is an address of a speaker", Known{
			Switches:  []api.SwitchStatus{sw("A", "64512:10.0.0.1", false)},
			Loopbacks: map[topology.NodeID]string{"64512:10.0.0.1": "2001:db8::1"},
			Peers: []api.BGPPeer{{Name: "x", Address: address("2001:db8::1"),
				State: topology.PeerConnecting}},
		}, "switch/A[peer/x]"},
		{"a stalled receiver explains a degraded group",
			Known{Groups: []api.MulticastGroup{slow}, Switches: []api.SwitchStatus{sw("A", "a", true)}},
			"stalled/g/2001:db8::1[group/g]"},
		{"and its switch both",
			Known{Groups: []api.MulticastGroup{slow}, Switches: []api.SwitchStatus{sw("A", "a", false)}},
			"switch/A[stalled/g/2001:db8::1 group/g]"},
		{"a receiver's host explains that it stalls", Known{Groups: []api.MulticastGroup{slow},
			Fabric: &api.Fabric{},
			Hosts:  []api.Host{{Name: "h", Address: address("2001:db8::1")}}},
			"host/h[stalled/g/2001:db8::1 group/g]"},
		{"a full disk explains that changes are refused", Known{Checks: []api.ReadinessCheck{
			{Name: "store", Message: "changes are refused: its disk is full"},
			{Name: "disk", Message: "the disk is full"},
			{Name: "share", Advisory: true, Message: "controller c1 owns 3 switches"},
			{Name: "decider", OK: true},
		}}, "disk[store] share[]"},
		{"controllers that do not reach each other, and a certificate that expires soon", Known{
			Checks: []api.ReadinessCheck{{Name: "controllers", Message: "c2 does not reach c1"},
				{Name: "certificates", Advisory: true, Message: "expires"}},
		}, "controllers[] certificates[]"},
		{"a controller that is not ready for a reason that nothing else explains", Known{
			Links: []api.Link{link("a,1~b,1", drained)},
			Checks: []api.ReadinessCheck{{Name: "mrc", Message: "it waits for the topology"},
				{Name: "switch/a", OK: true}},
		}, "ready[] drain/a,1~b,1[]"},
		{"peers that are up do not have to be brought up", Known{
			Peers: []api.BGPPeer{{Name: "p", State: topology.PeerEstablished, Kept: &topology.PeerKept{
				NLRIs: topology.PeerNLRIs{Nodes: 1}}}},
			Checks: []api.ReadinessCheck{{Name: "bgp-ls", Advisory: true}},
		}, "kept/p[bgp-ls]"},
		{"and one that is", Known{
			Checks: []api.ReadinessCheck{{Name: "mrc", Advisory: true}, {Name: "switch/a", OK: true}},
		}, ""},
		{"what is malformed does not explain that the topology is not complete", Known{
			Peers: []api.BGPPeer{{Name: "192.0.2.1", State: topology.PeerEstablished,
				MalformedNLRIs: 1}},
			Checks: []api.ReadinessCheck{{Name: "bgp-ls"}},
		}, "bgp-ls[] malformed/192.0.2.1[]"},
		{"suspects of several links follow from the one that is down", Known{
			Links:    []api.Link{link("a,1~b,1", dead)},
			Suspects: []api.Suspect{suspect(api.Suspect{}, "b,1~a,1", "b,2~c,1")},
		}, "link/a,1~b,1[suspect/a,1~b,1]"},
		{"a policy explains its tenant and its PFC policy, and a failed link elsewhere all three", Known{
			Links:        []api.Link{link("a,1~b,1", dead)},
			SRv6Policies: []api.SRv6Policy{policy}, Tenants: []api.Tenant{tenant},
			PFCPolicies: []api.PFCPolicy{pfc},
		}, "link/a,1~b,1[srv6/p tenant/t pfc/l]"},
		{"a reason that the network does not explain stands alone", Known{
			Links:   []api.Link{link("a,1~b,1", dead)},
			Tenants: []api.Tenant{tenant},
		}, "link/a,1~b,1[] tenant/t[]"},
		{"faults explain before drains do", Known{
			Links:        []api.Link{link("a,1~b,1", drained), link("c,1~d,1", dead)},
			SRv6Policies: []api.SRv6Policy{policy},
		}, "link/c,1~d,1[srv6/p] drain/a,1~b,1[]"},
		{"and drains where nothing else is wrong", Known{
			Links:        []api.Link{link("a,1~b,1", drained)},
			SRv6Policies: []api.SRv6Policy{policy},
		}, "drain/a,1~b,1[srv6/p]"},
		{"switches that keep old routes follow from lost peers", Known{
			Switches: []api.SwitchStatus{func() api.SwitchStatus {
				s := sw("A", "a", true)
				s.Settling = true
				return s
			}()},
			Peers: []api.BGPPeer{{Name: "p", State: topology.PeerConnecting}},
		}, "peer/p[settling]"},
		{"switches are programmed because others are lost, and links", Known{
			Switches: []api.SwitchStatus{sw("A", "a", false), func() api.SwitchStatus {
				s := sw("B", "b", true)
				s.Synced, s.Pending = false, 1
				return s
			}()},
		}, "switch/A[programming]"},
	} {
		if got := shape(Find(&c.k)); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestOrder: faults come before warnings and work, and the oldest first, whatever follows from
// them; what began at a time that is not known comes last.
func TestOrder(t *testing.T) {
	since := func(n int) func(*api.Link) {
		return func(l *api.Link) {
			dead(l)
			if n > 0 {
				l.Status.Since = at(n)
			}
		}
	}
	links := []api.Link{link("a,1~b,1", drained), link("g,1~h,1", since(0)), link("c,1~d,1", since(1)),
		link("e,1~f,1", since(2))}
	for _, profiles := range [][]api.EVProfile{nil, {profile("p", "e,1~f,1")}} {
		var got []string
		for _, c := range Find(&Known{Links: links, Profiles: profiles}) {
			got = append(got, c.ID)
		}
		if want := []string{"link/c,1~d,1", "link/e,1~f,1", "link/g,1~h,1",
			"drain/a,1~b,1"}; !slices.Equal(got, want) {
			t.Errorf("%d profiles: %v, want %v", len(profiles), got, want)
		}
	}
}

// TestSteadyWords: a link that is down explains its suspects, and keeps its words, place and time
// while further news arrives.
func TestSteadyWords(t *testing.T) {
	pair := func(change func(*api.Link)) []api.Link {
		return []api.Link{link("a,1~b,1", change), link("b,1~a,1", change)}
	}
	port := func(l *api.Link) { dead(l); l.Status.FromPort, l.Status.Since = "down", at(1) }
	again := func(phase string, n int) func(*api.Link) {
		return func(l *api.Link) { l.Status.Phase, l.Status.Denied, l.Status.Since = phase, true, at(n) }
	}
	x := link("x,1~y,1", func(l *api.Link) { port(l); l.Status.Since = at(5) })
	one, several := suspect(api.Suspect{}, "a,1~b,1"), suspect(api.Suspect{}, "b,1~a,1", "b,2~c,1")
	var shown []api.Cause
	for i, k := range []Known{
		{Links: pair(port)},
		{Links: pair(port), Suspects: []api.Suspect{one}},
		{Links: pair(port), Suspects: []api.Suspect{one, several}},
		{Links: pair(port), Suspects: []api.Suspect{one},
			Profiles: []api.EVProfile{profile("p", "b,1~a,1"), profile("q")}},
		{Links: []api.Link{link("a,1~b,1", func(l *api.Link) { port(l); l.Status.Denied = false }),
			link("b,1~a,1", port)}},
		{Links: pair(again("held", 9))},
		{Links: pair(again("trying", 12))},
	} {
		k.Links = append(k.Links, x)
		shown = Steady(shown, Find(&k))
		if len(shown) != 2 || shown[0].ID != "link/a,1~b,1" || shown[1].ID != "link/x,1~y,1" ||
			shown[0].What != "Link a – b has failed" || shown[1].What != "Link x – y has failed" ||
			!shown[0].Since.Equal(at(1)) {
			t.Errorf("%d: %s %q since %v", i, shape(shown), shown[0].What, shown[0].Since)
		}
	}
	// A fault that comes later stands before a warning that was there.
	warned := Steady(nil, Find(&Known{Suspects: []api.Suspect{one}}))
	both := Steady(warned, Find(&Known{Suspects: []api.Suspect{one}, Links: []api.Link{x}}))
	if got := shape(both); got != "link/x,1~y,1[] link/a,1~b,1[]" {
		t.Errorf("a fault beside a warning: %s", got)
	}
}

// TestWords: every cause states its effect on traffic and the remedy, in sentences.
func TestWords(t *testing.T) {
	held := func(phase string) func(*api.Link) { return func(l *api.Link) { l.Status.Phase = phase } }
	refusing := sw("B", "b", true)
	refusing.Errors = []string{"insert ecmp/group=1: table is full"}
	k := Known{
		Switches: []api.SwitchStatus{sw("A", "a", false), refusing},
		Links: []api.Link{link("c,1~d,1", held("down")), link("e,1~f,1", held("held")),
			link("g,1~h,1", drained), link("k,1~l,1", held("trying")),
			link("r,1~s,1", func(l *api.Link) {
				l.Status.Phase, l.Status.Returning = "trying", true
			}),
			link("s,1~r,1", func(l *api.Link) {
				l.Status.Phase, l.Status.Returning = "held", true
			}),
			link("t,1~u,1", func(l *api.Link) {
				l.Status.Phase, l.Status.Returning = "held", true
			}),
			link("u,1~t,1", func(l *api.Link) { l.Status.Phase = "held" }),
			link("m,1~n,1", func(l *api.Link) {
				l.Status.Denied, l.Status.Cause = true, "its T1 is drained"
			})},
		Suspects: []api.Suspect{suspect(api.Suspect{}, "i,1~j,1")},
		Fabric:   &api.Fabric{Failure: "no leaves"},
		Hosts:    []api.Host{{Name: "h", Refusals: []api.HostRefusal{{Field: "f", Reason: "r"}}}},
		Balance: []api.PlaneBalance{{Plane: 2, Leaf: "P2-T0-1", Index: 1.5, Busiest: "P2-T1-3",
			Conditions: api.Conditions{{Type: api.Unbalanced, Status: true}}},
			{Plane: 3, Leaf: "P3-T0-1", Conditions: api.Conditions{{Type: api.Unbalanced}}}},
		Peers: []api.BGPPeer{{Name: "p", State: topology.PeerEstablished, MalformedNLRIs: 1,
			DiscardedAttributes: 2, LastFault: &topology.PeerFault{Time: at(3), Reason: "it ends early"},
			Synced: true, Unplaced: 3, Kept: &topology.PeerKept{Since: at(1), Until: at(9),
				NLRIs: topology.PeerNLRIs{Nodes: 1, Links: 2, Prefixes: 3}}},
			{Name: "q", State: topology.PeerEstablished, Unplaced: 1, Kept: &topology.PeerKept{Since: at(1),
				Until: at(9), NLRIs: topology.PeerNLRIs{Nodes: 4}, Implausible: true}}},
	}
	bare := sw("D", "d", true)
	for _, c := range []struct {
		of      api.ConditionType
		message string
	}{{api.Undescribed, "it advertises no SID"}, {api.Miscabled, "here"}, {api.OrphansKept, "here"},
		{api.Unsupported, "here"}, {api.InventoryDiffers, "here"}} {
		bare.Conditions = append(bare.Conditions,
			api.Condition{Type: c.of, Status: true, Message: c.message})
	}
	k.Switches = append(k.Switches, bare)
	sentence := regexp.MustCompile(`^[A-Z].*\.$`)
	details := make(map[string]string)
	for _, c := range Find(&k) {
		if !sentence.MatchString(c.Means) || !sentence.MatchString(c.Todo) || c.What == "" ||
			c.Kind == "" || c.Object == "" || c.Severity == "" {
			t.Errorf("%+v", c.Finding)
		}
		details[c.ID] = fmt.Sprint(c.Severity, ": ", c.What, ". ", c.Detail)
	}
	for id, want := range map[string]string{
		"switch/A":     "fault: Switch A is not connected. ",
		"switch/B":     "fault: Switch B refuses updates. Insert ecmp/group=1: table is full.",
		"link/c,1~d,1": "fault: Link c – d has failed. It is down.",
		"link/e,1~f,1": "fault: Link e – f has failed. It is up again, and has to stay so for a while.",
		"link/k,1~l,1": "fault: Link k – l has failed. It is up again, and is being probed.",
		"link/t,1~u,1": "fault: Link t – u has failed. It is up again, and has to stay so for a " +
			"while.",
		"link/m,1~n,1":  "warning: EVs over link m – n are denied. Its T1 is drained.",
		"drain/g,1~h,1": "work: Link g – h is drained. Nobody uses it any more.",
		"host/h":        "fault: Host h is not connected. It has no stream to the controller.",
		"refusal/h":     "fault: Host h refuses its configuration. f: r",
		"balance/2/P2-T0-1": "warning: P2-T0-1 uses its links into plane 2 unevenly. The busiest, to " +
			"P2-T1-3, carries 1.50 of the mean.",
		"malformed/p": "warning: BGP-LS peer p sends what cannot be used. 1 NLRI left out, 2 " +
			"attributes discarded, 3 SIDs of nodes that nobody describes so far. The last: it ends early.",
		"kept/p": "warning: BGP-LS peer p no longer says all that it said. It has left out 1 node, 2 " +
			"directions of links, 3 prefixes. They count until 00:00:09 UTC.",
		"kept/q": "fault: BGP-LS peer q no longer describes half of the network. It has left out 4 " +
			"nodes. They count until 00:00:09 UTC.",
		"link/r,1~s,1": "work: Link r – s is probed before it is used. It was drained, or is new, " +
			"and has not failed.",
		"undescribed/D":      "warning: The topology lacks something of switch D. It advertises no SID.",
		"miscabled/D":        "warning: Switch D is cabled otherwise than is known. Here.",
		"orphanskept/D":      "warning: Switch D holds entries that nothing explains. Here.",
		"unsupported/D":      "warning: Switch D cannot do all that it should. Here.",
		"inventorydiffers/D": "warning: Switch D has other ports than are configured. Here.",
		"fabric":             "fault: There is no MRC fabric of the present topology. No leaves.",
	} {
		if details[id] != want {
			t.Errorf("%s:\n got %s\nwant %s", id, details[id], want)
		}
	}
	if details["balance/3/P3-T0-1"] != "" {
		t.Error("a plane that is used evenly is a cause")
	}
}

// TestCounts: each thing counts once, however many findings concern the thing, and the list of
// consequences ends at its limit.
func TestCounts(t *testing.T) {
	k := Known{Switches: []api.SwitchStatus{sw("A", "a", false)}, Fabric: &api.Fabric{}}
	for i := range mostFollows {
		k.Profiles = append(k.Profiles, profile(fmt.Sprint("p", i), "a,1~b,1"))
	}
	k.Links = []api.Link{link("a,1~b,1", dead)}
	all := Find(&k)
	if len(all) != 1 || len(all[0].Follows) != mostFollows || all[0].Total != mostFollows+1 ||
		!slices.Equal(all[0].Counts, []api.CauseCount{{Kind: "link", Count: 1},
			{Kind: "EV profile", Count: mostFollows}}) {
		t.Errorf("%d causes, %d follow, counts %v", len(all), len(all[0].Follows), all[0].Counts)
	}
	busy := sw("B", "b", true)
	busy.Synced = false
	programmed := Known{Switches: []api.SwitchStatus{sw("A", "a", false), busy}}
	if all := Find(&programmed); len(all) != 1 || all[0].Total != 1 || len(all[0].Counts) != 0 {
		t.Errorf("switches that are programmed are counted as one: %+v", all)
	}
	// The group that a receiver stalls is what the cause is about.
	stalls := Known{Groups: []api.MulticastGroup{{Name: "g", Status: api.MulticastGroupStatus{
		Conditions: degraded("Stalled"), StalledReceivers: []api.StalledReceiver{{Switch: "A"}}}}}}
	if all := Find(&stalls); len(all) != 1 || len(all[0].Counts) != 0 || len(all[0].Follows) != 1 {
		t.Errorf("%+v", all)
	}
}

// TestSentence: errors of connections are sentences.
func TestSentence(t *testing.T) {
	for in, want := range map[string]string{
		"rpc error: code = DeadlineExceeded desc = context deadline exceeded": "It did not answer in " +
			"time.",
		"port 3 is down": "Port 3 is down.",
		"is it?":         "Is it?",
		"":               "",
	} {
		if got := sentence(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// TestCircle: findings that explain each other have an end.
func TestCircle(t *testing.T) {
	w := roots{known: make(map[string][]string), byID: map[string]*finding{
		"a": {because: []string{"b"}}, "b": {because: []string{"a", "gone"}},
		"c": {because: []string{"a"}},
	}}
	if got := w.of("c"); len(got) == 0 {
		t.Error("nothing explains c")
	}
}

// TestSince: findings come in order of their start, and findings with an unknown start come last. A
// cable's fault starts with the fault of its first direction.
func TestSince(t *testing.T) {
	for _, c := range []struct {
		a, b time.Time
		want int
	}{{at(1), at(2), -1}, {at(2), at(1), 1}, {at(1), at(1), 0}, {time.Time{}, at(1), 1},
		{at(1), time.Time{}, -1}, {time.Time{}, time.Time{}, 0}} {
		if got := compareSince(c.a, c.b); got != c.want {
			t.Errorf("%v and %v: %d, want %d", c.a, c.b, got, c.want)
		}
	}
	for _, order := range [][]int{{3, 2}, {2, 3}, {2, 0}} {
		var k Known
		for i, id := range []string{"a,1~b,1", "b,1~a,1"} {
			k.Links = append(k.Links, link(id, func(l *api.Link) {
				if dead(l); order[i] > 0 {
					l.Status.Since = at(order[i])
				}
			}))
		}
		if all := Find(&k); len(all) != 1 || !all[0].Since.Equal(at(2)) {
			t.Errorf("directions that failed at %v: %+v", order, all)
		}
	}
}

// TestEdges: what makes a finding, and what does not yet.
func TestEdges(t *testing.T) {
	port := func(leaf topology.NodeID, down bool) api.HostPort {
		return api.HostPort{Port: 1, Spec: api.AdminSpec{Admin: api.AdminUp},
			Status: api.HostPortStatus{Leaf: leaf, HostDown: down}}
	}
	h := func(connected bool, ports ...api.HostPort) []api.Host {
		return []api.Host{{Name: "h", Connected: connected, Ports: ports}}
	}
	few := func(active int) []api.EVProfile {
		p := profile("p")
		p.Status.Active = active
		return []api.EVProfile{p}
	}
	tenant := func(c ...api.Condition) []api.Tenant {
		return []api.Tenant{{Name: "t", Status: api.TenantStatus{Conditions: c}}}
	}
	refusing := sw("A", "a", true)
	refusing.Errors, refusing.Synced = []string{"table is full"}, false
	lost := sw("A", "a", false)
	settling := lost
	settling.Settling = true
	for _, c := range []struct {
		name string
		k    Known
		want string
	}{
		{"a port that the host reports down", Known{Hosts: h(true, port("a", true))},
			"fault hostport/h/1"},
		{"a port that is up", Known{Hosts: h(true, port("a", false))}, ""},
		{"hosts have no stream without an MRC fabric", Known{Hosts: h(false)}, ""},
		{"a host whose leaves are all lost", Known{Fabric: &api.Fabric{},
			Switches: []api.SwitchStatus{lost}, Hosts: h(false, port("a", false))}, "fault switch/A"},
		{"a host one of whose leaves is not lost", Known{Fabric: &api.Fabric{},
			Switches: []api.SwitchStatus{lost},
			Hosts:    h(false, port("a", false), port("b", false))}, "fault host/h fault switch/A"},
		{"fewer EVs than wanted", Known{Profiles: few(1)}, "fault profile/p"},
		{"as many", Known{Profiles: few(2)}, "warning profile/p"},
		{"more", Known{Profiles: few(3)}, "warning profile/p"},
		{"what waits for its first packet", Known{PFCPolicies: []api.PFCPolicy{{
			Status: api.PFCPolicyStatus{Conditions: api.Conditions{{Type: api.Programmed,
				Reason: api.ReasonAwaitingPacket}}}}}}, ""},
		{"what is not programmed", Known{Tenants: tenant(
			api.Condition{Type: api.Programmed, Reason: "Other"})}, "warning tenant/t"},
		{"what a switch refuses follows from it", Known{Switches: []api.SwitchStatus{refusing},
			Tenants: tenant(api.Condition{Type: api.Programmed, Reason: "DeviceError"})},
			"fault switch/A"},
		{"a switch that is lost settles nothing", Known{Switches: []api.SwitchStatus{settling}},
			"fault switch/A"},
	} {
		var got []string
		for _, x := range Find(&c.k) {
			got = append(got, fmt.Sprint(x.Severity, " ", x.ID))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	k := Known{Switches: []api.SwitchStatus{settling, refusing}}
	for _, f := range newView(&k).switchFindings() {
		if f.ID == "settling" || f.ID == "programming" {
			t.Errorf("a lost switch and one that refuses are %s", f.ID)
		}
	}
}

// TestSilent: a silent cause has the silence that ends last, and comes behind the others, drains
// included; the silence of another cause does nothing.
func TestSilent(t *testing.T) {
	silence := func(name, cause string, until int) api.Silence {
		return api.Silence{Name: name, Spec: api.SilenceSpec{Cause: cause, Until: at(until)}}
	}
	k := Known{
		Links: []api.Link{link("a,1~b,1", dead), link("c,1~d,1", dead), link("e,1~f,1", drained)},
		Silences: []api.Silence{silence("s", "link/a,1~b,1", 5), silence("t", "link/a,1~b,1", 9),
			silence("u", "link/a,1~b,1", 7), silence("v", "link/x,1~y,1", 9)},
	}
	all := Find(&k)
	if got := shape(all); got != "link/c,1~d,1[] drain/e,1~f,1[] link/a,1~b,1[]" {
		t.Error(got)
	}
	for _, c := range all {
		if c.ID == "link/a,1~b,1" && (c.Silence == nil || c.Silence.Name != "t") ||
			c.ID != "link/a,1~b,1" && c.Silence != nil {
			t.Errorf("%s: %+v", c.ID, c.Silence)
		}
	}
	if got := shape(Steady(Find(&Known{Links: k.Links}), all)); got != shape(all) {
		t.Errorf("a silent cause keeps its place: %s", got)
	}
}

// TestHurt: a cause lists the jobs that depend on the faulty part, at most five by name. The cause
// names the part as jobs do, and a job that depends on two parts counts once.
func TestHurt(t *testing.T) {
	var asked []string
	job := func(name string, priority int) api.JobDependent {
		return api.JobDependent{Name: name, Priority: priority}
	}
	all := []api.JobDependent{job("vip", 9), job("a", 0), job("b", 0), job("c", 0), job("d", 0),
		job("e", 0)}
	k := Known{Dependents: func(part api.Part) []api.JobDependent {
		asked = append(asked, string(part.Kind)+" "+part.Name)
		switch part.Name {
		case "A":
			return all
		case "x,1~y,1":
			return all[1:3]
		case "x,2~y,2":
			return []api.JobDependent{all[0], all[2]}
		}
		return nil
	}}
	k.Switches = []api.SwitchStatus{sw("A", "a", false)}
	k.Links = []api.Link{link("b,1~a,1", dead), link("e,1~d,1", drained)}
	k.Nodes = []api.Node{{ID: "n", Spec: api.AdminSpec{Admin: api.AdminDrained},
		Status: api.NodeStatus{Name: "N"}}}
	k.Planes = []api.Plane{{Plane: 2, Spec: api.AdminSpec{Admin: api.AdminDrained}}}
	k.Suspects = []api.Suspect{suspect(api.Suspect{}, "x,1~y,1", "x,2~y,2"),
		suspect(api.Suspect{Host: "h9"}, "z,1~h")}
	k.Balance = []api.PlaneBalance{{Plane: 1, Leaf: "L",
		Conditions: api.Conditions{{Type: api.Unbalanced, Status: true}}}}
	k.Fabric = &api.Fabric{}
	k.Hosts = []api.Host{{Name: "h1"}, {Name: "h2", Connected: true, Ports: []api.HostPort{
		{Status: api.HostPortStatus{LinkDown: true}}}}, {Name: "h3", Connected: true,
		Refusals: []api.HostRefusal{{}}}, {Name: "h4", Connected: true, Ports: []api.HostPort{
		{Spec: api.AdminSpec{Admin: api.AdminDrained}}}}}
	got := make(map[string]*api.CauseJobs)
	for _, c := range Find(&k) {
		if got[c.ID] = c.Jobs; c.Jobs != nil && c.ID != "switch/A" && c.ID != "suspect/x,1~y,1" {
			t.Errorf("%s hurts %+v", c.ID, c.Jobs)
		}
	}
	if j := got["switch/A"]; j == nil || j.Count != 6 ||
		!slices.Equal(j.Names, []string{"vip", "a", "b", "c", "d"}) {
		t.Errorf("the switch hurts %+v", j)
	}
	if j := got["suspect/x,1~y,1"]; j == nil || j.Count != 3 ||
		!slices.Equal(j.Names, []string{"vip", "a", "b"}) {
		t.Errorf("one of two links hurts %+v", j)
	}
	slices.Sort(asked)
	if want := []string{"host h1", "host h2", "host h3", "host h4", "host h9", "link d,1~e,1",
		"link x,1~y,1", "link x,2~y,2", "plane 2", "switch A", "switch L",
		"switch N"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
	k.Dependents = nil
	if all := Find(&k); all[0].Jobs != nil {
		t.Errorf("where no jobs are known: %+v", all[0].Jobs)
	}
}

// TestPeersThatAreUp: no cause asks for peers that are up, or that nobody configured.
func TestPeersThatAreUp(t *testing.T) {
	alone := newView(&Known{Checks: []api.ReadinessCheck{{Name: "bgp-ls"}}}).peerFindings()
	if len(alone) != 1 || !strings.HasPrefix(alone[0].Todo, "Apply a network") {
		t.Errorf("without peers: %+v", alone)
	}
	for _, state := range []topology.PeerState{topology.PeerEstablished, topology.PeerConnecting} {
		settling := api.SwitchStatus{Name: "A", Managed: true, Connected: true, Synced: true,
			Settling: true}
		v := newView(&Known{Switches: []api.SwitchStatus{settling},
			Peers:  []api.BGPPeer{{Name: "p", State: state}},
			Checks: []api.ReadinessCheck{{Name: "bgp-ls", Message: "stale"}}})
		told := 0
		for _, f := range append(v.peerFindings(), v.switchFindings()...) {
			if strings.Contains(f.Todo, "ring the BGP-LS peers up") {
				told++
			}
		}
		if want := map[bool]int{true: 0, false: 2}[state == topology.PeerEstablished]; told != want {
			t.Errorf("with a peer that is %s, %d findings say to bring it up, want %d", state, told, want)
		}
	}
}
