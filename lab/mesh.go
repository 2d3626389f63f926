package lab

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/host/nscc"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/host/verbs"
)

// A FlowConfig describes the octets that one MRC host writes to another host.
type FlowConfig struct {
	From, To string
	Bytes    int
	After    time.Duration // when it begins, from the start of all
}

// MeshConfig describes flows, each over a queue pair of its own.
type MeshConfig struct {
	Flows   []FlowConfig
	Message int // octets of a WRITE at most; default 1 MiB
	// Immediate makes every so many WRITEs one with immediate data, its number: receivers must see
	// these in their order. 0: none.
	Immediate int
	// Repeat makes every flow write its octets repeatedly, to the same memory, until Finish. It
	// posts them twice ahead.
	Repeat bool
	// Renew makes a flow end, and not the mesh, when the flow's queue pair fails or one of its hosts
	// dies: see Mesh.Renew.
	Renew bool
	// Forget makes receivers keep no octets: flows have no Memory, and none is Corrupt.
	Forget bool
	// QP is common to all queue pairs; numbers, addresses, PSNs, Congestion and Sprayer
	// are set by the mesh. Default nic.DefaultQPConfig.
	QP mrc.QPConfig
	// Congestion has NSCC's parameters of every queue pair; zero: what the hosts' controller reports.
	Congestion nscc.Config
	// Profile gives a flow its entropy values; nil: what the hosts' controller reports.
	Profile func(flow int, from, to *MRCNode) spray.Profile
}

// A Mesh is flows between MRC hosts.
type Mesh struct {
	Flows []*Flow

	world     *World
	cfg       MeshConfig
	message   int
	immediate int
	repeat    bool // until Finish
	data      []byte
	pumped    time.Duration
}

// A Flow is a queue pair at each end, and memory at the far one.
type Flow struct {
	FlowConfig
	Source, Sink *MRCNode
	QP, SinkQP   *mrc.QP
	Spray        *spray.Set // nil: the host's own
	Memory       []byte     // nil: the far end keeps nothing
	// Began and Ended are when the first WRITE was posted and the last one completed.
	Began, Ended time.Duration
	// Err is why the flow has ended, in a mesh that renews flows; nil as long as it goes on.
	Err error

	number           uint32 // of the world's flows: no two of them have a queue pair in common
	begun            bool
	posted, complete int // octets
	writes           int // posted
	due              int // octets to write in all, as far as that is known
	immediates       int // seen by the receiver
}

// AllToAll returns the flows of every host that writes octets to every other.
func AllToAll(hosts []string, bytes int) (flows []FlowConfig) {
	for i, from := range hosts {
		for j := range hosts[1:] {
			flows = append(flows, FlowConfig{From: from, To: hosts[(i+j+1)%len(hosts)], Bytes: bytes})
		}
	}
	return flows
}

const (
	meshMessage = 1 << 20
	meshQPN     = 0x100  // plus the flow's number
	meshRKey    = 0x1000 // likewise
)

// NewMesh makes the queue pairs and memory of flows. The data is drawn by the world's seed.
func (w *World) NewMesh(cfg MeshConfig) (*Mesh, error) {
	m := &Mesh{world: w, message: cfg.Message, immediate: cfg.Immediate, repeat: cfg.Repeat}
	if m.message == 0 {
		m.message = meshMessage
	}
	if cfg.QP.PMTU == 0 {
		cfg.QP = nic.DefaultQPConfig()
	}
	m.cfg = cfg
	most := 0
	for i, c := range cfg.Flows {
		f, err := m.newFlow(i, c)
		if err != nil {
			return nil, fmt.Errorf("flow %d, %s to %s: %w", i, c.From, c.To, err)
		}
		m.Flows, most = append(m.Flows, f), max(most, c.Bytes)
	}
	m.data = make([]byte, most)
	if _, err := rand.NewChaCha8([32]byte{byte(w.rng.Uint32())}).Read(m.data); err != nil {
		return nil, err
	}
	return m, nil
}

func (m *Mesh) newFlow(i int, c FlowConfig) (*Flow, error) {
	w := m.world
	f := &Flow{FlowConfig: c, due: c.Bytes}
	if !m.cfg.Forget {
		f.Memory = make([]byte, c.Bytes)
	}
	var err error
	if f.Source, err = w.MRCHost(c.From); err != nil {
		return nil, err
	}
	if f.Sink, err = w.MRCHost(c.To); err != nil {
		return nil, err
	}
	return f, m.connect(i, f)
}

