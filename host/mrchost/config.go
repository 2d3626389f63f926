package mrchost

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/hostrun"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/packet"
)

// Transport is what Config.Transport says.
const Transport = "mrc"

// Config describes a host of MRC and what it should do. Start from Default.
type Config struct {
	// Probes has the host do without queue pairs and applications: it answers and sends probes.
	Probes bool `yaml:"-"`

	Transport string     `yaml:"transport" doc:"'mrc'" default:"required"`
	Name      string     `yaml:"name" doc:"name in the report, and in the controller's inventory" default:"the first interface"`
	Address   netip.Addr `yaml:"address" doc:"IPv6 or IPv4 address of all ports; the kernel must not have it" default:"required"`
	// Ports are the host's, a plane each, numbered from 1.
	Ports []Port `yaml:"ports"`
	// Controller defines what the host sends with; without one each queue pair draws entropy values of
	// its own.
	Controller *Controller  `yaml:"controller"`
	RTT        api.Duration `yaml:"rtt" doc:"round trip of the idle network, for windows and timers, until a CC profile sets another. A value much too small causes retransmissions, one much too large fills queues"`
	// Wire sets UDP port and DSCPs. A missing value comes from the controller, or is the default.
	Wire Wire `yaml:"wire"`
	// Receive is how fast the host takes over what it receives.
	Receive         Receive `yaml:"receive"`
	PortUpdates     bool    `yaml:"portUpdates" doc:"Port Status Updates inform the peers of queue pairs which ports are up, when a queue pair is created and on changes, up to 6 times until they answer"`
	ShareCongestion bool    `yaml:"shareCongestion" doc:"the queue pairs to a peer with one MTU share one congestion window and take turns to send (OCP MRC 1.0, section 8.3): together they take the share of the network that one queue pair would" default:"false"`

	Burst int `yaml:"burst" doc:"packets that a queue pair sends by one path before it takes the next, 1 to 64. From 2 on all interfaces are veths whose far ends belong to hosts with a burst too: packets alike then pass the kernel as one ([libmrc.md](libmrc.md#bursts))" default:"1"`

	// Applications may use the host as their NIC (folder libmrc); the host then needs no queue pairs
	// from its configuration, and runs until told to end. Default: no application may.
	Applications *Applications `yaml:"applications"`

	QueuePairs []QueuePair      `yaml:"queuePairs"`
	Regions    []hostrun.Region `yaml:"regions"`
	// Writes are carried out in order, queue pair by queue pair.
	Writes []Write `yaml:"writes"`

	Expect uint64       `yaml:"expect" doc:"octets of payload after which the host ends; 0: it ends when it is interrupted or its writes are complete" default:"0"`
	Linger api.Duration `yaml:"linger" doc:"time without a frame after which a host that has received all it expects ends; until then it answers retransmissions"`
}

// Port is an interface, and the switch behind it.
type Port struct {
	Interface string        `yaml:"interface" doc:"network interface of the port, by its name or an IP address that it has; ports are numbered from 1 in their order, which is that of the planes in the controller's inventory" default:"required"`
	MAC       inventory.MAC `yaml:"mac" doc:"Ethernet address of the port" default:"the interface's"`
	Gateway   inventory.MAC `yaml:"gateway" doc:"Ethernet address of the switch behind it, to which all frames are sent; else that of the router that advertises itself ([neighbors.md](neighbors.md))" default:"found"`
	LineRate  uint64        `yaml:"lineRate" doc:"bits per second sent at most" default:"10000000000"`
}

