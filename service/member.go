package service

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/internal/certs"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/service/cluster"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/hosts"
	"github.com/weft-sdn/weft/store"
)

// member is a service that shares a store with other controllers.
type member struct {
	s        *Service
	o        *Options
	self     cluster.Member
	node     *cluster.Node
	hosting  *hosting // nil: there is no MRC fabric
	sessions *sessions
	standby  *controller.Standby
	follows  chan struct{} // of capacity 1: it decides no more

	scheme    string // of the listener for other controllers
	transport *http.Transport
	pings     *http.Transport // without connections that are open already
	seen      sightings
	schema    atomic.Int64  // version of the store's records; 0: not known
	deciders  atomic.Uint64 // how often the decider changed
	owners    atomic.Uint64 // how often a switch got another owner

	// mu guards the fields below it.
	mu      sync.Mutex
	planner *planner    // nil: this controller does not decide
	seat    func()      // ends the time in which standby is kept ready; nil: that is over
	unsaid  []api.Event // of the time without a decider
}

// selfPath is the path at which a controller describes itself to other controllers.
const selfPath = "/cluster/self"

// planesTimeout bounds the question for the planes of the fabric.
const planesTimeout = 500 * time.Millisecond

// askTimeout bounds a question to another controller.
const askTimeout = time.Second

// startMember starts one of several controllers.
func (s *Service) startMember(ctx context.Context, group *errgroup.Group, o *Options,
	pipeline *southbound.Pipeline) error {
	shared, ok := o.Store.(store.Shared)
	if !ok {
		return errors.New("cluster.listen is set, and the store is this process's own: several " +
			"controllers need one that they share")
	}
	c := &o.Inventory.Cluster
	peers, err := net.Listen("tcp", c.Listen)
	if err != nil {
		return fmt.Errorf("cluster.listen: %w", err)
	}
	dial, err := peerDialer(c)
	if err != nil {
		return errors.Join(fmt.Errorf("cluster.tls: %w", err), peers.Close())
	}
	listener, err := tlsListener(peers, c)
	if err != nil {
		return errors.Join(fmt.Errorf("cluster.tls: %w", err), peers.Close())
	}
	m := &member{s: s, o: o, scheme: "http", transport: peerTransport(dial),
		pings: peerTransport(dial), sessions: newSessions(o, pipeline, shared, dial)}
	if c.TLS != nil {
		m.scheme = "https"
	}
	relayed, asked, accept := split(listener)
	m.self = cluster.Member{
		Name: o.name(), API: advertised(c, s.listener), Peers: peersAt(c, peers),
		Release: o.API.Version, Schema: store.Schema, Started: time.Now().UTC(),
	}
	if s.hosts != nil {
		m.self.Hosts = advertised(c, s.hosts)
		if m.hosting, err = newHosting(o, m.sessions); err != nil {
			return errors.Join(err, peers.Close())
		}
		hosts.Register(m.sessions.relay, m.streams)
	}
	m.node = cluster.New(cluster.Config{
		Self: m.self, Store: shared, TTL: c.TTL.D(), Lead: m.lead, Changed: m.changed, Log: o.Log,
		Switches: m.sessions.switches, Generation: m.sessions.generation, Hold: m.sessions.hold,
		Alarm: o.alarm, Ping: m.ping,
	})
	m.sessions.node, m.sessions.planes = m.node, func() map[string]int { return m.planes(ctx) }
	o.API.Cluster, o.API.Writable, o.API.Knows = m, m.writable, m.knows
	s.front = northbound.NewFront(o.API)
	if err := m.face(); err != nil {
		return errors.Join(err, peers.Close())
	}
	s.leading = m.leading
	if s.speaker, err = s.collector(ctx, o); err != nil {
		return errors.Join(err, peers.Close())
	}
	m.standby, m.follows = controller.NewStandby(controller.StandbyOptions{
		Inventory: o.Inventory, Store: shared, Topology: s.speaker.Topology(), Ignore: foreign,
		Log: o.Log,
	}), make(chan struct{}, 1)
	group.Go(func() error { m.stand(ctx); return nil })
	group.Go(func() error { m.watchShare(ctx); return nil })
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+selfPath, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(m.report(r.Context()))
	})
	mux.HandleFunc("GET "+pingPath, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
	mux.Handle("/", s.front.Peers())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10}
	group.Go(func() error {
		if err := server.Serve(asked); ctx.Err() == nil {
			return fmt.Errorf("cluster.listen: %w", err)
		}
		return nil
	})
	group.Go(func() error {
		_ = accept() // ends with the listener
		return nil
	})
	group.Go(func() error {
		_ = m.sessions.relay.Serve(relayed) // as above
		return nil
	})
	group.Go(func() error {
		m.node.Run(ctx)
		m.transport.CloseIdleConnections()
		m.sessions.close()
		if err := server.Close(); !errors.Is(err, net.ErrClosed) { // both servers close the one listener
			return err
		}
		return nil
	})
	if m.hosting != nil {
		group.Go(func() error { return m.hosting.run(ctx, o, s.speaker, s.hosts) })
	}
	return nil
}

