package pfc

import (
	"math"
	"slices"
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

// The priorities of the tenants, of which the first is lossless.
const (
	priorityA = 3
	priorityB = 2
)

// intents are the resources of the demo: two tenants on one SRv6 policy, of which one is lossless.
type intents struct {
	policy   api.SRv6PolicySpec
	tenants  []tenant
	lossless api.PFCPolicySpec
}

type tenant struct {
	name string
	spec api.TenantSpec
}

// intentsOf returns the intents for lab.PFCNetwork, with a buffer of some octets for the lossless
// tenant.
func intentsOf(n *lab.Network, buffer uint64) intents {
	site := func(sw, host string) api.TenantSite {
		_, port := n.Uplink(host)
		return api.TenantSite{Switch: sw, Port: port}
	}
	of := func(name string, slice uint32, priority uint8, west, east string) tenant {
		return tenant{name, api.TenantSpec{
			Slice: slice, Priority: priority, Policies: []string{policyName},
			Sites: []api.TenantSite{site("R1", west), site("R3", east)},
		}}
	}
	return intents{
		policy: api.SRv6PolicySpec{Headend: "R1", Endpoint: "R3",
			Segments: []api.PolicySegment{{Node: "R2"}}},
		tenants:  []tenant{of("a", 1, priorityA, "DC1", "DC2"), of("b", 2, priorityB, "B1", "B2")},
		lossless: api.PFCPolicySpec{SRv6Policy: policyName, Tenant: "a", Buffer: buffer},
	}
}

// pauseTenant has DC2 pause the priority of tenant a until then, with a frame before each pause
// ends.
func pauseTenant(w *lab.World, until time.Duration) {
	wire, err := w.Wire("DC2", "R3")
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
