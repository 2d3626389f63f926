package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/lab/kernels"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/service"
	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/topology/bgpls"
)

// LiveOptions report how a network is run in real time.
type LiveOptions struct {
	// Network is the network to run. Without MRC settings the controller runs its MRC hosts in mode
	// stev; with settings of an empty mode these hosts run on their own.
	Network Network
	// Listen is where the API listens; "127.0.0.1:0" takes any free port.
	Listen string
	// Elsewhere maps the names of switches outside this process to their P4Runtime addresses
	// (host:port): see SwitchNode.RunElsewhere.
	Elsewhere map[string]string
	// Tune, if not nil, may change the controller's inventory before the controller starts, for
	// example to make it control MRC hosts.
	Tune func(*inventory.Inventory)
	// Controller, if not nil, takes the inventory of the network in place of a controller of the
	// lab's own: Live has no Service then, and World.Subscribe connects hosts of MRC.
	Controller func(inventory.Inventory) error
	// Collectors are the addresses that controllers connect from by BGP-LS. Default 127.0.0.1.
	Collectors []netip.Addr
	// Sessions is an IPv4 network of at most 16 bits. Each switch has an address in this network for
	// its sessions. Default 127.1.0.0/16.
	Sessions netip.Prefix
	// Log gets what the controller logs; nil: nothing.
	Log *slog.Logger
	// Progress, if not nil, gets a line for every step of the start.
	Progress func(format string, args ...any)
}

// A Live is a network in real time, on addresses of this machine. Each switch has its own BGP-LS
// speaker and, if it runs in this process, a P4Runtime server. The controller knows only their
// addresses.
type Live struct {
	World   *World
	Clock   *Clock
	Service *service.Service

	ctx        context.Context // of all sessions
	collectors []netip.Addr
	sessions   netip.Prefix

	failing  sync.Mutex                 // held while parts or links fail or come back
	mute     map[string]bool            // guarded by failing; switches whose speaker was killed
	servers  map[string]*switchServer   // by switch, as long as that lives
	kernels  map[string]*kernels.Switch // likewise, of those that run Linux
	log      *slog.Logger
	ports    map[string]switchPorts    // by switch
	speaking sync.Mutex                // held while a speaker is given what to say
	speakers map[string]*bgpls.Speaker // guarded by speaking; likewise
	serving  errgroup.Group
	hosts    *Subscribers // nil: there are none
	traces   map[string]traces
	pcap     *Pcap // nil: there is none
	progress func(format string, args ...any)
}

// switchPorts holds the TCP ports of a switch at its session address. A restarted switch keeps the
// ports of its first life, because controllers look for it there.
type switchPorts struct{ server, speaker uint16 }

// sessionAddress is the address of the sessions of the i-th switch. Each has one of its own: a
// collector tells its peers apart by theirs, and nobody else takes the ports of a dead switch.
func (l *Live) sessionAddress(i int) netip.Addr {
	a := l.sessions.Addr().As4()
	return netip.AddrFrom4([4]byte{a[0], a[1], byte((i + 1) >> 8), byte(i + 1)})
}

// loopbackSessions are addresses that every machine with Linux has.
var loopbackSessions = netip.PrefixFrom(netip.AddrFrom4([4]byte{127, 1}), 16)

var loopback = netip.AddrFrom4([4]byte{127, 0, 0, 1})

// closeTimeout bounds how long what is under way may take to end.
const closeTimeout = 5 * time.Second

// pacingSlack lets hosts catch up that the scheduler held up.
const pacingSlack = time.Millisecond

// gcPercent limits the garbage of a lab, in percent of its live memory: a Clos of 16 hosts under
// traffic then takes 0.4 GB, and 1.5 GB with the percentage of a controller.
const gcPercent = 50

// TuneMemory has a process whose business is a lab take little memory: see [service.TuneMemory].
func TuneMemory() { service.TuneMemory(gcPercent) }

