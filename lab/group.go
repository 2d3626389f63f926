package lab

import (
	"bytes"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// GroupConfig describes the hosts' side of a multicast group.
type GroupConfig struct {
	Proxy         netip.Addr
	DesignatedQPN uint32
	Source        string
	Receivers     []string
	InitialPSN    uint32
	// QP is common to all queue pairs; numbers, addresses and PSNs are set by the group.
	QP rc.QPConfig
	// Memory is the size of every receiver's region, which starts at virtual address 0.
	Memory int
	// ListEdges makes a source that encapsulates put the End.MT SIDs of the edges into the Segment
	// List.
	ListEdges bool
	// Send makes the source SEND instead of WRITE: receivers take what they have posted buffers for
	// (Receiver.Take).
	Send bool
}

// The queue pair and memory of every host: the same numbers everywhere would hide a switch that
// does not rewrite them.
const (
	sourceQPN   = 0x000100
	receiverQPN = 0x000200 // plus the receiver's place
	groupRKey   = 0x00005eed
	writeAccess = verbs.AccessRemoteWrite
)

// A Group is the source and the receivers of a multicast group: queue pairs and memory. The
// controller programs the switches.
type Group struct {
	Config    GroupConfig
	Source    *HostNode
	SourceQP  *rc.QP
	Receivers []*Receiver

	world    *World
	early    earlyAcks
	data     []byte
	posted   int // octets handed to the source
	message  int
	complete int // octets completed
	nextQPN  uint32
}

// A Receiver is a member of a group.
type Receiver struct {
	Host   *HostNode
	QP     *rc.QP
	Memory []byte
	// From is the first octet of the source's data that the receiver should have.
	From int
	// StartPSN is the PSN it began with.
	StartPSN uint32

	taken int // octets it has posted buffers for
}

// Take posts buffers for the given number of further messages of the source, limited by the data
// and the receive queue.
func (g *Group) Take(r *Receiver, messages int) error {
	for range messages {
		if r.taken >= len(g.data) || r.QP.ReceiveQueueLen() >= r.QP.Config().RecvDepth {
			break
		}
		end := min(r.taken+g.message, len(g.data))
		if err := r.QP.PostRecv(verbs.RecvRequest{ID: uint64(r.taken / g.message),
			Buf: r.Memory[r.taken:end]}); err != nil {
			return fmt.Errorf("receiver %s: %w", r.Host.Name, err)
		}
		r.taken = end
	}
	for _, ok := r.QP.Poll(); ok; _, ok = r.QP.Poll() { // what arrived shows in the memory
	}
	r.Host.Wake()
	return nil
}

// NewGroup makes the queue pairs and memory of a group.
func (w *World) NewGroup(cfg GroupConfig) (*Group, error) {
	g := &Group{Config: cfg, world: w, nextQPN: receiverQPN}
	source, err := w.Host(cfg.Source)
	if err != nil {
		return nil, err
	}
	g.Source = source
	qp := cfg.QP
	qp.QPN, qp.RemoteAddr, qp.RemoteQPN = sourceQPN, cfg.Proxy, cfg.DesignatedQPN
	qp.SQPSN, qp.RQPSN = cfg.InitialPSN, cfg.InitialPSN
	if g.SourceQP, err = source.CreateQP(qp); err != nil {
		return nil, err
	}
	for _, name := range cfg.Receivers {
		if _, err := g.Join(name, cfg.InitialPSN, 0); err != nil {
			return nil, err
		}
	}
	g.early.group = g
	w.AddTap(&g.early)
	return g, nil
}

// Join makes the queue pair and memory of one more receiver, which expects startPSN first and
// the source's data from an offset on.
func (g *Group) Join(name string, startPSN uint32, from int) (*Receiver, error) {
	host, err := g.world.Host(name)
	if err != nil {
		return nil, err
	}
	r := &Receiver{Host: host, Memory: make([]byte, g.Config.Memory)}
	if _, err := host.RegisterMR(0, groupRKey, r.Memory, writeAccess); err != nil {
		return nil, fmt.Errorf("receiver %s: %w", name, err)
	}
	return g.Rejoin(r, startPSN, from)
}

// Rejoin makes a new queue pair for a receiver that has left, or lost its queue pair; its memory
// stays as it is.
func (g *Group) Rejoin(r *Receiver, startPSN uint32, from int) (*Receiver, error) {
	r.From, r.StartPSN, r.taken = from, startPSN, from
	qp := g.Config.QP
	qp.QPN, qp.RemoteAddr, qp.RemoteQPN = g.nextQPN, g.Config.Proxy, g.Config.DesignatedQPN
	qp.SQPSN, qp.RQPSN = startPSN, startPSN
	g.nextQPN++
	created, err := r.Host.CreateQP(qp)
	if err != nil {
		return nil, err
	}
	r.QP = created
	g.Receivers = append(g.Receivers, r)
	return r, nil
}

// Remove makes a receiver no longer count; its queue pair lives on until the host drops it.
func (g *Group) Remove(name string) {
	g.Receivers = slices.DeleteFunc(g.Receivers, func(r *Receiver) bool { return r.Host.Name == name })
}

// Receiver returns the member on a host, or nil.
func (g *Group) Receiver(name string) *Receiver {
	if i := slices.IndexFunc(g.Receivers,
		func(r *Receiver) bool { return r.Host.Name == name }); i >= 0 {
		return g.Receivers[i]
	}
	return nil
}

// Write starts the transfer of data to the same offsets of every receiver's memory, in WRITEs of
// at most message octets.
func (g *Group) Write(data []byte, message int) error {
	g.data, g.message, g.posted, g.complete = data, message, 0, 0
	return g.Pump()
}

// Pump collects completions and posts what the send queue has room for. Call it as the transfer
// continues.
func (g *Group) Pump() error {
	for {
		c, ok := g.SourceQP.Poll()
		if !ok {
			break
		}
		if c.Status != verbs.StatusOK {
			return fmt.Errorf("source %s: message %d: %v", g.Source.Name, c.ID, c.Status)
		}
		g.complete += min(g.message, len(g.data)-int(c.ID)*g.message)
	}
	for g.posted < len(g.data) && g.SourceQP.SendQueueLen() < g.SourceQP.Config().SendDepth {
		end := min(g.posted+g.message, len(g.data))
		request := verbs.WorkRequest{ID: uint64(g.posted / g.message), Op: verbs.OpSend,
			Data: g.data[g.posted:end]}
		if !g.Config.Send {
			request.Op, request.RemoteVA, request.RKey = verbs.OpWrite, uint64(g.posted), groupRKey
		}
		if err := g.SourceQP.PostSend(request); err != nil {
			return fmt.Errorf("source %s: %w", g.Source.Name, err)
		}
		g.posted = end
	}
	g.Source.Wake()
	return nil
}

// Done reports whether every octet has been acknowledged to the source.
func (g *Group) Done() bool { return g.complete == len(g.data) }

// Progress returns the share of the data acknowledged to the source, from 0 to 1.
func (g *Group) Progress() float64 { return float64(g.complete) / float64(max(1, len(g.data))) }

// Size is the number of octets of the data.
func (g *Group) Size() int { return len(g.data) }

// Corrupt returns the names of receivers whose memory differs from the source's data.
func (g *Group) Corrupt() []string {
	var names []string
	for _, r := range g.Receivers {
		if !bytes.Equal(r.Memory[r.From:len(g.data)], g.data[r.From:]) {
			names = append(names, r.Host.Name)
		}
	}
	return names
}

// EarlyAcks counts the ACKs and NAKs that acknowledged a PSN to the source before every receiver of
// the time had it; first describes the first.
func (g *Group) EarlyAcks() (count uint64, first string) { return g.early.count, g.early.first }

func earlyAck(now time.Duration, s packet.Syndrome, psn uint32, receiver string,
	expected uint32) string {
	return fmt.Sprintf("%v: %v with PSN %#06x while %s expects %#06x", now, s, psn, receiver, expected)
}

// Encapsulate makes the source host send into the tree itself, with its receivers in End.MT TLVs
// (in-band mode).
func (g *Group) Encapsulate(tree *api.GroupTree) error {
	e := rc.Encapsulation{Source: g.Source.Outer, SID: tree.SID}
	for _, n := range tree.Nodes {
		edge := packet.EdgeReceivers{Edge: n.Address}
		for _, b := range n.Branches {
			if b.Receiver.IsValid() {
				edge.Receivers = append(edge.Receivers, packet.Receiver{Addr: b.Receiver, QPN: b.QPN})
			}
		}
		if len(edge.Receivers) > 0 {
			e.Edges = append(e.Edges, edge)
			if g.Config.ListEdges {
				e.EdgeSIDs = append(e.EdgeSIDs, n.SID)
			}
		}
	}
	return g.SourceQP.SetEncapsulation(&e)
}
