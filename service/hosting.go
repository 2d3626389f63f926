package service

import (
	"context"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/service/cluster"
	"github.com/weft-sdn/weft/service/hostrelay"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/topology/bgpls"
)

// hosting serves the hosts that are connected to a controller of a cluster, whether or not the
// controller decides.
type hosting struct {
	attendant *hostrelay.Relay
	upstream  *upstream
}

// newHosting returns the hosting of a member.
func newHosting(o *Options, s *sessions) (*hosting, error) {
	u := &upstream{sessions: s, changed: make(chan struct{})}
	cfg := HostsConfig(&o.Inventory.MRC)
	cfg.Epoch = uint64(time.Now().UnixNano())
	a, err := hostrelay.New(hostrelay.Config{Inventory: &o.Inventory, Hosts: cfg, Connect: u.connect})
	return &hosting{attendant: a, upstream: u}, err
}

// run serves hosts, and follows the links and ports of the fabric for them, until ctx ends.
func (h *hosting) run(ctx context.Context, o *Options, speaker *bgpls.Speaker,
	l net.Listener) error {
	defer h.upstream.close()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return h.attendant.Run(ctx, l) })
	seen := newNetwork(speaker.Topology(), o.described)
	group.Go(func() error { return seen.run(ctx) })
	group.Go(func() error { return follow(ctx, &seen.merged, h.attendant.SetTopology) })
	for i := range o.Inventory.Switches {
		sw := &o.Inventory.Switches[i]
		cfg := controller.SessionConfig(sw, southbound.ElectionID{})
		if !sw.Managed() || cfg.NoPortState {
			continue
		}
		group.Go(func() error {
			return southbound.WatchPorts(ctx, cfg, func(ctx context.Context, e southbound.Ports) {
				h.attendant.SetPorts(ctx, sw.Name, e)
			})
		})
	}
	return group.Wait()
}

// How long a decider gives its own attendant the way: denialHead to learn of a failure, and
// denialWait at most until the denials are on their way.
const (
	denialHead = 10 * time.Millisecond
	denialWait = 300 * time.Millisecond
)

// goFirst lets this controller first deny failed links to its own hosts, like every controller,
// before it decides for all hosts. By then its own hosts have the denials. Otherwise the decider's
// hosts would come last, because the decider has the most to do.
func (h *hosting) goFirst(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, denialWait)
	defer cancel()
	select {
	case <-time.After(denialHead):
		h.attendant.Sent(ctx)
	case <-ctx.Done():
	}
}

// upstream holds the connection to the decider, which may be this controller.
type upstream struct {
	sessions *sessions

	// mu guards the fields below it.
	mu      sync.Mutex
	term    int64 // of the decider at the other end
	peer    *southbound.Peer
	changed chan struct{} // closed and replaced when there is another one
}

// follow points the connection at the decider. Without a known decider, follow keeps the last one,
// because that controller may go on when this controller has lost the store.
func (u *upstream) follow(v cluster.View) {
	d, ok := v.Member(v.Decider.Name)
	if !ok || d.Instance != v.Decider.Instance {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.term == v.Decider.Term {
		return
	}
	p, err := southbound.NewPeer(func(ctx context.Context) (net.Conn, error) {
		if d.Instance == v.Instance {
			return u.sessions.relay.Dial(ctx)
		}
		return u.sessions.dial(ctx, d.Peers)
	})
	if err != nil {
		u.sessions.o.Log.Error("the controller that decides cannot be reached", "controller", d.Name,
			"reason", err)
		return
	}
	if u.peer != nil {
		_ = u.peer.Close() // streams begin anew on the next one
	}
	u.term, u.peer = v.Decider.Term, p
	close(u.changed)
	u.changed = make(chan struct{})
}

// connect returns the connection, and waits for the first one.
func (u *upstream) connect(ctx context.Context) (agent.Conn, error) {
	for {
		u.mu.Lock()
		p, changed := u.peer, u.changed
		u.mu.Unlock()
		if p != nil {
			return p.Conn(), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (u *upstream) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.peer != nil {
		_ = u.peer.Close() // no stream uses it any more
	}
}