// connect makes the queue pairs of the i-th flow, and registers its memory.
func (m *Mesh) connect(i int, f *Flow) error {
	f.number = m.world.flows
	m.world.flows++
	var err error
	if m.cfg.Forget {
		_, err = f.Sink.RegisterForeign(0, f.rkey(), verbs.Foreign{Memory: verbs.Nothing{},
			Size: uint64(f.Bytes)}, verbs.AccessRemoteWrite)
	} else {
		_, err = f.Sink.RegisterMR(0, f.rkey(), f.Memory, verbs.AccessRemoteWrite)
	}
	if err != nil {
		return err
	}
	if f.QP, f.Spray, err = m.newQP(i, f, f.Source, f.Sink); err != nil {
		return err
	}
	f.SinkQP, _, err = m.newQP(i, f, f.Sink, f.Source)
	return err
}

func (f *Flow) qpn() uint32  { return meshQPN + f.number }
func (f *Flow) rkey() uint32 { return meshRKey + f.number }

// newQP makes one end of a flow's queue pair.
func (m *Mesh) newQP(i int, f *Flow, at, peer *MRCNode) (*mrc.QP, *spray.Set, error) {
	cfg := &m.cfg
	qp := cfg.QP
	qp.QPN, qp.RemoteQPN, qp.RemoteAddr = f.qpn(), f.qpn(), peer.Config().Addr
	qp.SQPSN, qp.RQPSN = 0xfffff0, 0xfffff0 // wraps on the way
	var set *spray.Set
	if cfg.Profile != nil {
		var err error
		if set, err = spray.New(spray.DefaultConfig(m.world.rng.Uint64()),
			cfg.Profile(i, at, peer)); err != nil {
			return nil, nil, err
		}
		qp.Sprayer = set
	}
	if cfg.Congestion != (nscc.Config{}) {
		window, err := nscc.New(cfg.Congestion)
		if err != nil {
			return nil, nil, err
		}
		qp.Congestion = window
	}
	made, err := at.CreateQP(qp)
	return made, set, err
}

// Close takes the queue pairs and the memory of the flows out of the hosts, whatever work is left.
func (m *Mesh) Close() {
	for _, f := range m.Flows {
		m.disconnect(f)
	}
}

// disconnect ends what connect began.
func (m *Mesh) disconnect(f *Flow) {
	for _, end := range []struct {
		host *MRCNode
		qp   *mrc.QP
	}{{f.Source, f.QP}, {f.Sink, f.SinkQP}} {
		_ = end.qp.Abort(m.world.now) // it may have failed before
		_ = end.host.DestroyQP(f.qpn())
	}
	f.Sink.DeregisterMR(f.rkey())
}

// Renew gives new queue pairs to flows that have ended with an error and whose hosts live, and lets
// the flows write on. It returns the number of these flows.
func (m *Mesh) Renew() (flows int, err error) {
	for i, f := range m.Flows {
		if f.Err == nil || f.Source.stopped || f.Sink.stopped {
			continue
		}
		m.disconnect(f)
		if err := m.connect(i, f); err != nil {
			return flows, fmt.Errorf("flow %d, %s to %s: %w", i, f.From, f.To, err)
		}
		f.Err, f.posted = nil, f.complete
		flows++
	}
	return flows, m.pump()
}

// Start posts the first WRITEs of all flows; a flow with a later start posts its WRITEs at that
// time.
func (m *Mesh) Start() error {
	for _, f := range m.Flows {
		f.Began = m.world.now + f.After
		if f.After > 0 {
			m.world.At(f.Began, func() { f.begun = true })
		} else {
			f.begun = true
		}
	}
	return m.pump()
}

// pumpEvery is how often completions are looked for: their times are exact to that.
const pumpEvery = time.Microsecond

// Pump collects completions and posts what the send queues have room for. Call it as the transfer
// continues; it does something once a microsecond of the world's.
func (m *Mesh) Pump() error {
	if m.world.now < m.pumped+pumpEvery {
		return nil
	}
	return m.pump()
}

func (m *Mesh) pump() error {
	m.pumped = m.world.now
	for i, f := range m.Flows {
		if m.cfg.Renew && f.Err == nil && (f.Source.stopped || f.Sink.stopped) {
			f.Err = fmt.Errorf("flow %d, %s to %s: a host is dead", i, f.From, f.To)
		}
		if !f.begun || f.Err != nil || f.complete == f.due && !m.repeat && !m.awaits(f) {
			continue
		}
		if err := m.drive(f); err != nil {
			err = fmt.Errorf("flow %d, %s to %s: %w", i, f.From, f.To, err)
			if !m.cfg.Renew {
				return err
			}
			f.Err = err
		}
	}
	return nil
}