// StartLive starts a network and its controller, and returns when every session is being
// established; Ready waits until all is programmed. Close ends it.
func StartLive(ctx context.Context, o LiveOptions) (*Live, error) {
	if o.Progress == nil {
		o.Progress = func(string, ...any) {}
	}
	if err := o.Network.Complete(); err != nil {
		return nil, err
	}
	if o.Network.MRC == nil && o.Network.HasMRC() {
		o.Network.MRC = MRCSettings(&o.Network, o.Network.DefaultMode())
	}
	managed := o.Network.MRC != nil && o.Network.MRC.On()
	world, err := NewWorld(o.Network, Options{Seed: uint64(time.Now().UnixNano()), Managed: managed,
		PacingSlack: pacingSlack, Carrier: true})
	if err != nil {
		return nil, err
	}
	if len(o.Collectors) == 0 {
		o.Collectors = []netip.Addr{loopback}
	}
	if o.Sessions == (netip.Prefix{}) {
		o.Sessions = loopbackSessions
	}
	if !o.Sessions.Addr().Is4() || o.Sessions.Bits() > 16 {
		return nil, fmt.Errorf("lab: Sessions is %v: want a network of IPv4 with at most 16 bits",
			o.Sessions)
	}
	l := &Live{
		World: world, ctx: ctx, collectors: o.Collectors, sessions: o.Sessions, mute: map[string]bool{},
		servers: map[string]*switchServer{}, kernels: map[string]*kernels.Switch{}, log: o.Log,
		ports: map[string]switchPorts{}, speakers: map[string]*bgpls.Speaker{}, progress: o.Progress,
	}
	err = l.start(ctx, o, managed)
	if err == nil && managed && l.Service != nil {
		err = l.supply(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

func (l *Live) start(ctx context.Context, o LiveOptions, managed bool) error {
	w := l.World
	l.Clock = w.StartClock()
	l.makeTraces()
	addresses := maps.Clone(o.Elsewhere)
	if addresses == nil {
		addresses = map[string]string{}
	}
	for _, s := range w.Network.Switches {
		if addresses[s.Name] != "" {
			continue
		}
		address, err := l.serve(s.Name)
		if err != nil {
			return fmt.Errorf("switch %s: %w", s.Name, err)
		}
		addresses[s.Name] = address
	}
	if n := len(l.servers); n > 0 {
		o.Progress("%d switches run the embedded data plane, each with a P4Runtime server", n)
	}
	if n := len(l.kernels); n > 0 {
		o.Progress("%d switches are Linux kernels, each in a network namespace, with an agent", n)
	}

	inv := w.Network.Inventory(addresses)
	inv.BGP.ASN, inv.BGP.RouterID = ASN, netip.AddrFrom4([4]byte{10, 255, 255, 254})
	inv.API.Listen, inv.API.LoopbackWebhooks = o.Listen, true
	for i, s := range w.Network.Switches {
		peer, err := l.speak(ctx, i, s)
		if err != nil {
			return fmt.Errorf("switch %s: %w", s.Name, err)
		}
		inv.BGP.Peers = append(inv.BGP.Peers, peer)
	}
	if err := l.Advertise(ctx); err != nil {
		return err
	}
	o.Progress("each of them advertises itself by BGP-LS")
	if managed && inv.MRC.Listen == "" {
		inv.MRC.Listen = "127.0.0.1:0"
	}
	if o.Tune != nil {
		o.Tune(&inv)
	}
	if o.Controller != nil {
		return o.Controller(inv)
	}
	served := northbound.DefaultConfig()
	served.Traces = l.trace
	var err error
	l.Service, err = service.Start(ctx, service.Options{Inventory: inv, Log: o.Log, API: served,
		Configure: patientSessions})
	return err
}

// patientSessions makes a controller wait for the switches of its own process as long as the
// machine takes: either a switch answers, or its connection ends.
func patientSessions(_ inventory.Switch, cfg *southbound.Config) {
	cfg.SetupTimeout, cfg.RequestTimeout, cfg.PipelineTimeout = time.Hour, time.Hour, time.Hour
	cfg.ProbeTimeout = time.Minute
}

// P4Runtime returns the counts of the P4Runtime server of a switch in this process.
func (l *Live) P4Runtime(name string) p4rt.ServerStats { return l.servers[name].p4runtime.Stats() }

// Written counts what controllers did to the switches that run in this process: updates, and calls
// that set something, by switch and kind.
func (l *Live) Written() map[string]uint64 {
	out := make(map[string]uint64)
	for name, server := range l.servers {
		stats := server.p4runtime.Stats()
		out[name+" updates"] = stats.Updates
		for call, n := range stats.Calls {
			if strings.HasPrefix(call.Method, "Set") {
				out[name+" "+call.Method] += n
			}
		}
	}
	return out
}

// speak starts the BGP-LS speaker of the i-th switch, which waits for the controller to connect.
func (l *Live) speak(ctx context.Context, i int, s Switch) (inventory.Peer, error) {
	address, ports := l.sessionAddress(i), l.ports[s.Name]
	speaker, err := bgpls.Start(ctx, bgpls.Config{
		ASN: s.ASN, RouterID: s.RouterID, Listen: netip.AddrPortFrom(address, ports.speaker),
	})
	if err != nil {
		return inventory.Peer{}, err
	}
	ports.speaker = speaker.ListenAddr().Port()
	l.ports[s.Name] = ports
	l.speaking.Lock()
	l.speakers[s.Name] = speaker
	l.speaking.Unlock()
	for _, c := range l.collectors {
		if err := speaker.AddPeer(ctx, bgpls.Peer{Address: c, ASN: ASN, Passive: true}); err != nil {
			return inventory.Peer{}, err
		}
	}
	return inventory.Peer{Address: address, Port: ports.speaker, ASN: s.ASN}, nil
}

// Ready waits until the controller has learned the network and programmed every switch, and MRC
// hosts hold the wanted state.
func (l *Live) Ready(ctx context.Context) error {
	var now api.Readiness
	every := time.NewTicker(tellEvery)
	defer every.Stop()
	err := l.Wait(ctx, "the controller is ready", func() (bool, error) {
		response, err := http.Get(l.URL() + "/readyz")
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body) // so that the next look has the same connection
		if json.Unmarshal(text, &now) != nil {
			now = api.Readiness{}
		}
		if err != nil || response.StatusCode == http.StatusOK {
			return err == nil, err
		}
		select {
		case <-every.C:
			l.progress("waiting for %s", lacking(&now))
		default:
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("%w; it lacks %s", err, lacking(&now))
	}
	if l.hosts != nil {
		err = l.Until(ctx, "every host has its profiles", func(w *World) (bool, error) {
			return w.Supplied(), nil
		})
	}
	return err
}

// tellEvery is the time between two messages of Ready about what it still waits for.
const tellEvery = 5 * time.Second

// lacking is what a controller waits for.
func lacking(r *api.Readiness) string {
	var checks []string
	for _, c := range r.Checks {
		if !c.OK && !c.Advisory {
			checks = append(checks, strings.TrimRight(c.Name+": "+c.Message, ": "))
		}
	}
	const most = 4
	if n := len(checks) - most; n > 0 {
		checks = append(checks[:most], fmt.Sprintf("%d more", n))
	}
	return strings.Join(checks, ", ")
}

// pollEvery is the time between two looks of Wait.
const pollEvery = 10 * time.Millisecond

// Wait returns when done, which asks for something that happens elsewhere in the process, reports
// true or fails. what completes an error that begins with "waiting until".
func (l *Live) Wait(ctx context.Context, what string, done func() (bool, error)) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		ok, err := done()
		if ok || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-l.Service.Done():
			return fmt.Errorf("lab: the controller ended while %s was waited for: %w", what,
				l.Service.Wait())
		case <-ctx.Done():
			return fmt.Errorf("lab: waiting until %s: %w", what, ctx.Err())
		}
	}
}

// Do runs f on the world's goroutine.
func (l *Live) Do(ctx context.Context, f func(w *World) error) (err error) {
	if stopped := l.Clock.Do(ctx, func(time.Duration) { err = f(l.World) }); stopped != nil {
		return stopped
	}
	return err
}

// Advertise has the speakers report what their switches are now.
func (l *Live) Advertise(ctx context.Context) error {
	for _, s := range l.World.Network.Switches {
		if err := l.advertise(ctx, s.Name); err != nil {
			return err
		}
	}
	return nil
}

// advertise has the speaker of a switch advertise the switch's present state.
func (l *Live) advertise(ctx context.Context, name string) error {
	l.speaking.Lock()
	defer l.speaking.Unlock()
	speaker := l.speakers[name]
	if speaker == nil { // hung up
		return nil
	}
	var objects bgpls.Objects
	err := l.Do(ctx, func(w *World) (err error) {
		objects, err = w.Advertise(name)
		return err
	})
	if err == nil {
		err = speaker.Originate(&objects)
	}
	if err != nil {
		return fmt.Errorf("switch %s: %w", name, err)
	}
	return nil
}

// hangUp ends the sessions of a dead switch.
func (l *Live) hangUp(name string) error {
	if server := l.servers[name]; server != nil {
		delete(l.servers, name)
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		server.close(ctx)
	}
	return errors.Join(l.closeKernel(name), l.silence(name))
}

// silence ends the BGP-LS sessions of a switch.
func (l *Live) silence(name string) error {
	l.speaking.Lock()
	speaker := l.speakers[name]
	delete(l.speakers, name)
	l.speaking.Unlock()
	if speaker != nil {
		if err := speaker.Close(); err != nil {
			return fmt.Errorf("switch %s: %w", name, err)
		}
	}
	return nil
}

// URL is the API's.
func (l *Live) URL() string { return "http://" + l.Service.Addr().String() }

// Close stops everything.
func (l *Live) Close() error {
	l.failing.Lock()
	defer l.failing.Unlock()
	if l.hosts != nil {
		l.hosts.Close()
	}
	var err error
	if l.Service != nil {
		err = l.Service.Close()
	}
	l.speaking.Lock()
	speakers := maps.Clone(l.speakers)
	clear(l.speakers)
	l.speaking.Unlock()
	for _, s := range l.World.Network.Switches {
		if speaker := speakers[s.Name]; speaker != nil {
			err = errors.Join(err, speaker.Close())
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	for _, server := range l.servers {
		server.close(ctx)
	}
	err = errors.Join(err, l.serving.Wait(), l.closeKernels())
	if l.Clock != nil {
		l.Clock.Stop()
	}
	if l.pcap != nil {
		err = errors.Join(err, l.pcap.Close())
	}
	return err
}