// peerDialer connects to the listeners of other controllers.
func peerDialer(c *inventory.Cluster) (dial func(ctx context.Context, address string) (net.Conn,
	error), err error) {
	dialer := &net.Dialer{Timeout: askTimeout}
	connect := dialer.DialContext
	if c.TLS != nil {
		if connect, err = c.TLS.Client(certs.KindController).Dial(tls.VersionTLS13, dialer); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, address string) (net.Conn, error) {
		return connect(ctx, "tcp", address)
	}, nil
}

// peerTransport is the way to the API of other controllers.
func peerTransport(dial func(ctx context.Context, address string) (net.Conn,
	error)) *http.Transport {
	connect := func(ctx context.Context, _, address string) (net.Conn, error) {
		return dial(ctx, address)
	}
	return &http.Transport{DialContext: connect, DialTLSContext: connect, MaxIdleConnsPerHost: 64,
		IdleConnTimeout: time.Minute, DisableCompression: true}
}

// peersAt returns the address under which peers reach a listener on this machine.
func peersAt(c *inventory.Cluster, l net.Listener) string {
	host := c.Host()
	if host == "" {
		host, _ = os.Hostname() // "" has others fail, with this address in their errors
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return net.JoinHostPort(host, port)
}

// advertised returns the address at which other machines reach a listener for clients or hosts: its
// own, or that for controllers if it listens at all addresses.
func advertised(c *inventory.Cluster, l net.Listener) string {
	at := l.Addr().String()
	if a, err := netip.ParseAddrPort(at); err == nil && a.Addr().IsUnspecified() {
		return peersAt(c, l)
	}
	return at
}

// lead decides until the mandate ends.
func (m *member) lead(ctx context.Context, mandate *cluster.Mandate) error {
	version, _, err := store.ReadSchema(ctx, mandate.Store)
	if err != nil {
		return err
	}
	m.schema.Store(int64(version))
	events := m.o.newJournal()
	m.mu.Lock()
	if m.seat != nil {
		m.seat()
		m.seat = nil
	}
	m.mu.Unlock()
	defer func() {
		select {
		case m.follows <- struct{}{}:
		default: // it is about to be seen
		}
	}()
	p, err := newPlanner(ctx, m.o, mandate.Store, mandate.Check,
		cluster.Fence(m.sessions.southbound(mandate.Term), mandate.Tenure), m.s.speaker, events,
		m.standby)
	if err != nil {
		return err
	}
	if m.hosting != nil {
		p.before = m.hosting.goFirst
	}
	m.mu.Lock()
	m.planner = p
	unsaid := m.unsaid
	m.unsaid = nil
	m.s.journal.Store(events)
	m.mu.Unlock()
	for _, e := range unsaid {
		events.publish(e)
	}
	events.publish(api.Event{
		Time: time.Now().UTC(), Type: api.EventDeciderChanged, Object: m.self.Name,
		Message: fmt.Sprintf("controller %s decides, in term %d", m.self.Name, mandate.Term),
	})
	defer func() {
		m.mu.Lock()
		m.planner = nil
		m.s.journal.Store(nil)
		m.mu.Unlock()
		if err := m.face(); err != nil {
			m.o.Log.Error("the API", "reason", err)
		}
	}()
	if err := m.face(); err != nil {
		return err
	}
	// Changes that the store may lack end with the term: the next term begins with its records.
	running, end := context.WithCancelCause(ctx)
	var raising sync.WaitGroup
	defer raising.Wait()
	defer end(nil)
	raising.Go(func() { m.raiseSchema(running, mandate.Store) })
	go func() {
		if p.failed(running) {
			end(errWrite)
		}
	}()
	err = p.run(running, nil)
	if cause := context.Cause(running); errors.Is(cause, errWrite) {
		err = errors.Join(err, cause)
	}
	return err
}

// leading returns the planner; nil: this controller does not decide.
func (m *member) leading() *planner {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.planner
}

// streams returns the server of streams to hosts; nil: this controller does not decide.
func (m *member) streams() *hosts.Server {
	if p := m.leading(); p != nil {
		return p.streams
	}
	return nil
}

// planes returns the planes of the fabric that switches are in; nil: they are not known yet, or
// this controller does not decide.
func (m *member) planes(ctx context.Context) map[string]int {
	p := m.leading()
	if p == nil || p.multipath == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, planesTimeout) // it may not run yet, or no more
	defer cancel()
	planes, err := p.multipath.SwitchPlanes(ctx)
	if err != nil {
		return nil
	}
	return planes
}

