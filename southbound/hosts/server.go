package hosts

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/api/hostapi/hostpb"
	"github.com/weft-sdn/weft/internal/connlimit"
)

// A Server serves the stream to all hosts of a controller. Its methods are safe for concurrent use.
type Server struct {
	hostpb.UnimplementedHostsServer
	cfg      Config
	observer Observer
	count    counters
	running  sync.WaitGroup // goroutines of streams
	// encoders bounds how many streams encode a host's full state at once: thousands of hosts that
	// connect together must not take the processors away from urgent work, such as the renewal of a
	// lease.
	encoders chan struct{}
	deltas   deltas

	mu     sync.Mutex
	hosts  map[string]*entry
	closed chan struct{}
}

// window is how many octets a host may send that the controller has not read.
const window = 1 << 20

// entry is one host of a Server.
type entry struct {
	wake chan struct{} // of capacity 1: there may be something to send
	// that refer to the entry, also before they are welcomed; guarded by Server.mu
	streams int

	deliver sync.Mutex // held while the observer is called for the host; taken before mu
	mu      sync.Mutex
	host    *Host
	stream  *stream // the current one, nil when there is none
	probes  []*hostapi.Probe
	plan    *hostapi.SelfProbes // the host should follow; nil: none was set
	since   time.Time           // of the latest Hello or Gone
	err     error               // why the last stream ended
}

// New makes a server; Serve runs it.
func New(cfg Config, o Observer) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	return &Server{
		cfg: cfg, observer: o, encoders: make(chan struct{}, runtime.GOMAXPROCS(0)),
		hosts: make(map[string]*entry), closed: make(chan struct{}),
	}, nil
}

// Serve serves hosts on a listener, which it closes, until ctx ends; then it returns nil. It may be
// called once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	creds, err := s.cfg.TLS.credentials()
	if err != nil {
		return err
	}
	server := grpc.NewServer(
		grpc.Creds(creds), grpc.MaxRecvMsgSize(s.cfg.MaxMessageBytes), grpc.MaxConcurrentStreams(4),
		grpc.ConnectionTimeout(s.cfg.HelloTimeout),
		// Windows of a fixed size: for others gRPC sends a ping with every message, to measure.
		grpc.StaticStreamWindowSize(window), grpc.StaticConnWindowSize(window),
		grpc.KeepaliveParams(keepalive.ServerParameters{Time: s.cfg.PingInterval,
			Timeout: s.cfg.PingTimeout, MaxConnectionIdle: s.cfg.HelloTimeout}),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second,
			PermitWithoutStream: true}),
	)
	hostpb.RegisterHostsServer(server, s)
	over, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.Run(over)
		server.Stop()
	}()
	most := s.cfg.MaxHosts + s.cfg.MaxStrangers
	err = server.Serve(door{connlimit.New(l, connlimit.Limits{Connections: most, PerClient: most,
		Strangers: s.cfg.MaxStrangers}, func(connlimit.Reason) { s.count.denied.Add(1) })})
	cancel()
	<-stopped
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// door accepts connections. A connection without a Hello makes no room for a new connection: the
// server serves some of many simultaneous hosts at a time.
type door struct{ net.Listener }

// Accept implements [net.Listener].
func (d door) Accept() (net.Conn, error) {
	c, err := d.Listener.Accept()
	if err == nil {
		connlimit.Of(c).Hold()
	}
	return c, err
}

// Run accepts streams by Subscribe until ctx ends, and returns when all streams have ended. Run
// replaces Serve if another gRPC server accepts the streams.
func (s *Server) Run(ctx context.Context) {
	<-ctx.Done()
	s.mu.Lock()
	close(s.closed) // from here on Subscribe adds nothing to running
	s.mu.Unlock()
	s.running.Wait()
}

// entry returns the entry of a host, and creates it if missing; nil if there are too many hosts.
// The caller holds mu.
func (s *Server) entry(name string) *entry {
	e, ok := s.hosts[name]
	if !ok && len(s.hosts) < s.cfg.MaxHosts {
		e = &entry{wake: make(chan struct{}, 1),
			host: newHost(name, s.cfg.Epoch, s.cfg.RetryInterval, &s.deltas)}
		s.hosts[name] = e
	}
	return e
}

// acquire returns the entry for a stream, which stays until released; nil if there are too many
// hosts.
func (s *Server) acquire(name string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.entry(name)
	if e != nil {
		e.streams++
	}
	return e
}

// release ends a stream's use of its entry. If nothing was ever set for the host, the server
// forgets the host with its last stream.
func (s *Server) release(name string, e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.streams--; e.streams == 0 && !e.host.wanted {
		delete(s.hosts, name)
	}
}

func (s *Server) find(name string) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hosts[name]
}

// Set sets what a host should hold, connected or not; nil is nothing at all. The state is shared,
// not copied. It is an error when the server knows too many hosts.
func (s *Server) Set(host string, state *hostapi.State) error {
	s.mu.Lock()
	defer s.mu.Unlock() // so that the entry is not forgotten meanwhile
	e := s.entry(host)
	if e == nil {
		return fmt.Errorf("%w: host %s is more than MaxHosts, %d", ErrBusy, host, s.cfg.MaxHosts)
	}
	e.mu.Lock()
	e.host.Set(state)
	e.mu.Unlock()
	e.nudge()
	return nil
}