// Controller is where the stream comes from (docs/host-api.md).
type Controller struct {
	Address    string `yaml:"address" doc:"host:port of the controller's stream ([host-api.md](host-api.md)); without it each queue pair draws entropy values of its own, for ECMP; with it no data is sent before the controller's first state" default:"none"`
	CA         string `yaml:"ca" doc:"PEM files: authorities of the controller's certificate, the host's certificate, which has its name, and key" default:"none: plain text"`
	Cert       string `yaml:"cert" doc:"PEM files: authorities of the controller's certificate, the host's certificate, which has its name, and key" default:"none: plain text"`
	Key        string `yaml:"key" doc:"PEM files: authorities of the controller's certificate, the host's certificate, which has its name, and key" default:"none: plain text"`
	ServerName string `yaml:"serverName" doc:"name in the controller's certificate" default:"the host of address"`
	State      string `yaml:"state" doc:"file that keeps EV profiles with their denied EVs, CC profiles, denied ports and peers' ports, written whole before the controller hears that they are applied. A host that starts again goes on with them before it hears the controller (OCP MRC 1.0, section 10.2.2), and the controller sends what has changed since. The agent logs an unusable file, and gets its content anew. One host a file" default:"none"`
}

// Applications configures the sockets for programs that are linked with lib_mrc.so.
type Applications struct {
	Socket       string `yaml:"socket" doc:"Unix socket for programs that use libmrc ([libmrc.md](libmrc.md)), in a folder that is made where it is missing. A host with 'applications' needs no 'queuePairs', and runs until it is told to end" default:"/run/weft/nic.sock"`
	Group        string `yaml:"group" doc:"group that may connect to the socket, beside the NIC's user and root" default:"none"`
	ControlGroup string `yaml:"controlGroup" doc:"group that may connect to the socket with '.control' behind its name, for 'mrc_ctl'" default:"none"`
	Device       string `yaml:"device" doc:"name of the RDMA device" default:"weft0"`
	State        string `yaml:"state" doc:"file with what programs have configured by 'mrc_ctl' (formats, EV and CC profiles, disabled ports): the next start goes on with it" default:"none"`
	LocalControl bool   `yaml:"localControl" doc:"programs may change by 'mrc_ctl' the EVs of profiles that a controller has written, until it writes them again" default:"false"`
}

// QueuePair is a connection of MRC.
type QueuePair struct {
	QPN           uint32     `yaml:"qpn" doc:"queue pair number, 24 bits, from 3 on" default:"required"`
	RemoteAddress netip.Addr `yaml:"remoteAddress" doc:"the peer's" default:"required"`
	RemoteQPN     uint32     `yaml:"remoteQpn" doc:"the peer's" default:"required"`
	InitialPSN    uint32     `yaml:"initialPsn" doc:"first PSN, both ways" default:"0"`
	PMTU          int        `yaml:"pmtu" doc:"octets of payload in a full packet: 256, 512, 1024, 2048, 4096; interfaces on the path need 92 octets more, and 40 or 64 beyond that with SRv6 source routing" default:"4096"`
	// Attributes are what the ends tell each other out of band (OCP MRC 1.0, table 10-1): the host's
	// own, and the peer's too as far as Peer does not say otherwise.
	Attributes `yaml:",inline"`
	Peer       Attributes `yaml:"peer" doc:"'maxWimm', 'maxMpr', 'dynamicMpr', 'trimNack' and 'serviceTime' of the peer, where they differ; nothing is exchanged, so each end is configured with what the other has (OCP MRC 1.0, table 10-1). A host logs SACKs that show 'dynamicMpr' to be another" default:"as above"`
	// QPSettings are the settings of the transport.
	QPSettings `yaml:",inline"`
}

// Write is a file that is sent by RDMA WRITE.
type Write struct {
	hostrun.Write `yaml:",inline"`
	Immediate     *uint32 `yaml:"immediate" doc:"immediate data of the last WRITE of the file" default:"none"`
}

const (
	defaultRate = 10e9
	maxBurst    = 64 // frames that go to a port at once
)

// Default returns a configuration without addresses and work.
func Default() Config {
	return Config{Transport: Transport, RTT: api.Duration(time.Millisecond),
		Linger: api.Duration(time.Second), PortUpdates: true}
}