// stand keeps a core ready while this controller does not decide.
func (m *member) stand(ctx context.Context) {
	for ctx.Err() == nil {
		standing, end := context.WithCancel(ctx)
		m.mu.Lock()
		m.seat = end
		m.mu.Unlock()
		m.standby.Run(standing)
		end()
		select {
		case <-m.follows:
		case <-ctx.Done():
		}
	}
}

// foreign reports whether a record is irrelevant to planning. Unknown records count as relevant.
func foreign(key string) bool {
	for _, prefix := range []string{"cluster/", "mrc/", "access/", "audit/"} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return key == electionKey || key == termKey || key == "schema"
}

// face activates the server that fits this controller's role.
func (m *member) face() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.planner != nil {
		m.s.front.Set(m.planner.server)
		return nil
	}
	server, err := northbound.NewMember(m.o.API, m.transport)
	if err != nil {
		return err
	}
	m.s.front.Set(server)
	return nil
}

// changed takes a new view of the other controllers.
func (m *member) changed(old, now cluster.View) {
	m.seen.follow(old, now, time.Now())
	m.sessions.follow(now)
	if m.hosting != nil {
		m.hosting.upstream.follow(now)
	}
	events := changes(old, now)
	if old.Decider != now.Decider {
		m.deciders.Add(1)
	}
	if old.Instance != 0 && now.Instance != 0 {
		for sw, o := range now.Owners {
			if was := old.Owners[sw]; was.Generation != o.Generation {
				m.owners.Add(1)
			}
		}
	}
	m.mu.Lock()
	decides := m.planner != nil
	switch {
	case decides:
	case now.Decider.Name != "" && now.Decider.Name != m.self.Name:
		m.unsaid = nil // that one says it
	default:
		m.unsaid = append(m.unsaid, events...)
		m.unsaid = m.unsaid[max(0, len(m.unsaid)-64):]
	}
	m.mu.Unlock()
	for _, e := range events {
		if decides {
			m.s.publish(m.o, e)
		} else {
			m.o.Log.Info(e.Message, "event", e.Type, "object", e.Object)
		}
	}
	if old.Decider == now.Decider || old.Decider == (cluster.Decider{}) {
		return // no request is on its way to another decider
	}
	if !decides {
		if err := m.face(); err != nil {
			m.o.Log.Error("the API", "reason", err)
		}
	}
}

