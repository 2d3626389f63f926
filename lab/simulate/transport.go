package simulate

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
)

// checkTransport checks what hosts speak, and reports whether the rest can be checked.
func (s *Scenario) checkTransport(c checks) bool {
	if s.Transport != lab.MRC && s.Transport != lab.RoCE {
		c.bad("transport", fmt.Sprintf("%q", s.Transport), "mrc or roce")
		return false
	}
	if s.Transport == lab.MRC {
		return true
	}
	if s.Model == modelFlows {
		c.bad("model", s.Model, "packets with transport roce")
	}
	if s.Mode != "" && s.Mode != roceMode {
		c.bad("mode", s.Mode, "no mode, or ecmp, with transport roce")
	}
	s.Mode = roceMode
	for _, h := range s.network.Hosts {
		ports := 0
		for range s.network.Uplinks(h.Name) {
			ports++
		}
		if ports != 1 {
			c.bad("transport", s.Transport, fmt.Sprintf("a fabric of one plane: %s has %d ports, and a "+
				"RoCEv2 host has one", h.Name, ports))
			return false
		}
	}
	return true
}

// Further settings for fabrics with RoCEv2 hosts, beside the marks for MRC hosts.
const (
	roceMode = "ecmp"
	// roceQueue is how many packets wait at a port before the switch drops: 16 MiB, the shared buffer
	// of a switch, which serves here as PFC does in a lossless fabric.
	roceQueue = 4096
	// roceWindow is how many bandwidth-delay products a queue pair has in flight at most, since
	// adapters bound the rate and not the window.
	roceWindow = 2
	// roceAckEvery is how many packets of a message an acknowledgement is asked for.
	roceAckEvery = 16
	// roceOverhead is the octets of a full packet beside its payload on a link: all headers, ICRC,
	// preamble, check sequence and gap.
	roceOverhead = packet.EthernetLen + packet.IPv6Len + packet.UDPLen + packet.BTHLen +
		packet.ICRCLen + 8 + 4 + 12
)

// speakRoCE makes the hosts of a fabric RoCEv2 hosts, and gives their packets a class that is
// marked and not trimmed.
func (s *Scenario) speakRoCE(n *lab.Network, settings *inventory.MRC) {
	for i := range n.Hosts {
		n.Hosts[i].Transport = lab.RoCE
	}
	hosts := map[string]bool{}
	for _, h := range n.Hosts {
		hosts[h.Name] = true
	}
	for i := range n.Links {
		l := &n.Links[i]
		if hosts[l.A] {
			l.PortA = 0
		}
		if hosts[l.B] {
			l.PortB = 0
		}
	}
	n.MRC, settings.Classes.DataPackets = nil, roceQueue
}

// roceQP returns what the queue pairs of RoCEv2 hosts have in common.
func (s *Scenario) roceQP() rc.QPConfig {
	cfg := rc.DefaultQPConfig()
	dscp := packet.DefaultDSCPClasses()
	cfg.DSCP, cfg.CNPDSCP, cfg.AckEvery = dscp.NoTrim, dscp.Control, roceAckEvery
	rtt, rate := s.network.RoundTrip(), s.network.Links[0].Rate
	for _, l := range s.network.Links {
		rate = min(rate, l.Rate)
	}
	frame := float64(cfg.PMTU+roceOverhead) * 8
	cfg.Window = max(cfg.Window, int(roceWindow*rtt.Seconds()*float64(rate)/frame))
	full := rtt + time.Duration(roceQueue*frame/float64(rate)*float64(time.Second))
	for cfg.LocalAckTimeout = 1; 4096*time.Nanosecond<<cfg.LocalAckTimeout < full; {
		cfg.LocalAckTimeout++
	}
	return cfg
}

// A host is one that may fail and work again.
type host interface {
	Start()
	Stop()
}

// hostOf returns the host of a name, whatever it speaks.
func hostOf(w *lab.World, name string) (host, error) {
	if h, err := w.MRCHost(name); err == nil {
		return h, nil
	}
	return w.Host(name)
}

// An end is one end of a queue pair.
type end interface {
	Poll() (verbs.Completion, bool)
	PostRecv(verbs.RecvRequest) error
	// write posts a WRITE of zeros with immediate data; full: the send queue has no room.
	write(octets int, immediate uint32) (full bool, err error)
	wake()               // the host, after write
	sent(c *Counters)    // adds what the source of messages counts
	arrived(c *Counters) // adds what a sink counts: of data packets, and not of their answers
	fill() error         // the receive queue
}

// mrcEnd is an end whose host speaks MRC.
type mrcEnd struct {
	*mrc.QP
	node *lab.MRCNode
}

func (e mrcEnd) fill() error { return fill(e.QP, e.Config().RecvDepth) }

func (e mrcEnd) write(octets int, immediate uint32) (full bool, err error) {
	if e.SendQueueLen() >= e.Config().SendDepth {
		return true, nil
	}
	return false, e.PostSend(e.node.Now(), verbs.WorkRequest{Op: verbs.OpWriteImmediate,
		From: verbs.Nothing{}, Length: octets, RKey: rkey, Immediate: immediate})
}

func (e mrcEnd) wake() { e.node.Wake() }

