package kernel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/weft-sdn/weft/internal/sonicdb"
)

// Config defines a switch.
type Config struct {
	// Ports are the interfaces of the kernel by port. In the databases port 3 is eth3, whatever the
	// kernel calls it.
	Ports map[uint32]string
	// Hostname of the switch.
	Hostname string
	// Saved is a file that keeps CONFIG_DB: with the next start the kernel gets again what it says.
	// "": none does.
	Saved string
	// Log gets what the kernel does not take; nil: nothing does.
	Log *slog.Logger
}

// Agent is the agent of a kernel. Its methods may be called from any goroutine.
type Agent struct {
	server *sonicdb.Server
	d      *daemons
	stop   context.CancelFunc
	ended  sync.WaitGroup
	hushed sync.Once
}

// daemons make routes of CONFIG_DB. The lock of the server guards the fields.
type daemons struct {
	rt      *rtnetlink
	ports   map[string]string // interfaces of the kernel, by port
	own     string            // the interface of routes that lead over none
	saved   string            // see Config.Saved
	numbers map[uint32]string // those of ports, which do not change
	changed chan struct{}     // see Agent.Changed
	log     *slog.Logger

	routes   map[netip.Prefix]route // that are wanted
	taken    bool                   // a client has written: what it does not want goes
	queuings map[string]queuing     // that are wanted, by port
	placed   map[string]queuing
	refused  map[string]error // why a port has no queues
	states   map[string]bool  // whether a port was up when it was looked at last
	found    []found
	links    map[string]netlink.Link // by port
}

// NameOf returns the name of a port in the databases.
func NameOf(port uint32) string { return "eth" + strconv.FormatUint(uint64(port), 10) }

// ownInterface is the interface of routes to uNs and to ends of tunnels, which lead over no port.
const ownInterface = "sr0"

// Open makes the router of the thread's network namespace a switch.
func Open(cfg Config) (*Agent, error) {
	rt, err := connect()
	if err != nil {
		return nil, err
	}
	d := &daemons{rt: rt, ports: make(map[string]string), own: ownInterface,
		saved: cfg.Saved, states: make(map[string]bool), log: cfg.Log,
		placed: make(map[string]queuing), refused: make(map[string]error)}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	d.numbers, d.changed = cfg.Ports, make(chan struct{}, 1)
	for port, name := range cfg.Ports {
		d.ports[NameOf(port)] = name
	}
	dbs, err := d.begin(cfg.Hostname)
	if err != nil {
		rt.close()
		return nil, err
	}
	d.restore(dbs)
	a := &Agent{d: d, server: sonicdb.New(dbs, d)}
	var ctx context.Context
	ctx, a.stop = context.WithCancel(context.Background())
	changed := make(chan struct{}, 1)
	a.ended.Go(func() { a.hear(changed) })
	a.ended.Go(func() { a.follow(ctx, changed) })
	return a, nil
}

// Register adds the gNMI service to a gRPC server.
func (a *Agent) Register(at grpc.ServiceRegistrar) { a.server.Register(at) }

// Hush ends subscriptions, so that the gRPC server can close.
func (a *Agent) Hush() { a.hushed.Do(a.server.Close) }

// Changed returns a channel that signals a possible change in the state of a port.
func (a *Agent) Changed() <-chan struct{} { return a.d.changed }

// PortsUp returns which ports have a link.
func (a *Agent) PortsUp(context.Context) (map[uint32]bool, error) { return a.ports(up), nil }

// Enabled returns which ports clients have enabled, whether or not they have a link.
func (a *Agent) Enabled() map[uint32]bool { return a.ports(enabled) }

// ports returns whether something holds of the interface of each port; false where there is none.
func (a *Agent) ports(holds func(netlink.Link) bool) map[uint32]bool {
	out := make(map[uint32]bool)
	a.server.Change(func(sonicdb.Databases) {
		for port := range a.d.numbers {
			l := a.d.links[NameOf(port)]
			out[port] = l != nil && holds(l)
		}
	})
	return out
}

// Close ends the agent. The kernel keeps its routes.
func (a *Agent) Close() {
	a.stop()
	a.d.rt.changes.Close()
	a.Hush()
	a.ended.Wait()
	a.d.rt.changes = nil
	a.d.rt.close()
}