// changes are the events of a change of the controllers.
func changes(old, now cluster.View) (out []api.Event) {
	if now.Instance == 0 || old.Instance == 0 {
		return nil // this controller does not know what happens to others
	}
	say := func(t api.EventType, name, format string, args ...any) {
		out = append(out, api.Event{Time: time.Now().UTC(), Type: t, Object: name,
			Message: fmt.Sprintf(format, args...)})
	}
	for _, was := range old.Members {
		is, there := now.Member(was.Name)
		switch {
		case there && is.Instance == was.Instance:
		case was.Leaving:
			say(api.EventControllerLeft, was.Name, "controller %s left", was.Name)
		default:
			say(api.EventControllerLost, was.Name, "controller %s was lost: its lease ended", was.Name)
		}
	}
	for _, is := range now.Members {
		if was, there := old.Member(is.Name); !there || was.Instance != is.Instance {
			say(api.EventControllerJoined, is.Name, "controller %s joined, API on %s, release %s", is.Name,
				is.API, is.Release)
		}
	}
	for _, is := range now.Members {
		was, _ := old.Member(is.Name)
		if e, ok := alarmed(is.Name, was.Alarm, is.Alarm); ok && (was.Instance == is.Instance ||
			is.Alarm != nil) {
			out = append(out, e)
		}
	}
	for _, is := range now.Members {
		was, _ := old.Member(is.Name)
		before, after := unreachedBy(&old, was), unreachedBy(&now, is)
		switch {
		case after != "" && after != before:
			say(api.EventControllerAlarm, is.Name, "controller %s: %s", is.Name, after)
		case before != "" && after == "":
			say(api.EventControllerAlarm, is.Name, "controller %s is reached by all others again", is.Name)
		}
	}
	moved := make(map[[2]string][]string) // switches by the owner and the one before
	for sw, is := range now.Owners {
		if was := old.Owners[sw]; was.Generation != is.Generation {
			moved[[2]string{is.Name, was.Name}] = append(moved[[2]string{is.Name, was.Name}], sw)
		}
	}
	for _, move := range slices.SortedFunc(maps.Keys(moved), func(a, b [2]string) int {
		return slices.Compare(a[:], b[:])
	}) {
		switches := moved[move]
		slices.SortFunc(switches, natural.Compare)
		before := "owned by none before"
		if move[1] != "" {
			before = "owned by controller " + move[1] + " before"
		}
		say(api.EventOwnerChanged, move[0], "controller %s owns %s, %s", move[0], some(switches), before)
	}
	return out
}

// some joins the names of switches, and counts those after the fifth.
func some(switches []string) string {
	if n := len(switches); n > 5 {
		return fmt.Sprintf("%s and %d other switches", strings.Join(switches[:5], ", "), n-5)
	}
	return strings.Join(switches, ", ")
}

// decider returns the decider if it is another controller.
func (m *member) decider() (cluster.Member, error) {
	v, _ := m.node.View()
	switch {
	case v.Instance == 0:
		return cluster.Member{}, fmt.Errorf("%w: controller %s has no lease in it",
			northbound.ErrStoreUnavailable, m.self.Name)
	case v.Decider.Name == "":
		return cluster.Member{}, northbound.ErrNoDecider
	case v.Decider.Name == m.self.Name:
		return cluster.Member{}, fmt.Errorf("%w: controller %s is about to", northbound.ErrNoDecider,
			m.self.Name)
	}
	d, ok := v.Member(v.Decider.Name)
	if !ok {
		return d, fmt.Errorf("%w: controller %s is gone", northbound.ErrNoDecider, v.Decider.Name)
	}
	self, _ := v.Member(m.self.Name)
	if why := self.Lost(d); why != "" {
		return d, fmt.Errorf("controller %s decides, and controller %s does not reach it: %s", d.Name,
			self.Name, why)
	}
	return d, nil
}

// Decider implements [northbound.Cluster].
func (m *member) Decider() (*url.URL, error) {
	d, err := m.decider()
	return &url.URL{Scheme: m.scheme, Host: d.Peers}, err
}

// Readiness implements [northbound.Cluster].
func (m *member) Readiness() []api.ReadinessCheck {
	v, _ := m.node.View()
	checks := m.o.checks()
	if v.Instance == 0 {
		checks[0].OK, checks[0].Message = false, strings.TrimSuffix("no lease in the store: "+
			checks[0].Message, ": ")
	}
	decider := api.ReadinessCheck{Name: "decider", OK: v.Decider.Name != "", Message: v.Decider.Name}
	if !decider.OK {
		decider.Message = "no controller decides"
	}
	checks = append(checks, decider)
	if check, lost := m.reach(&v); lost {
		checks = append(checks, check)
	}
	if why := m.o.certificates(time.Now()); why != "" {
		checks = append(checks, api.ReadinessCheck{Name: "certificates", Advisory: true, Message: why})
	}
	if why := m.alarms(&v); why != "" && v.Instance != 0 {
		checks = append(checks, api.ReadinessCheck{Name: "members", Advisory: true, Message: why})
	}
	if why := m.node.Uneven(); why != "" {
		checks = append(checks, api.ReadinessCheck{Name: "share", Advisory: true,
			Message: "switches have been shared out unevenly for a minute: " + why})
	}
	return checks
}