// Complete fills in defaults and checks what can be checked without the interfaces. The error joins
// all faults, each of which wraps hostrun.ErrConfig.
func (c *Config) Complete() error {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, hostrun.Fault(field, format, args...))
	}
	if c.Transport != Transport {
		fault("transport", "is %q: want %q", c.Transport, Transport)
	}
	if len(c.Ports) == 0 {
		fault("ports", "none: want at least one")
	}
	for i := range c.Ports {
		p := &c.Ports[i]
		at := fmt.Sprintf("ports[%d]", i)
		if p.Interface == "" {
			fault(at+".interface", "is missing")
		}
		if p.LineRate == 0 {
			p.LineRate = defaultRate
		}
		if c.Name == "" {
			c.Name = p.Interface
		}
	}
	if c.Burst == 0 {
		c.Burst = 1
	}
	if c.Burst < 1 || c.Burst > maxBurst {
		fault("burst", "is %d: want 1 to %d packets", c.Burst, maxBurst)
	}
	if c.Linger < 0 {
		fault("linger", "is %v: want 0 or more", c.Linger)
	}
	if len(c.QueuePairs) == 0 && c.Applications == nil && !c.Probes {
		fault("queuePairs", "none: want at least one, or applications")
	}
	if c.Applications != nil {
		faults = append(faults, c.Applications.complete())
	}
	if c.Controller != nil {
		faults = append(faults, c.Controller.check(c.Name))
	}
	faults = append(faults, hostrun.CheckRegions(c.Regions), c.completeWrites())
	if err := errors.Join(faults...); err != nil {
		return err // what follows would only name a consequence
	}
	macs := make([]packet.MAC, len(c.Ports))
	for i := range macs {
		macs[i] = packet.MAC{2}
	}
	probe := c.nic(macs)
	probe.Host.Output = func(time.Duration, int, []byte) {}
	if err := c.checkSettings(probe); err != nil {
		return err
	}
	n, err := nic.New(probe)
	if err != nil {
		return hostrun.Fault("address", "%v", err)
	}
	for i := range c.QueuePairs {
		if _, err := c.QueuePairs[i].create(n, &c.Receive, slog.New(slog.DiscardHandler)); err != nil {
			fault(fmt.Sprintf("queuePairs[%d]", i), "%v", err)
		}
	}
	return errors.Join(faults...)
}

func (a *Applications) complete() error {
	if a.Socket == "" {
		a.Socket = DefaultSocket
	}
	if a.Device == "" {
		a.Device = DefaultDevice
	}
	if len(a.Device) > maxDeviceName || strings.ContainsAny(a.Device, "/ ") {
		return hostrun.Fault("applications.device", "is %q: want up to %d characters without / and space",
			a.Device, maxDeviceName)
	}
	if err := stateFile("applications.state", a.State); err != nil {
		return err
	}
	for _, g := range [][2]string{{"group", a.Group}, {"controlGroup", a.ControlGroup}} {
		if g[1] == "" {
			continue
		}
		if _, err := user.LookupGroup(g[1]); err != nil {
			return hostrun.Fault("applications."+g[0], "%v", err)
		}
	}
	return nil
}

// Defaults of Applications.
const (
	DefaultSocket = "/run/weft/nic.sock"
	DefaultDevice = "weft0"
	maxDeviceName = 63
)

func (c *Config) completeWrites() error {
	var qpns []uint32
	for i := range c.QueuePairs {
		qpns = append(qpns, c.QueuePairs[i].QPN)
	}
	var faults []error
	for i := range c.Writes {
		w := &c.Writes[i]
		faults = append(faults, w.Complete(i, qpns))
		if at := slices.Index(qpns, w.QPN); at >= 0 && w.Immediate != nil &&
			c.QueuePairs[at].config().Remote.MaxWIMM == 0 {
			faults = append(faults, hostrun.Fault(fmt.Sprintf("writes[%d].immediate", i),
				"the queue pair's maxWimm is 0: want 1 or more"))
		}
	}
	return errors.Join(faults...)
}

// Agent returns the configuration of the stream of a host with this name.
func (c *Controller) Agent(name string) agent.Config {
	a := agent.DefaultConfig()
	a.Name, a.Controller = name, c.Address
	if c.CA != "" || c.Cert != "" || c.Key != "" || c.ServerName != "" {
		a.TLS = agent.TLSConfig{Enabled: true, CAFile: c.CA, CertFile: c.Cert, KeyFile: c.Key,
			ServerName: c.ServerName}
	}
	return a
}