// Unset removes a host's wanted state. The host keeps its present state until the next Set.
func (s *Server) Unset(host string) {
	if e := s.find(host); e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.host.Unset()
	}
}

// Forget drops what is known of a host without a stream; it keeps what it has. A connected host is
// not forgotten.
func (s *Server) Forget(host string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.hosts[host]; e != nil && e.streams == 0 {
		delete(s.hosts, host)
	}
}

// Probe asks a host for EV probes; the answer is Observer.ProbeResult, or Observer.Gone.
// ErrNotConnected, ErrBusy, or a *hostapi.FieldError when the request or the host's capabilities do
// not allow for it.
func (s *Server) Probe(host string, p *hostapi.Probe) error {
	if err := p.Validate(); err != nil {
		return err
	}
	e := s.find(host)
	if e == nil {
		return fmt.Errorf("%w: %s", ErrNotConnected, host)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch c := e.host.hello.Capabilities; {
	case e.stream == nil:
		return fmt.Errorf("%w: %s", ErrNotConnected, host)
	case c.OptAttr&hostapi.OptEVProbe == 0:
		return &hostapi.FieldError{Code: hostapi.CodeUnsupported,
			Reason: fmt.Sprintf("host %s makes no EV probes (opt_attr %#x)", host, c.OptAttr)}
	case p.EV.Port != 0 && !c.Ports.Has(int(p.EV.Port)):
		return &hostapi.FieldError{
			Code: hostapi.CodeUnsupported, Field: "ev.port",
			Reason: fmt.Sprintf("%d, want one of the device's (phy_port_mask %#x)", p.EV.Port,
				uint32(c.Ports)),
		}
	case len(e.probes) >= s.cfg.MaxProbes:
		return fmt.Errorf("%w: %s has %d probe requests waiting", ErrBusy, host, len(e.probes))
	}
	e.probes = append(e.probes, p)
	e.nudge()
	return nil
}

// SetSelfProbes sets the plan of self-probes that a host should follow, connected or not. The
// server sends the plan on every stream of the host, unless the host's capabilities lack
// self-probes. ErrBusy: the server knows too many hosts; a *hostapi.FieldError: the plan is not
// valid.
func (s *Server) SetSelfProbes(host string, p *hostapi.SelfProbes) error {
	if err := p.Validate(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock() // so that the entry is not forgotten meanwhile
	e := s.entry(host)
	if e == nil {
		return fmt.Errorf("%w: host %s is more than MaxHosts, %d", ErrBusy, host, s.cfg.MaxHosts)
	}
	e.mu.Lock()
	e.plan = p
	e.mu.Unlock()
	e.nudge()
	return nil
}

// Behind reports whether a stream has yet to read the newest state of its host.
func (s *Server) Behind() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.hosts {
		if e.streams > 0 && len(e.wake) > 0 {
			return true
		}
	}
	return false
}

func (e *entry) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// Status is the state of a host in a Server.
type Status struct {
	Name      string
	Connected bool
	Since     time.Time     // of the stream, or of its end
	Err       error         // why the last stream ended, when there is none now
	Hello     hostapi.Hello // the last; zero before the first
	Applied   hostapi.Version
	Current   bool              // the host holds all that it should hold
	Obeys     bool              // it does as far as it takes it, and uses no EV that it is told not to
	Refusals  []hostapi.Refused // what it does not hold, and why
}

// Status returns the state of a host; false for an unknown host.
func (s *Server) Status(host string) (Status, bool) {
	e := s.find(host)
	if e == nil {
		return Status{}, false
	}
	return e.status(), true
}

func (e *entry) status() Status {
	e.mu.Lock()
	defer e.mu.Unlock()
	v, _ := e.host.Held()
	return Status{
		Name: e.host.name, Connected: e.stream != nil, Since: e.since, Err: e.err, Hello: e.host.hello,
		Applied: v, Current: e.host.Current(),
		Obeys: e.host.Obeys(), Refusals: e.host.Refusals(),
	}
}

// List returns the status of all known hosts, sorted by name.
func (s *Server) List() []Status {
	s.mu.Lock()
	entries := make([]*entry, 0, len(s.hosts))
	for _, e := range s.hosts {
		entries = append(entries, e)
	}
	s.mu.Unlock()
	out := make([]Status, len(entries))
	for i, e := range entries {
		out[i] = e.status()
	}
	slices.SortFunc(out, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Subscribe serves a stream: it is gRPC's.
func (s *Server) Subscribe(g grpc.BidiStreamingServer[hostpb.HostMessage,
	hostpb.ControllerMessage]) error {
	s.mu.Lock()
	select {
	case <-s.closed:
		s.mu.Unlock()
		return status.Error(codes.Unavailable, ErrClosed.Error())
	default:
	}
	s.running.Add(1)
	s.mu.Unlock()
	defer s.running.Done()
	return s.serve(g)
}