// State implements [northbound.Cluster].
func (m *member) State() (northbound.ClusterState, bool) {
	v, _ := m.node.View()
	state := northbound.ClusterState{
		Decides: v.Instance != 0 && v.Decider.Name == m.self.Name, Controllers: len(v.Members),
		Expected: 1 + len(m.expected(m.seen.known())), Term: v.Decider.Term,
		Deciders: m.deciders.Load(), Owners: m.owners.Load(),
	}
	state.Owned, state.Ready = m.sessions.relay.Count()
	if v.Instance != 0 {
		state.Lease = max(0, time.Until(v.Until))
	}
	return state, true
}

// report returns what this controller says of itself.
func (m *member) report(ctx context.Context) api.Controller {
	v, _ := m.node.View()
	self := m.self
	self.Instance = v.Instance
	c := m.of(v, self)
	c.Disk = m.o.controllerDisk()
	if wrong := m.o.wrong(); wrong != "" {
		c.Alarm = wrong
	}
	if v.Instance != 0 {
		c.Lag = api.Duration(max(0, m.node.TTL()-time.Until(v.Until)).Round(time.Millisecond))
	}
	m.leading().count(ctx, &c)
	_, c.Switches = m.sessions.relay.Count()
	c.Streams = 0
	if m.hosting != nil {
		c.Streams = m.hosting.attendant.Connected()
	}
	return c
}

// of returns what the records say of a controller.
func (m *member) of(v cluster.View, o cluster.Member) api.Controller {
	c := api.Controller{
		Name: o.Name, Role: api.RoleMember, Since: o.Joined, API: o.API, Peers: o.Peers, Hosts: o.Hosts,
		Release: o.Release, Started: o.Started,
	}
	if v.Decider.Name == o.Name {
		c.Role, c.Since, c.Term = api.RoleDecider, v.Decider.Since, v.Decider.Term
	}
	c.Alarm = unreachedBy(&v, o)
	if o.Alarm != nil {
		c.Alarm = o.Alarm.Message
	}
	for sw, owner := range v.Owners {
		if owner.Instance == o.Instance && owner.Name == o.Name {
			c.Owns = append(c.Owns, sw)
		}
	}
	slices.SortFunc(c.Owns, natural.Compare)
	return c
}

// Controllers implements [northbound.Cluster].
func (m *member) Controllers(ctx context.Context) []api.Controller {
	v, _ := m.node.View()
	out := make([]api.Controller, len(v.Members))
	var asked sync.WaitGroup
	for i, o := range v.Members {
		if o.Name == m.self.Name {
			out[i] = m.report(ctx)
			out[i].Self = true
			continue
		}
		asked.Go(func() {
			c, err := m.ask(ctx, o)
			if err != nil {
				c = m.of(v, o)
				c.Role, c.Message = api.RoleUnreachable, unreached(o.Peers, err)
			}
			out[i] = c
		})
	}
	asked.Wait()
	if v.Instance == 0 { // then there are no records to see
		c := m.report(ctx)
		c.Self = true
		out = append(out, c)
	}
	out = append(out, m.missing(ctx, v)...)
	slices.SortFunc(out, func(a, b api.Controller) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// ask returns what another controller says of itself.
func (m *member) ask(ctx context.Context, o cluster.Member) (c api.Controller, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, m.scheme+"://"+o.Peers+selfPath, nil)
	if err != nil {
		return c, err
	}
	asked := time.Now()
	answer, err := m.transport.RoundTrip(r)
	if err != nil {
		return c, err
	}
	ahead := clockOf(answer, asked)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return c, fmt.Errorf("%s answers %s", o.Peers, answer.Status)
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, answer.Body, 1<<16)).Decode(&c); err != nil {
		return c, err
	}
	c.Clock = api.Duration(ahead)
	return c, nil
}
