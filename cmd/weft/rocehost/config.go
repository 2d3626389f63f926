package rocehost

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/cmd/weft/hostrun"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/endpoint/rc"
	"github.com/weft-sdn/weft/packet"
)

// Transport is what a configuration's transport says, or nothing.
const Transport = "roce"

// Config describes a host and what it should do. Start from Default.
type Config struct {
	// Transport is "roce", which is the default; hosts of "mrc" are package mrchost's.
	Transport string `yaml:"transport"`
	// Name of the host in reports. Default: the interface's.
	Name string `yaml:"name"`
	// Interface is the network interface of the host's port.
	Interface string `yaml:"interface"`
	// Address is the host's IPv6 address. The kernel must not have it.
	Address netip.Addr `yaml:"address"`
	// MAC of the host. Default: the interface's.
	MAC inventory.MAC `yaml:"mac"`
	// Gateway is the MAC of the switch that all frames are sent to. Default: that of the router that
	// advertises itself, of IPv4 the one that answers ARP for the address after the first of the /24.
	Gateway inventory.MAC `yaml:"gateway"`
	// LineRate is how fast the host may send, in bits per second. Default 10^10.
	LineRate uint64 `yaml:"lineRate"`

	QueuePairs []QueuePair      `yaml:"queuePairs"`
	Regions    []hostrun.Region `yaml:"regions"`
	// Writes are carried out in order, queue pair by queue pair.
	Writes []hostrun.Write `yaml:"writes"`

	// Expect is how many octets of payload are waited for; 0: the host serves
	// until it is told to end, or, when it has Writes, until these are done.
	Expect uint64 `yaml:"expect"`
	// Linger is how long after its last frame a host that has all it waited for
	// still answers retransmissions. Default 1s.
	Linger api.Duration `yaml:"linger"`
}

// QueuePair is a reliable connection.
type QueuePair struct {
	QPN           uint32     `yaml:"qpn"`
	RemoteAddress netip.Addr `yaml:"remoteAddress"` // a group's proxy address, or a host's
	RemoteQPN     uint32     `yaml:"remoteQpn"`
	InitialPSN    uint32     `yaml:"initialPsn"` // of both directions; default 0
	// PMTU is the payload of a full packet in octets. Default 4096; the
	// interfaces on the way must take frames about 120 octets longer.
	PMTU int `yaml:"pmtu"`
	// Window is how many packets may be in flight. Default 64.
	Window int `yaml:"window"`
	// RetryCount is how often a packet is sent again without progress, 0 to 7; 7,
	// the default, is forever.
	RetryCount *uint8 `yaml:"retryCount"`
	// AckTimeout is the Local ACK Timeout, 4.096us x 2^n; default 14 (67 ms).
	AckTimeout *uint8 `yaml:"ackTimeout"`
	// Encapsulation makes the host put requests into a tree itself (in-band mode).
	Encapsulation *Encapsulation `yaml:"encapsulation"`
}

// Encapsulation is the outer header of requests in in-band mode.
type Encapsulation struct {
	Source  netip.Addr `yaml:"source"`  // default: the host's address
	SID     netip.Addr `yaml:"sid"`     // what the tree starts with: status.tree.sid of the group
	TLVType uint8      `yaml:"tlvType"` // default 124
	Edges   []Edge     `yaml:"edges"`
}

// Edge lists the receivers behind an edge node.
type Edge struct {
	Node      netip.Addr `yaml:"node"`
	Receivers []struct {
		Address netip.Addr `yaml:"address"`
		QPN     uint32     `yaml:"qpn"`
	} `yaml:"receivers"`
}

// Default returns a configuration without addresses and work.
func Default() Config {
	return Config{LineRate: 10e9, Linger: api.Duration(time.Second)}
}

