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
	"github.com/weft-sdn/weft/cmd/weft/hostrun"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/endpoint/agent"
	"github.com/weft-sdn/weft/endpoint/mrc"
	"github.com/weft-sdn/weft/endpoint/nic"
	"github.com/weft-sdn/weft/packet"
)

// Transport is what Config.Transport says.
const Transport = "mrc"

// Config describes a host of MRC and what it should do. Start from Default.
type Config struct {
	// Transport is "mrc".
	Transport string `yaml:"transport"`
	// Name of the host, in reports and to its controller. Default: the first interface's.
	Name string `yaml:"name"`
	// Address is the IPv6 address that all ports share. The kernel must not have it.
	Address netip.Addr `yaml:"address"`
	// Ports are the host's, a plane each, numbered from 1.
	Ports []Port `yaml:"ports"`
	// Controller defines what the host sends with; without one each queue pair draws entropy values of
	// its own.
	Controller *Controller `yaml:"controller"`
	// RTT is the round trip of an idle network, as far as no CC profile has one: windows and timers
	// follow it. Default 1ms.
	RTT api.Duration `yaml:"rtt"`
	// Wire is UDP port and DSCPs. What is left out is the controller's, or the default.
	Wire Wire `yaml:"wire"`
	// Receive is how fast the host takes over what it receives.
	Receive Receive `yaml:"receive"`
	// PortUpdates has peers hear which ports are up, when that changes. Default true.
	PortUpdates bool `yaml:"portUpdates"`
	// ShareCongestion has the queue pairs to a peer with one MTU share one congestion window. Default
	// false.
	ShareCongestion bool `yaml:"shareCongestion"`

	// Applications may use the host as their NIC (folder libmrc); then it needs no queue pairs of its
	// own, and runs until it is told to end. Default: none may.
	Applications *Applications `yaml:"applications"`

	QueuePairs []QueuePair      `yaml:"queuePairs"`
	Regions    []hostrun.Region `yaml:"regions"`
	// Writes are carried out in order, queue pair by queue pair.
	Writes []Write `yaml:"writes"`

	// Expect and Linger are those of rocehost.Config.
	Expect uint64       `yaml:"expect"`
	Linger api.Duration `yaml:"linger"`
}

// Port is an interface, and the switch behind it.
type Port struct {
	Interface string        `yaml:"interface"`
	MAC       inventory.MAC `yaml:"mac"` // default: the interface's
	// Gateway is the MAC of the switch that all frames are sent to. Default: that of the router that
	// advertises itself.
	Gateway  inventory.MAC `yaml:"gateway"`
	LineRate uint64        `yaml:"lineRate"` // bits per second; default 10^10
}

// Controller is where the stream comes from (docs/host-api.md).
type Controller struct {
	Address string `yaml:"address"` // host:port
	// CA, Cert and Key are PEM files; none is plain text.
	CA   string `yaml:"ca"`
	Cert string `yaml:"cert"`
	Key  string `yaml:"key"`
	// ServerName is the name in the controller's certificate. Default: the host of Address.
	ServerName string `yaml:"serverName"`
	// State is the file with what the controller has configured: a host that starts again goes on
	// with it before it hears the controller. Default: none.
	State string `yaml:"state"`
}

// Applications is the door for programs that are linked with lib_mrc.so.
type Applications struct {
	// Socket is the path of the Unix socket. Default /run/weft/nic.sock.
	Socket string `yaml:"socket"`
	// Group may connect to it, beside root. Default: root alone.
	Group string `yaml:"group"`
	// Device is its name among RDMA devices. Default weft0.
	Device string `yaml:"device"`
	// State is the file with what programs have configured by mrc_ctl, which outlives the NIC.
	// Default: none.
	State string `yaml:"state"`
	// LocalControl lets programs change by mrc_ctl what a controller has configured. Default false.
	LocalControl bool `yaml:"localControl"`
}

// QueuePair is a connection of MRC.
type QueuePair struct {
	QPN           uint32     `yaml:"qpn"`
	RemoteAddress netip.Addr `yaml:"remoteAddress"`
	RemoteQPN     uint32     `yaml:"remoteQpn"`
	InitialPSN    uint32     `yaml:"initialPsn"` // of both directions; default 0
	// PMTU is the payload of a full packet in octets. Default 4096; the interfaces on the way must
	// take frames about 110 octets longer, with source routing 180.
	PMTU int `yaml:"pmtu"`
	// Attributes are what the ends tell each other out of band (OCP MRC 1.0, table 10-1): the host's
	// own, and the peer's too as far as Peer does not say otherwise.
	Attributes `yaml:",inline"`
	Peer       Attributes `yaml:"peer"`
	// QPSettings are those of the transport.
	QPSettings `yaml:",inline"`
}

// Write is a file that is sent by RDMA WRITE.
type Write struct {
	hostrun.Write `yaml:",inline"`
	// Immediate, if there, is given to the peer with the last WRITE of the file.
	Immediate *uint32 `yaml:"immediate"`
}

const defaultRate = 10e9

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
	if c.Linger < 0 {
		fault("linger", "is %v: want 0 or more", c.Linger)
	}
	if len(c.QueuePairs) == 0 && c.Applications == nil {
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
	if a.Group == "" {
		return nil
	}
	if _, err := user.LookupGroup(a.Group); err != nil {
		return hostrun.Fault("applications.group", "%v", err)
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

// agent is the configuration of the stream.
func (c *Controller) agent(name string) agent.Config {
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
	a := c.agent(name)
	if err := a.Validate(); err != nil {
		return hostrun.Fault("controller", "%v", err)
	}
	return nil
}

// nic is the configuration of the NIC with the addresses of its interfaces.
func (c *Config) nic(links []packet.MAC) nic.Config {
	n := nic.DefaultConfig()
	h := &n.Host
	h.Name, h.Addr, h.PacingSlack = c.Name, c.Address, pacingSlack
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