// begin makes the kernel forward, and returns the databases of a switch that nobody has written.
func (d *daemons) begin(hostname string) (sonicdb.Databases, error) {
	for _, name := range slices.Sorted(maps.Keys(d.ports)) {
		if _, err := d.rt.handle.LinkByName(d.ports[name]); err != nil {
			return nil, fmt.Errorf("interface %s: %w", d.ports[name], err)
		}
	}
	if err := d.makeOwn(); err != nil {
		return nil, fmt.Errorf("interface %s: %w", d.own, permitted(err))
	}
	if err := d.forward(); err != nil {
		return nil, permitted(err)
	}
	if err := d.look(); err != nil {
		return nil, err
	}
	ports := make(sonicdb.Table)
	for name, l := range d.links {
		at := l.Attrs()
		ports[name] = map[string]any{"alias": at.Name,
			"admin_status": status(enabled(l)), "mtu": strconv.Itoa(at.MTU)}
	}
	dbs := sonicdb.Databases{
		sonicdb.ConfigDB: {tablePorts: ports,
			"DEVICE_METADATA": {"localhost": {"hostname": hostname, "platform": "linux"}}},
		sonicdb.ApplDB: {},
		sonicdb.StateDB: {"SWITCH_CAPABILITY": {"switch": {"SWITCH_TRIMMING_CAPABLE": "false",
			"ECN_CAPABLE": "false"}}},
	}
	d.show(dbs)
	return dbs, nil
}

// permitted explains an error of missing rights.
func permitted(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the agent of a kernel needs root or CAP_NET_ADMIN: %w", err)
	}
	return err
}

// makeOwn makes the agent's own interface, if it is not there: SONiC has a dummy of this name. A
// bridge without ports does as well, where the kernel has no dummy.
func (d *daemons) makeOwn() error {
	h := d.rt.handle
	l, err := h.LinkByName(d.own)
	if err != nil {
		attrs := netlink.NewLinkAttrs()
		attrs.Name = d.own
		if err = h.LinkAdd(&netlink.Dummy{LinkAttrs: attrs}); errors.Is(err, unix.EOPNOTSUPP) {
			err = h.LinkAdd(&netlink.Bridge{LinkAttrs: attrs})
		}
		if err == nil {
			l, err = h.LinkByName(d.own)
		}
	}
	if err != nil {
		return err
	}
	return h.LinkSetUp(l)
}

// forward has the kernel forward IPv6, also packets with an SRH.
func (d *daemons) forward() error {
	for _, s := range [][3]string{{"all", "forwarding", "1"}, {"all", "seg6_enabled", "1"}} {
		if err := setting(s[0], s[1], s[2]); err != nil {
			return err
		}
	}
	for _, name := range append(slices.Sorted(maps.Values(d.ports)), d.own) {
		for _, s := range [][2]string{{"disable_ipv6", "0"}, {"forwarding", "1"},
			{"accept_ra", "0"}, {"seg6_enabled", "1"}} {
			if err := setting(name, s[0], s[1]); err != nil {
				return err
			}
		}
	}
	return nil
}

// setting sets one of net.ipv6.conf.
func setting(name, what, value string) error {
	path := "/proc/sys/net/ipv6/conf/" + strings.ReplaceAll(name, "/", ".") + "/" + what
	if was, err := os.ReadFile(path); err == nil && strings.TrimSpace(string(was)) == value {
		return nil
	}
	return os.WriteFile(path, []byte(value), 0o644)
}

// look reads the interfaces and routes of the kernel.
func (d *daemons) look() error {
	all, err := d.rt.handle.LinkList()
	if err != nil {
		return fmt.Errorf("reading interfaces: %w", err)
	}
	named := make(map[string]netlink.Link, len(all))
	for _, l := range all {
		named[l.Attrs().Name] = l
	}
	d.links = make(map[string]netlink.Link, len(d.ports))
	for port, name := range d.ports {
		if l, ok := named[name]; ok {
			d.links[port] = l
		}
	}
	d.found, err = d.rt.routes(d.ends())
	return err
}

func (d *daemons) ends() *ends {
	at := &ends{index: make(map[string]int), port: make(map[int]string)}
	for port, l := range d.links {
		at.index[port], at.port[l.Attrs().Index] = l.Attrs().Index, port
	}
	if l, err := d.rt.handle.LinkByName(d.own); err == nil {
		at.own = l.Attrs().Index
	}
	return at
}

