package hostrelay

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/runner"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/internal/retry"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/topology"
)

// Config configures a Relay.
type Config struct {
	Inventory *inventory.Inventory
	// Hosts configures the streams of hosts. Each start has a new epoch.
	Hosts hosts.Config
	// Connect waits for a connection to the decider and returns it. The decider serves hosts on that
	// connection as [hosts.Server.Subscribe] does.
	Connect func(context.Context) (agent.Conn, error)
}

// backoff is between attempts to reach the decider, for each host. They share a connection.
var backoff = retry.Backoff{Initial: 50 * time.Millisecond, Max: time.Second, Multiplier: 1.6}

// An Relay serves the hosts of one of several controllers. Its methods may be called from any
// goroutine. It is the observer of its streams to hosts.
type Relay struct {
	cfg      Config
	server   *hosts.Server
	follower *runner.Follower
	pool     *hostapi.Pool // of what hosts hold
	known    map[string]bool

	ctx context.Context // ends with Run
	end context.CancelFunc

	// mu guards the fields below it.
	mu    sync.Mutex
	seats map[string]*seat
	// decisions counts the decider's states for hosts of this relay.
	decisions uint64
}

// decisionWait is how long a host that holds nothing waits for the decider, before its relay
// gives it the state that the decider sent last.
const decisionWait = 2 * time.Second

// sentLook is the pause between two checks of the messages under way.
const sentLook = 5 * time.Millisecond

// New makes an relay; Run runs it.
func New(cfg Config) (*Relay, error) {
	a := &Relay{cfg: cfg, pool: hostapi.NewPool(), known: make(map[string]bool),
		seats: make(map[string]*seat)}
	for i := range cfg.Inventory.Hosts {
		a.known[cfg.Inventory.Hosts[i].Name] = true
	}
	var err error
	if a.server, err = hosts.New(cfg.Hosts, a); err != nil {
		return nil, fmt.Errorf("mrc: %w", err)
	}
	// Set fails for a host beyond the server's limit only, and such a host gets no stream.
	if a.follower, err = runner.NewFollower(cfg.Inventory, func(host string, s *hostapi.State) {
		_ = a.server.Set(host, s)
	}); err != nil {
		return nil, fmt.Errorf("mrc: %w", err)
	}
	a.ctx, a.end = context.WithCancel(context.Background())
	return a, nil
}

// Run serves hosts on a listener until ctx ends, without an error then, and closes the listener. It
// must be called once.
func (a *Relay) Run(ctx context.Context, l net.Listener) error {
	defer a.end()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.follower.Run(ctx) })
	group.Go(func() error { return a.server.Serve(ctx, l) })
	return group.Wait()
}

// SetTopology takes what is advertised now, see [runner.Follower.SetTopology].
func (a *Relay) SetTopology(ctx context.Context, s *topology.Snapshot) error {
	return a.follower.SetTopology(ctx, s)
}

// SetPorts takes what a switch reports of its ports, see [runner.Follower.SetPorts].
func (a *Relay) SetPorts(ctx context.Context, sw string, p controller.PortStates) {
	a.follower.SetPorts(ctx, sw, p)
}