// Complete fills in defaults and checks what can be checked without the
// interface. The error joins all faults, each of which wraps hostrun.ErrConfig.
func (c *Config) Complete() error {
	var faults []error
	fault := func(field, format string, args ...any) {
		faults = append(faults, hostrun.Fault(field, format, args...))
	}
	if c.Transport != "" && c.Transport != Transport {
		fault("transport", "is %q: want roce or mrc", c.Transport)
	}
	if c.Interface == "" {
		fault("interface", "is missing")
	}
	if c.Name == "" {
		c.Name = c.Interface
	}
	if c.Linger < 0 {
		fault("linger", "is %v: want 0 or more", c.Linger)
	}
	if len(c.QueuePairs) == 0 {
		fault("queuePairs", "none: want at least one")
	}
	faults = append(faults, hostrun.CheckRegions(c.Regions))
	var known []uint32
	for i := range c.QueuePairs {
		q := &c.QueuePairs[i]
		if slices.Contains(known, q.QPN) {
			fault(fmt.Sprintf("queuePairs[%d].qpn", i), "%d is also that of another", q.QPN)
		}
		known = append(known, q.QPN)
		if e := q.Encapsulation; e != nil && !e.Source.IsValid() {
			e.Source = c.Address
		}
		if err := q.config().Validate(); err != nil {
			fault(fmt.Sprintf("queuePairs[%d]", i), "%v", err)
		}
	}
	for i := range c.Writes {
		faults = append(faults, c.Writes[i].Complete(i, known))
	}
	if err := errors.Join(faults...); err != nil {
		return err // what follows would only name a consequence
	}
	probe := c.endpoint(packet.MAC{2})
	probe.Output = func(time.Duration, []byte) {}
	if err := probe.Validate(); err != nil {
		return hostrun.Fault("address", "%v", err)
	}
	return nil
}

// endpoint is the configuration of the host on an interface.
func (c *Config) endpoint(link packet.MAC) rc.Config {
	e := rc.DefaultConfig()
	e.Name, e.Addr, e.GatewayMAC, e.LineRate = c.Name, c.Address, packet.MAC(c.Gateway), c.LineRate
	e.MAC = link
	if !c.MAC.IsZero() {
		e.MAC = packet.MAC(c.MAC)
	}
	e.PacingSlack = pacingSlack
	return e
}

// pacingSlack lets a host that the scheduler held up catch up.
const pacingSlack = time.Millisecond

func (q *QueuePair) config() rc.QPConfig {
	e := rc.DefaultQPConfig()
	e.QPN, e.RemoteAddr, e.RemoteQPN = q.QPN, q.RemoteAddress, q.RemoteQPN
	e.SQPSN, e.RQPSN = q.InitialPSN, q.InitialPSN
	if q.PMTU != 0 {
		e.PMTU = q.PMTU
	}
	if q.Window != 0 {
		e.Window = q.Window
	}
	if q.RetryCount != nil {
		e.RetryCnt, e.RNRRetry = *q.RetryCount, *q.RetryCount
	}
	if q.AckTimeout != nil {
		e.LocalAckTimeout = *q.AckTimeout
	}
	if q.Encapsulation != nil {
		e.Encapsulation = q.Encapsulation.header()
	}
	return e
}

func (e *Encapsulation) header() *rc.Encapsulation {
	h := &rc.Encapsulation{Source: e.Source, SID: e.SID, TLVType: e.TLVType}
	for _, edge := range e.Edges {
		r := packet.EdgeReceivers{Edge: edge.Node}
		for _, x := range edge.Receivers {
			r.Receivers = append(r.Receivers, packet.Receiver{Addr: x.Address, QPN: x.QPN})
		}
		h.Edges = append(h.Edges, r)
	}
	return h
}

// Octets around the payload of a request: IPv6, UDP, BTH, RETH, ImmDt and ICRC.
const requestOverhead = 40 + 8 + 12 + 16 + 4 + 4

// CheckMTU checks that the longest packet of each queue pair, from its IPv6
// header on, fits an interface.
func (c *Config) CheckMTU(mtu int) error {
	for i := range c.QueuePairs {
		q := c.QueuePairs[i].config()
		longest := q.PMTU + requestOverhead
		if e := q.Encapsulation; e != nil {
			tlvs, err := packet.EndMTList(cmp.Or(e.TLVType, packet.TLVEndMTDefault), segments, e.Edges)
			if err != nil {
				return hostrun.Fault(fmt.Sprintf("queuePairs[%d].encapsulation", i), "%v", err)
			}
			longest += outerOverhead + len(tlvs)
		}
		if longest > mtu {
			return hostrun.Fault(fmt.Sprintf("queuePairs[%d].pmtu", i),
				"is %d, which makes packets of %d octets: interface %s has an MTU of %d", q.PMTU, longest,
				c.Interface, mtu)
		}
	}
	return nil
}

// Octets of the outer header: IPv6, and an SRH of two segments.
const (
	segments      = 2
	outerOverhead = 40 + 8 + segments*16
)

// Load reads a configuration from YAML over the defaults and completes it.
// Errors begin with the file and, where the text is at fault, the line.
func Load(file string, text []byte) (*Config, error) {
	c := Default()
	err := hostrun.Decode(file, text, &c, (*Config).Complete)
	if err != nil {
		return nil, err
	}
	return &c, nil
}
