package rocehost

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/host/hostrun"
	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/packet"
)

// Transport is what a configuration's transport says, or nothing.
const Transport = "roce"

// Config describes a host and what it should do. Start from Default.
type Config struct {
	Transport string        `yaml:"transport" doc:"'roce'; the next section covers 'mrc'" default:"roce"`
	Name      string        `yaml:"name" doc:"name in the report" default:"interface"`
	Interface string        `yaml:"interface" doc:"network interface of the host's port: its name, or an IP address that it has" default:"required"`
	Address   netip.Addr    `yaml:"address" doc:"address of the host, IPv6 or IPv4; the kernel must not have it" default:"required"`
	MAC       inventory.MAC `yaml:"mac" doc:"Ethernet address of the host" default:"the interface's"`
	Gateway   inventory.MAC `yaml:"gateway" doc:"Ethernet address of the switch, to which all frames are sent; else that of the router that advertises itself, of IPv4 the one that answers ARP for the address after the first of the /24 ([neighbors.md](neighbors.md))" default:"found"`
	LineRate  uint64        `yaml:"lineRate" doc:"bits per second sent at most"`

	QueuePairs []QueuePair      `yaml:"queuePairs"`
	Regions    []hostrun.Region `yaml:"regions"`
	// Writes are carried out in order, queue pair by queue pair.
	Writes []hostrun.Write `yaml:"writes"`

	Expect uint64       `yaml:"expect" doc:"octets of payload after which the host ends; 0: it ends when it is interrupted or its writes are complete" default:"0"`
	Linger api.Duration `yaml:"linger" doc:"time without a frame after which a host that has received all it expects ends; until then it answers retransmissions"`
}

// QueuePair is a reliable connection.
type QueuePair struct {
	QPN           uint32         `yaml:"qpn" doc:"queue pair number, 24 bits" default:"required"`
	RemoteAddress netip.Addr     `yaml:"remoteAddress" doc:"the group's proxy address, or another host" default:"required"`
	RemoteQPN     uint32         `yaml:"remoteQpn" doc:"the group's designated QPN, or the other host's" default:"required"`
	InitialPSN    uint32         `yaml:"initialPsn" doc:"first PSN, both ways" default:"0"`
	PMTU          int            `yaml:"pmtu" doc:"octets of payload in a full packet: 256, 512, 1024, 2048, 4096; interfaces on the path need about 120 octets more" default:"4096"`
	Window        int            `yaml:"window" doc:"packets in flight" default:"64"`
	RetryCount    *uint8         `yaml:"retryCount" doc:"retries without progress, 0 to 7; 7 is unlimited" default:"7"`
	AckTimeout    *uint8         `yaml:"ackTimeout" doc:"Local ACK Timeout, 4.096 us x 2^n" default:"14"`
	Encapsulation *Encapsulation `yaml:"encapsulation" doc:"outer header of requests, for groups in in-band mode" default:"none"`
}

// Encapsulation is the outer header of requests in in-band mode.
type Encapsulation struct {
	Source  netip.Addr `yaml:"source" doc:"its source address" default:"address"`
	SID     netip.Addr `yaml:"sid" doc:"SID of the tree's first node: 'status.tree.sid' of the group" default:"required"`
	TLVType uint8      `yaml:"tlvType" doc:"type of the End.MT TLVs" default:"124"`
	Edges   []Edge     `yaml:"edges" doc:"'node', the edge's loopback address, and its 'receivers', each with 'address' and 'qpn'" default:"none"`
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