// Check implements sonicdb.Daemons.
func (d *daemons) Check(_ []sonicdb.Op, next sonicdb.Database) error {
	if err := checkTables(next); err != nil {
		return err
	}
	for name, row := range next[tablePorts] {
		if d.ports[name] == "" {
			return fmt.Errorf("%s|%s: there is no such port", tablePorts, name)
		}
		if n, err := strconv.Atoi(text(row, "mtu")); err != nil || n < 1280 || n > 65535 {
			return fmt.Errorf("%s|%s: mtu is %q: want 1280 to 65535", tablePorts, name, text(row, "mtu"))
		}
	}
	_, routes := wanted(next)
	_, queues := queuings(next)
	return errors.Join(routes, queues)
}

// Apply implements sonicdb.Daemons.
func (d *daemons) Apply(dbs sonicdb.Databases, before sonicdb.Database) error {
	return errors.Join(d.carryOut(dbs, before), d.save(dbs[sonicdb.ConfigDB]))
}

// carryOut brings the kernel to what CONFIG_DB says, in which Check has found nothing.
func (d *daemons) carryOut(dbs sonicdb.Databases, before sonicdb.Database) error {
	config := dbs[sonicdb.ConfigDB]
	d.routes, _ = wanted(config)
	d.queuings, _ = queuings(config)
	d.taken = true
	err := errors.Join(d.look(), d.configure(before[tablePorts], config[tablePorts]))
	err = errors.Join(err, d.write(), d.look())
	d.arrange()
	d.show(dbs)
	return err
}

// configure gives interfaces the settings that are other than before.
func (d *daemons) configure(before, now sonicdb.Table) (err error) {
	for name, row := range now {
		l := d.links[name]
		if l == nil {
			continue
		}
		if mtu, _ := strconv.Atoi(text(row, "mtu")); text(before[name], "mtu") != text(row, "mtu") {
			err = errors.Join(err, permitted(d.rt.handle.LinkSetMTU(l, mtu)))
		}
		if is := text(row, "admin_status"); is != text(before[name], "admin_status") {
			set := d.rt.handle.LinkSetUp
			if is == "down" {
				set = d.rt.handle.LinkSetDown
			}
			err = errors.Join(err, permitted(set(l)))
		}
		if is := text(row, "description"); is != text(before[name], "description") {
			err = errors.Join(err, permitted(d.rt.handle.LinkSetAlias(l, is)))
		}
	}
	return err
}

// write changes the kernel's routes to the wanted routes. A route that the kernel refuses is
// missing in APPL_DB: as with a switch's daemons, the client gets no error.
func (d *daemons) write() error {
	at, have := d.ends(), make(map[netip.Prefix]*found)
	taken := make(map[netip.Prefix]bool) // by somebody else: the kernel would replace that route
	var err error
	for i := range d.found {
		f := &d.found[i]
		if f.clash {
			taken[f.prefix] = true
		}
		if !f.own {
			continue
		}
		have[f.prefix] = f
		if _, stays := d.routes[f.prefix]; !stays && d.taken {
			err = errors.Join(err, d.rt.remove(f.prefix))
		}
	}
	for p, r := range d.routes {
		f := have[p]
		if f != nil && f.same(&r) {
			continue
		}
		if taken[p] {
			d.log.Warn("a row without effect", "error",
				fmt.Errorf("somebody else has a route to %v with metric %d", p, metric))
			continue
		}
		if failed := d.rt.put(&r, at); failed != nil {
			d.log.Warn("a row without effect", "error", failed)
		}
	}
	return err
}

// show writes the kernel's state to APPL_DB and STATE_DB.
func (d *daemons) show(dbs sonicdb.Databases) {
	sids, routes, ports := make(sonicdb.Table), make(sonicdb.Table), make(sonicdb.Table)
	for i := range d.found {
		f := &d.found[i]
		want, known := d.routes[f.prefix]
		switch {
		case known && (!f.own || !f.same(&want)): // somebody has another under this prefix
		case f.action == forward:
			var names, via []string
			for _, h := range f.hops {
				names = append(names, h.port)
				if h.via.IsValid() {
					via = append(via, h.via.String())
				} else {
					via = append(via, "::")
				}
			}
			routes[strings.TrimSuffix(f.prefix.String(), "/128")] = map[string]any{
				"ifname": strings.Join(names, ","), "nexthop": strings.Join(via, ",")}
		case known:
			key := fmt.Sprintf("%d:%d:0:0:%v", f.block, f.node, f.prefix.Addr())
			sids[key] = map[string]any{"action": [...]string{end: "un", endX: "ua",
				endDT6: "udt46"}[f.action]}
		}
	}
	for name, l := range d.links {
		at := l.Attrs()
		ports[name] = map[string]any{"admin_status": status(enabled(l)),
			"oper_status": status(up(l)), "mtu": strconv.Itoa(at.MTU), "mac": at.HardwareAddr.String(),
			"alias": at.Name}
	}
	dbs[sonicdb.ApplDB]["SRV6_MY_SID_TABLE"], dbs[sonicdb.ApplDB]["ROUTE_TABLE"] = sids, routes
	dbs[sonicdb.ApplDB]["PORT_TABLE"] = ports
}

