package tunnel

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// SRv6Policy is an SRv6 policy (RFC 9256) between nodes of the topology.
type SRv6Policy struct {
	Name string
	PathRequest
	BestEffort bool
	// ID is the number of its list at the headend, not 0.
	ID uint16
}

// A Tenant is an L3VPN with a slice.
type Tenant struct {
	Name     string
	VRF      uint16
	Slice    uint32
	Priority uint8
	Rate     uint64 // bit/s, 0: no limit
	Sites    []Site
	// Policies are the SRv6 policies that carry it between two sites.
	Policies []string
}

// A Site is where a tenant is attached.
type Site struct {
	Node     topology.NodeID
	Port     uint32
	Prefixes []netip.Prefix
	// SID is the tenant's End.DT6 SID at Node, Address that of Node.
	SID, Address netip.Addr
}

// PFCPolicy makes an SRv6 policy lossless for a tenant (draft srv6-pfc-sid, section 3).
type PFCPolicy struct {
	Name, SRv6Policy, Tenant string
	Scenario                 int
	BestEffort               bool
	Buffer, XOFF, XON        uint64
	AllowCycle               bool
	MaxPause                 time.Duration
	Learned                  bool // scenario 2: a packet has been seen
}

// A Deployment is a PFC policy on a path, with everything decided.
type Deployment struct {
	SRv6Policy string `json:"policy"`
	// Stages are the PFC-capable nodes, upstream first.
	Stages []Stage `json:"stages"`
	// Tunnels are two for each pair of neighbors among the stages: 2i leads from
	// stage i+1 up to stage i, 2i+1 down. There are none while scenario 2 waits for
	// a packet.
	Tunnels []Tunnel `json:"tunnels"`
}

// A Stage is a node of a deployment and the queues by which packets leave it.
type Stage struct {
	Hop    int             `json:"hop"`
	Node   topology.NodeID `json:"node"`
	Queues []Queue         `json:"queues"`
	// Ports face the tenant's hosts and are paused by the first stage.
	Ports []uint32 `json:"ports,omitempty"`
	// Rate is the lowest rate between the previous stage and this stage, Speed the speed of the paused
	// interface, both in bit/s.
	Rate  uint64 `json:"rate,omitempty"`
	Speed uint64 `json:"speed,omitempty"`
}

// Dependencies returns which of the deployment's queues wait for which.
func (d *Deployment) Dependencies() (out []Dependency) {
	for i := range len(d.Stages) - 1 {
		for _, q := range d.Stages[i].Queues {
			for _, on := range d.Stages[i+1].Queues {
				out = append(out, Dependency{q, on})
			}
		}
	}
	return out
}

// Deploy decides how a PFC policy is put on a path. name gives nodes the names
// that errors have.
func Deploy(
	cfg *Config, path *Path, policy string, t *Tenant, r *PFCPolicy, name func(topology.NodeID) string,
) (*Deployment, error) {
	d := &Deployment{SRv6Policy: policy}
	last := len(path.Hops) - 1
	head, end := &path.Hops[0], &path.Hops[last]
	if !head.PFC.IsValid() {
		return nil, fmt.Errorf("upstream %s %w: it advertises no End.X.PFC SID over its link to %s",
			name(head.Node), ErrNotCapable, name(path.Hops[1].Node))
	}
	if !end.Back.IsValid() {
		return nil, fmt.Errorf("downstream %s %w: it advertises neither End.PFC nor an End.X.PFC SID "+
			"over its link to %s", name(end.Node), ErrNotCapable, name(path.Hops[last-1].Node))
	}
	hops := []int{0}
	for _, s := range path.Segments {
		if h := &path.Hops[s.Hop]; s.Hop > hops[len(hops)-1] && s.Hop < last && h.PFC.IsValid() &&
			h.Back.IsValid() {
			hops = append(hops, s.Hop)
		}
	}
	hops = append(hops, last)
	for i, at := range hops {
		h := &path.Hops[at]
		stage := Stage{Hop: at, Node: h.Node}
		if at < last {
			stage.Queues = []Queue{{h.Node, h.Port, t.Priority}}
		}
		for _, s := range t.Sites {
			switch {
			case s.Node != h.Node:
			case i == 0:
				stage.Ports = append(stage.Ports, s.Port)
			case at == last:
				stage.Queues = append(stage.Queues, Queue{h.Node, s.Port, t.Priority})
			}
		}
		from := 0
		if i > 0 {
			from = hops[i-1]
		}
		stage.Rate, stage.Speed = path.rate(cfg, from, max(at, 1), t.Rate),
			rateOr(path.Hops[from].Rate, cfg.Sizing.Rate)
		d.Stages = append(d.Stages, stage)
		if i > 0 && (r.Scenario != 2 || r.Learned) {
			up, down := path.tunnels(hops[i-1], at, r.BestEffort)
			d.Tunnels = append(d.Tunnels, up, down)
		}
	}
	for i := range d.Tunnels {
		if n := len(d.Tunnels[i].List) + 1; n > cfg.MaxSegments {
			return nil, fmt.Errorf("tunnel from %s to %s: %w: %d, at most %d", name(d.Tunnels[i].From),
				name(d.Tunnels[i].To), ErrTooLong, n, cfg.MaxSegments)
		}
	}
	return d, nil
}

func rateOr(rate, otherwise uint64) uint64 {
	if rate == 0 {
		return otherwise
	}
	return rate
}

// rate returns the least of the links between two hops, and of the tenant.
func (p *Path) rate(cfg *Config, from, to int, tenant uint64) uint64 {
	least := rateOr(p.Hops[from].Rate, cfg.Sizing.Rate)
	for i := from + 1; i < to; i++ {
		least = min(least, rateOr(p.Hops[i].Rate, cfg.Sizing.Rate))
	}
	if tenant != 0 {
		least = min(least, tenant)
	}
	return least
}