func (e mrcEnd) sent(c *Counters) {
	of := e.Counters()
	c.Packets += of.RequestsSent
	c.Resent += of.RequestsResent
	c.Timeouts += of.Timeouts
}

func (e mrcEnd) arrived(c *Counters) {
	of := e.Counters()
	c.Trimmed += of.Trimmed
	c.Marked += of.CEReceived
}

// roceEnd is an end whose host speaks RoCEv2 RC.
type roceEnd struct {
	*rc.QP
	node   *lab.HostNode
	memory []byte // zeros, as long as the longest message
}

func (e roceEnd) fill() error { return fill(e.QP, e.Config().RecvDepth) }

func (e roceEnd) write(octets int, immediate uint32) (full bool, err error) {
	if e.SendQueueLen() >= e.Config().SendDepth {
		return true, nil
	}
	return false, e.PostSend(verbs.WorkRequest{Op: verbs.OpWriteImmediate, Data: e.memory[:octets],
		RKey: rkey, Immediate: immediate})
}

func (e roceEnd) wake() { e.node.Wake() }

func (e roceEnd) sent(c *Counters) {
	of := e.Counters()
	c.Packets += of.RequestsSent
	c.Resent += of.RequestsResent
	c.Timeouts += of.Timeouts
}

func (e roceEnd) arrived(c *Counters) { c.Marked += e.Counters().CEReceived }

// fill fills a receive queue.
func fill(q interface {
	ReceiveQueueLen() int
	PostRecv(verbs.RecvRequest) error
}, depth int) error {
	for q.ReceiveQueueLen() < depth {
		if err := q.PostRecv(verbs.RecvRequest{}); err != nil {
			return err
		}
	}
	return nil
}

// register lets all hosts be written to. It returns the memory for RoCEv2 hosts, shared among all,
// since every octet is zero.
func (s *Scenario) register(w *lab.World) (memory []byte, err error) {
	longest := 0
	for _, j := range s.Jobs {
		for _, g := range j.groups {
			for _, m := range g.graph {
				longest = max(longest, m.Octets)
			}
		}
	}
	if s.Transport == lab.RoCE {
		memory = make([]byte, longest)
	}
	for _, h := range w.Network.Hosts {
		if node, failed := w.Host(h.Name); failed == nil {
			_, err = node.RegisterMR(0, rkey, memory, verbs.AccessRemoteWrite)
		} else if node, failed := w.MRCHost(h.Name); failed == nil {
			_, err = node.RegisterForeign(0, rkey, verbs.Foreign{Memory: verbs.Nothing{},
				Size: maxMessage}, verbs.AccessRemoteWrite)
		}
		if err != nil {
			return nil, err
		}
	}
	return memory, nil
}

// peer is where a queue pair of a host leads.
type peer struct {
	qpn, remoteQPN uint32
	address        netip.Addr
}

// end makes an end of a queue pair at a rank; notify runs when the end has a completion.
func (k *worker) end(rank int, to peer, notify func()) (end, error) {
	name := k.job.hosts[rank]
	if node, err := k.world.Host(name); err == nil {
		cfg := k.roce
		cfg.QPN, cfg.RemoteQPN, cfg.RemoteAddr, cfg.Notify = to.qpn, to.remoteQPN, to.address, notify
		qp, err := node.CreateQP(cfg)
		return roceEnd{qp, node, k.memory}, err
	}
	node, err := k.world.MRCHost(name)
	if err != nil {
		return nil, err
	}
	cfg := nic.DefaultQPConfig()
	cfg.AckTimeout, cfg.ProbeTimeout = k.world.Network.Timers()
	cfg.QPN, cfg.RemoteQPN, cfg.RemoteAddr, cfg.Notify = to.qpn, to.remoteQPN, to.address, notify
	qp, err := node.CreateQP(cfg)
	return mrcEnd{qp, node}, err
}

// address returns the address of a rank's host.
func (k *worker) address(rank int) netip.Addr {
	if node, err := k.world.Host(k.job.hosts[rank]); err == nil {
		return node.Config().Addr
	}
	node, err := k.world.MRCHost(k.job.hosts[rank])
	if err != nil {
		return netip.Addr{}
	}
	return node.Config().Addr
}

// proxy returns the address that stands for the multicast group of a queue pair's number.
func proxy(qpn uint32) netip.Addr {
	a := netip.MustParseAddr("2001:db8:ffff::").As16()
	a[13], a[14], a[15] = byte(qpn>>16), byte(qpn>>8), byte(qpn)
	return netip.AddrFrom16(a)
}

// groupReady is how long the switches may take to hold a multicast group.
const groupReady = 10 * time.Second

// program has the controller make the multicast group of a pair, as a client does, and waits until
// all switches hold the group.
func program(w *lab.World, c *lab.Control, name string, spec api.MulticastGroupSpec) error {
	if err := c.Change(func(core *controller.Core) error {
		_, _, err := core.Groups().Put(name, spec, resource.Precondition{})
		return err
	}); err != nil {
		return fmt.Errorf("group %s: %w", name, err)
	}
	if !w.Run(w.Now()+groupReady, func() bool {
		g, err := c.Core().Groups().Get(name)
		return err == nil && g.Status.Is(api.Programmed)
	}) {
		return fmt.Errorf("group %s is not programmed within %v", name, groupReady)
	}
	return nil
}