// Sent returns when the messages of all earlier calls are on their way to the hosts, or ctx ends.
func (a *Relay) Sent(ctx context.Context) {
	if a.follower.Flush(ctx) != nil {
		return
	}
	look := time.NewTicker(sentLook)
	defer look.Stop()
	for a.server.Behind() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// Connected returns how many hosts have a stream.
func (a *Relay) Connected() (n int) {
	for _, h := range a.server.List() {
		if h.Connected {
			n++
		}
	}
	return n
}

// seat returns the seat of a host that is connected.
func (a *Relay) seat(host string) *seat {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seats[host]
}

// The methods below are those of [hosts.Observer].

// Hello opens a stream to the decider for a host of the inventory. A host with a version from this
// relay continues with that version. For any other host, the decider must first send the wanted
// state, because another controller may have served the host since. A host without a state, for
// example after a restart, gets its last state from this relay if the decider stays silent and has
// not been heard since.
func (a *Relay) Hello(host string, h *hostapi.Hello) error {
	if !a.known[host] {
		return fmt.Errorf("%.80q is no host of the controller's inventory", host)
	}
	before := a.seat(host) // its stream has ended
	s := &seat{a: a, host: host, hello: h, news: make(chan struct{}, 1), done: make(chan struct{}),
		probes: make(map[uint32]func(hostapi.ProbeResult))}
	cfg := agent.DefaultConfig()
	cfg.Name, cfg.Software, cfg.Instance, cfg.Version = host, h.Software, h.Instance, h.Version
	cfg.Connect, cfg.Share, cfg.Backoff = a.cfg.Connect, a.pool.Share, backoff
	switch {
	case before != nil && before.held != nil && h.Version.Epoch == a.cfg.Hosts.Epoch:
		s.probe = before.probe
		if before.version == (hostapi.Version{}) { // from standIn: the decider knows nothing of it
			cfg.Version, s.last = hostapi.Version{}, before.held
		} else {
			cfg.Version, cfg.State = before.version, before.held
		}
	default:
		a.server.Unset(host)
		a.follower.Forget(host)
		if before != nil && h.Version == (hostapi.Version{}) && a.inForce(before) {
			s.last = before.held
		}
	}
	var err error
	if s.agent, err = agent.New(cfg, s); err != nil {
		return err
	}
	var ctx context.Context
	ctx, s.end = context.WithCancel(a.ctx)
	s.ctx = ctx
	a.mu.Lock()
	a.seats[host] = s
	a.mu.Unlock()
	go func() {
		defer close(s.done)
		var waiting sync.WaitGroup
		waiting.Go(s.standIn)
		_ = s.agent.Run(ctx) // always nil
		waiting.Wait()
	}()
	return nil
}

// inForce reports whether, to this relay's knowledge, the decider still wants the state that the
// host had at the end of its last stream: the decider has sent nothing for any host since.
func (a *Relay) inForce(s *seat) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return s.held != nil && s.decisions == a.decisions
}

// Applied reports that a host holds the state that the relay sent.
func (a *Relay) Applied(host string, _ hostapi.Version, _ []hostapi.Refused) {
	a.seat(host).wake()
}

// Refused is a host that does not take something. One that does not hold what an update starts from
// gets everything.
func (a *Relay) Refused(host string, r *hostapi.Refused) {
	if r.Code != hostapi.CodeUnknownBase {
		a.seat(host).refused(r)
	}
}

// EVEvents are EVs that a host found bad, or good again.
func (a *Relay) EVEvents(host string, e *hostapi.EVEvents) {
	s := a.seat(host)
	for _, x := range e.Events {
		s.agent.EVEvent(x)
	}
	if e.Dropped > 0 {
		s.agent.EventsDropped(e.Dropped)
	}
}

// EVCounts takes the packet counts of EVs.
func (a *Relay) EVCounts(host string, c *hostapi.EVCounts) {
	s := a.seat(host)
	for _, x := range c.Counts {
		s.agent.Count(x)
	}
}

// ProbeResult takes the result of a probe.
func (a *Relay) ProbeResult(host string, r *hostapi.ProbeResult) { a.seat(host).result(r) }

// PortStatus reports a host's ports that are up.
func (a *Relay) PortStatus(host string, up hostapi.PortMask) {
	a.seat(host).agent.PortStatus(up)
	a.follower.PortStatus(host, up)
}

// QueuePairs takes the queue pairs of applications on a host.
func (a *Relay) QueuePairs(host string, q *hostapi.QueuePairs) {
	a.seat(host).agent.QueuePairs(*q)
}

// PortErrors is the counters of errors of a host's ports.
func (a *Relay) PortErrors(host string, e *hostapi.PortErrors) {
	a.seat(host).agent.PortErrors(*e)
}

// SelfProbeCounts takes the counts of a host's probes to itself.
func (a *Relay) SelfProbeCounts(host string, c *hostapi.SelfProbeCounts) {
	a.seat(host).agent.SelfProbeCounts(c)
}

// Gone is the end of a host's stream. What it holds is kept: it may come again.
func (a *Relay) Gone(host string, _ error) {
	s := a.seat(host)
	s.end()
	<-s.done
	s.version, s.held = s.agent.Held()
	if s.version == (hostapi.Version{}) {
		s.held = s.last
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s.decisions = a.decisions
}