// stateFile checks the path of a file that outlives the host; empty: none.
func stateFile(field, path string) error {
	if path == "" {
		return nil
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return hostrun.Fault(field, "%q: want a file in a directory that exists; %q does not", path, dir)
	}
	return nil
}

func (c *Controller) check(name string) error {
	if c.Address == "" {
		return hostrun.Fault("controller.address", "is missing")
	}
	if err := stateFile("controller.state", c.State); err != nil {
		return err
	}
	a := c.Agent(name)
	if err := a.Validate(); err != nil {
		return hostrun.Fault("controller", "%v", err)
	}
	return nil
}

// nic is the configuration of the NIC with the addresses of its interfaces.
func (c *Config) nic(links []packet.MAC) nic.Config {
	n := nic.DefaultConfig()
	h := &n.Host
	h.Name, h.Addr, h.PacingSlack, h.Burst = c.Name, c.Address, pacingSlack, c.Burst
	for i, p := range c.Ports {
		mac := links[i]
		if !p.MAC.IsZero() {
			mac = packet.MAC(p.MAC)
		}
		h.Ports = append(h.Ports, mrc.Port{MAC: mac, Gateway: packet.MAC(p.Gateway),
			LineRate: p.LineRate})
	}
	n.Managed = c.Controller != nil
	n.Wire, n.Intake, n.PortUpdates, n.ShareCongestion = c.Wire.nic(), c.Receive.intake(),
		c.PortUpdates, c.ShareCongestion
	rtt := c.RTT.D()
	h.EndpointTimeout = max(h.EndpointTimeout, endpointRoundTrips*rtt)
	n.Network.RTT = rtt
	n.Spray.ProbeInterval = max(n.Spray.ProbeInterval, firstProbe*rtt)
	n.Spray.ProbeMaxInterval = max(n.Spray.ProbeMaxInterval, lastProbe*rtt)
	return n
}

// pacingSlack lets a host that the scheduler held up catch up.
const pacingSlack = time.Millisecond

// Round trips from a path's becoming bad to its first probe, and between probes at most.
const (
	firstProbe = 10
	lastProbe  = 1000
)

// endpointRoundTrips are those that the answer to a Port Status Update or an EV probe is waited
// for.
const endpointRoundTrips = 10

func (q *QueuePair) config() mrc.QPConfig {
	e := nic.DefaultQPConfig()
	e.QPN, e.RemoteAddr, e.RemoteQPN = q.QPN, q.RemoteAddress, q.RemoteQPN
	e.SQPSN, e.RQPSN = q.InitialPSN, q.InitialPSN
	if q.PMTU != 0 {
		e.PMTU = q.PMTU
	}
	q.Attributes.over(&e.Local)
	q.Attributes.over(&e.Remote)
	q.Peer.over(&e.Remote)
	q.QPSettings.over(&e)
	return e
}

// requestOverhead is the octets around the payload of a request, from its IPv6 header on, without
// source routing.
const requestOverhead = packet.IPv6Len + packet.UDPLen + packet.BTHLen + packet.METHLen +
	packet.TSETHLen + packet.RETHLen + packet.ImmDtLen + packet.ICRCLen

// CheckMTU checks that the longest packet of each queue pair, from its IPv6 header on, fits the
// interface of a port, counted from 0.
func (c *Config) CheckMTU(port, mtu int) error {
	for i := range c.QueuePairs {
		if longest := c.QueuePairs[i].config().PMTU + requestOverhead; longest > mtu {
			return hostrun.Fault(fmt.Sprintf("queuePairs[%d].pmtu", i),
				"is %d, which makes packets of %d octets: interface %s has an MTU of %d",
				c.QueuePairs[i].config().PMTU, longest, c.Ports[port].Interface, mtu)
		}
	}
	return nil
}

// Load reads a configuration from YAML over the defaults and completes it. Errors begin with the
// file and, where the text is at fault, the line.
func Load(file string, text []byte) (*Config, error) {
	c := Default()
	if err := hostrun.Decode(file, text, &c, (*Config).Complete); err != nil {
		return nil, err
	}
	return &c, nil
}