// drive works on one flow.
func (m *Mesh) drive(f *Flow) error {
	for c, ok := f.QP.Poll(); ok; c, ok = f.QP.Poll() {
		if c.Status != verbs.StatusOK {
			return fmt.Errorf("message %d: %v", c.ID, c.Status)
		}
		_, octets := m.write(f, int(c.ID))
		if f.complete += octets; f.complete == f.due && !m.repeat {
			f.Ended = c.At
		}
	}
	for c, ok := f.SinkQP.Poll(); ok; c, ok = f.SinkQP.Poll() {
		want := (f.immediates+1)*m.immediate - 1
		if c.Status != verbs.StatusOK || int(c.Immediate) != want {
			return fmt.Errorf("the receiver has %v, immediate data %d, want that of message %d", c.Status,
				c.Immediate, want)
		}
		f.immediates++
	}
	if m.immediate > 0 {
		for f.SinkQP.ReceiveQueueLen() < f.SinkQP.Config().RecvDepth {
			if err := f.SinkQP.PostRecv(verbs.RecvRequest{}); err != nil {
				return err
			}
		}
	}
	posted := f.posted
	for (f.posted < f.due || m.repeat && f.posted < f.complete+2*f.Bytes) &&
		f.QP.SendQueueLen() < f.QP.Config().SendDepth {
		number := f.writes
		at, octets := m.write(f, number)
		r := verbs.WorkRequest{ID: uint64(number), Op: verbs.OpWrite, Data: m.data[at : at+octets],
			RemoteVA: uint64(at), RKey: f.rkey()}
		if m.immediate > 0 && (number+1)%m.immediate == 0 {
			r.Op, r.Immediate = verbs.OpWriteImmediate, uint32(number)
		}
		if err := f.QP.PostSend(m.world.now, r); err != nil {
			return err
		}
		f.posted += octets
		f.writes++
	}
	if f.posted > posted {
		f.Source.Wake()
	}
	return nil
}

// write returns the place in a flow's memory where a WRITE goes, by its number, and the octets of
// the WRITE.
func (m *Mesh) write(f *Flow, number int) (at, octets int) {
	round := max(1, (f.Bytes+m.message-1)/m.message) // WRITEs in it
	at = number % round * m.message
	return at, min(m.message, f.Bytes-at)
}

// World returns the world that the flows are in.
func (m *Mesh) World() *World { return m.world }

// Acknowledged returns how many octets of the flow are acknowledged, counting every repetition.
func (f *Flow) Acknowledged() int { return f.complete }

// Finish ends repetition: flows write only what is already posted.
func (m *Mesh) Finish() {
	if !m.repeat {
		return
	}
	m.repeat = false
	for _, f := range m.Flows {
		if f.due = f.posted; f.complete == f.due {
			f.Ended = m.world.now
		}
	}
}

// awaits reports that the receiver of a flow has not seen all immediate data.
func (m *Mesh) awaits(f *Flow) bool {
	return m.immediate > 0 && f.immediates < f.writes/m.immediate
}

// Progress returns the acknowledged share of all octets, from 0 to 1.
func (m *Mesh) Progress() float64 {
	complete, all := 0, 0
	for _, f := range m.Flows {
		complete, all = complete+f.complete, all+f.due
	}
	return float64(complete) / float64(max(1, all))
}

// Done reports whether every octet has been acknowledged, and all immediate data has arrived.
func (m *Mesh) Done() bool {
	for _, f := range m.Flows {
		if f.complete < f.due || m.repeat || m.awaits(f) {
			return false
		}
	}
	return true
}

// Corrupt returns the number of flows with wrong octets in memory.
func (m *Mesh) Corrupt() (flows int) {
	for _, f := range m.Flows {
		if m.Wrong(f) > 0 {
			flows++
		}
	}
	return flows
}

// Wrong returns how many octets of a flow's memory differ from the written data.
func (m *Mesh) Wrong(f *Flow) (octets int) {
	if bytes.Equal(f.Memory, m.data[:f.Bytes]) {
		return 0
	}
	for i, octet := range f.Memory {
		if octet != m.data[i] {
			octets++
		}
	}
	return octets
}