func status(up bool) string {
	if up {
		return "up"
	}
	return "down"
}

// up reports whether an interface has a link. Drivers that do not tell have an unknown state.
func up(l netlink.Link) bool {
	return enabled(l) && l.Attrs().RawFlags&unix.IFF_RUNNING != 0
}

// enabled reports whether an administrator has set an interface up.
func enabled(l netlink.Link) bool { return l.Attrs().RawFlags&unix.IFF_UP != 0 }

// gather is how long the agent gathers changes of the kernel. Without changes, it looks at the
// kernel every lookEvery.
const (
	gather    = 20 * time.Millisecond
	lookEvery = 5 * time.Second
)

// hear notes that the kernel has changed something.
func (a *Agent) hear(changed chan<- struct{}) {
	defer close(changed)
	for {
		_, _, err := a.d.rt.changes.Receive()
		if err != nil && !errors.Is(err, unix.ENOBUFS) { // some messages are lost: all is read anyway
			return
		}
		select {
		case changed <- struct{}{}:
		default:
		}
	}
}

// follow shows what the kernel has after each change.
func (a *Agent) follow(ctx context.Context, changed <-chan struct{}) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case _, more := <-changed:
			if !more {
				return
			}
			wait := time.NewTimer(gather)
			select {
			case <-wait.C:
			case <-ctx.Done():
				wait.Stop()
				return
			}
		}
		a.server.Change(a.d.refresh)
	}
}

// refresh looks at the kernel. Routes over a port that has come up again are written again: the
// kernel takes them away when an interface goes down.
func (d *daemons) refresh(dbs sonicdb.Databases) {
	if err := d.look(); err != nil {
		return // the next look may do
	}
	back := false
	for name := range d.ports {
		is := d.links[name] != nil && enabled(d.links[name])
		was, known := d.states[name]
		back = back || known && is && !was
		d.states[name] = is
	}
	if d.taken {
		if back && d.write() == nil && d.look() != nil {
			return
		}
		d.arrange()
	}
	d.show(dbs)
	select {
	case d.changed <- struct{}{}:
	default: // the one that waits will do
	}
}

// Virtual implements sonicdb.Daemons: counters of ports and of SIDs, by the names of SAI.
func (d *daemons) Virtual(path string) (map[string]any, bool) {
	out := make(map[string]any)
	switch path {
	case "COUNTERS/Ethernet*": // how the counters of all ports are asked for, whatever their names
		if d.look() != nil {
			return out, true
		}
		for name, l := range d.links {
			if s := l.Attrs().Statistics; s != nil {
				out[name] = sai(map[string]uint64{"IN_OCTETS": s.RxBytes, "OUT_OCTETS": s.TxBytes,
					"IN_UCAST_PKTS":     s.RxPackets - min(s.RxPackets, s.Multicast),
					"IN_MULTICAST_PKTS": s.Multicast, "OUT_UCAST_PKTS": s.TxPackets,
					"IN_ERRORS": s.RxErrors, "OUT_ERRORS": s.TxErrors,
					"IN_DISCARDS": s.RxDropped, "OUT_DISCARDS": s.TxDropped}, "SAI_PORT_STAT_IF_")
			}
		}
	case "COUNTERS/SID:*":
		if d.look() != nil {
			return out, true
		}
		for i := range d.found {
			f := &d.found[i]
			if _, known := d.routes[f.prefix]; known && f.own && f.action != forward {
				out["SID:"+f.prefix.String()] = sai(map[string]uint64{"PACKETS": f.counts.packets,
					"BYTES": f.counts.octets}, "SAI_COUNTER_STAT_")
			}
		}
	default:
		return nil, false
	}
	return out, true
}

func sai(of map[string]uint64, prefix string) map[string]any {
	out := make(map[string]any, len(of))
	for name, n := range of {
		out[prefix+name] = strconv.FormatUint(n, 10)
	}
	return out
}
