package pfc

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
)

// Names of the resources.
const (
	policyName   = "wan"
	losslessName = "lossless"
)

// The priorities of the tenants; the first tenant is lossless.
const (
	priorityA = 3
	priorityB = 2
)

// intents are the resources of the demo: two tenants on one SRv6 policy, one of them lossless.
type intents struct {
	policy   api.SRv6PolicySpec
	tenants  []tenant
	lossless api.PFCPolicySpec
}

type tenant struct {
	name string
	spec api.TenantSpec
}

// near is the first node of every policy: the one that is told to pause.
const near = "R1"

// A Story is what of the draft a run shows.
type Story struct {
	about    string
	network  func(delay time.Duration, rate uint64) lab.Network
	far      string   // the last node of the policy, where DC2 is
	via      []string // nodes between that the policy names
	scenario int      // of section 3
}

func (s Story) withDefaults() Story {
	if s.network != nil {
		return s
	}
	return Story{
		about: fmt.Sprintf("DC1 - R1 - R2 - R3 - DC2, and R1 - R4 - R5 - R3; R1 and R3 handle PFC, R2 "+
			"knows nothing of it; %v of delay from R1 to R3", Delay),
		network: lab.PFCNetwork, far: "R3", via: []string{"R2"},
	}
}

// Scenario2 is Figure 3 of the draft with tunnels that the first data packet of the policy causes
// (section 3, scenario 2).
func Scenario2() Story {
	s := Story{}.withDefaults()
	s.about += "; tunnels are made when R3 reports the first packet"
	s.scenario = 2
	return s
}

// Figure2 is the draft's Figure 2 exactly, with a policy from R1 to R5 by some nodes between, all
// without PFC.
func Figure2(via ...string) Story {
	return Story{
		about: fmt.Sprintf("R1 - R2 - R5 and R1 - R3 - R4 - R5; R1 and R5 handle PFC; the policy is "+
			"by %s", strings.Join(via, " and ")),
		network: lab.PFCFigure2, far: "R5", via: via,
	}
}

// intents returns what an operator asks for, with a buffer of some octets for the lossless tenant.
func (s Story) intents(n *lab.Network, buffer uint64) intents {
	site := func(sw, host string) api.TenantSite {
		_, port := n.Uplink(host)
		return api.TenantSite{Switch: sw, Port: port}
	}
	of := func(name string, slice uint32, priority uint8, west, east string) tenant {
		return tenant{name, api.TenantSpec{
			Slice: slice, Priority: priority, Policies: []string{policyName},
			Sites: []api.TenantSite{site(near, west), site(s.far, east)},
		}}
	}
	policy := api.SRv6PolicySpec{Headend: near, Endpoint: s.far}
	for _, node := range s.via {
		policy.Segments = append(policy.Segments, api.PolicySegment{Node: node})
	}
	return intents{
		policy:  policy,
		tenants: []tenant{of("a", 1, priorityA, "DC1", "DC2"), of("b", 2, priorityB, "B1", "B2")},
		lossless: api.PFCPolicySpec{SRv6Policy: policyName, Tenant: "a", Buffer: buffer,
			Scenario: s.scenario},
	}
}

// pauseTenant has DC2 pause the priority of tenant a until then, with a frame before each pause
// ends.
func pauseTenant(w *lab.World, until time.Duration) {
	edge, _ := w.Network.Uplink("DC2")
	wire, err := w.Wire("DC2", edge)
	if err != nil {
		return // the network is the demo's own
	}
	hosts := w.Network.Hosts
	host := hosts[slices.IndexFunc(hosts, func(h lab.Host) bool { return h.Name == "DC2" })]
	frame := packet.PFC{Classes: 1 << priorityA}
	if w.Now() < until {
		frame.Quanta[priorityA] = math.MaxUint16
		w.At(min(until, w.Now()+refresh), func() { pauseTenant(w, until) })
	}
	wire.Inject(frame.AppendFrame(nil, host.MAC))
}
