package fabric

import (
	"io"
	"slices"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/dataplane/trace"
	"github.com/weft-sdn/weft/p4"
)

// TestEmbedded plays every scenario on the embedded switch, in virtual time.
func TestEmbedded(t *testing.T) {
	e := newEmbedded()
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) { s.run(t, e) })
	}
}

// TestEmbeddedTraced plays them on a switch whose packets are all traced: it must behave no
// differently.
func TestEmbeddedTraced(t *testing.T) {
	e := newEmbedded()
	told := 0
	e.tracer = trace.NewAssembler(func(r *trace.Record) {
		told++
		if err := trace.Write(io.Discard, r, trace.Options{Verbose: 2}); err != nil {
			t.Error(err)
		}
	})
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) { s.run(t, e) })
	}
	if told < 100 {
		t.Errorf("%d traces", told)
	}
}

// embedded is a P4Runtime device over the embedded switch.
type embedded struct {
	tracer trace.Tracer // nil: nobody observes packets
	hold   bool         // the traffic manager has its port; else that is one like others, as on BMv2
	buffer int          // of a paused queue without an entry, in octets; 0: the default
	device *p4rt.Device
	now    time.Duration
	out    []wire
	at     []time.Duration // when each of out left
	told   []learned
}

// programs are those compiled, which all switches share: under the race detector the fabric's
// takes seconds.
var programs p4rt.Cache

func newEmbedded() *embedded { return &embedded{} }

func (*embedded) virtual() bool { return true }

func (e *embedded) digests(testing.TB, int) []learned {
	got := e.told
	e.told = nil
	return got
}

func (e *embedded) advance(d time.Duration) { e.now += d }

func (e *embedded) reset(t testing.TB) {
	t.Helper()
	cfg := dataplane.Config{Trace: e.tracer, PauseBuffer: e.buffer}
	if !e.hold {
		cfg.PFCPort = engine.NoPort
	}
	device, err := p4rt.NewDevice(p4rt.Config{
		ID: 1, Cache: &programs, Switch: cfg,
		Transmit: func(now time.Duration, port uint32, frame []byte) {
			e.out, e.at = append(e.out, wire{port, slices.Clone(frame)}), append(e.at, now)
		},
		Notify: func(now time.Duration, m *p4v1.StreamMessageResponse) {
			if p := m.GetPacket(); p != nil {
				e.out, e.at = append(e.out, wire{p4.CpuPort, fromPacketIn(p)}), append(e.at, now)
			}
			e.told = append(e.told, learnedFrom(m.GetDigest())...)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	e.told = nil
	e.device, e.now = device, time.Hour // a switch that has been up for a while
	err = device.SetPipeline(e.now, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: 1, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
		Config: &p4v1.ForwardingPipelineConfig{P4Info: info, P4DeviceConfig: p4.JSON()},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (e *embedded) write(t testing.TB, updates []*p4v1.Update) {
	t.Helper()
	if len(updates) == 0 {
		return
	}
	if err := e.device.Write(e.now, &p4v1.WriteRequest{DeviceId: 1, Updates: updates}); err != nil {
		t.Fatal(err)
	}
}

func (e *embedded) try(_ testing.TB, u *p4v1.Update) error {
	return e.device.Write(e.now, &p4v1.WriteRequest{DeviceId: 1, Updates: []*p4v1.Update{u}})
}

func (e *embedded) inject(t testing.TB, in ...wire) []wire {
	t.Helper()
	e.out, e.at = nil, nil
	for _, w := range in {
		if w.port == p4.CpuPort {
			if err := e.device.PacketOut(e.now, toPacketOut(w.frame)); err != nil {
				t.Fatal(err)
			}
		} else {
			e.device.Receive(e.now, w.port, w.frame)
		}
		for {
			if next, pending := e.device.Advance(e.now); !pending || next > e.now {
				break
			}
		}
	}
	return e.out
}

func (e *embedded) counters(t testing.TB, id uint32) map[int]int {
	t.Helper()
	cells := map[int]int{}
	// Thousands of cells after every step are read without a message each.
	for _, c := range info.GetCounters() {
		if c.GetPreamble().GetId() != id || c.GetSize() < p4.Queues {
			continue
		}
		sw := e.device.Switch()
		for i, counter := range sw.Program().Counters() {
			if counter.Name != c.GetPreamble().GetName() {
				continue
			}
			for index := range counter.Size {
				v, err := sw.Counter(engine.Element(i, index))
				if err != nil {
					t.Fatal(err)
				}
				if v.Packets != 0 {
					cells[index] = int(v.Packets)
				}
			}
			return cells
		}
	}
	err := e.device.Read(e.now, &p4v1.ReadRequest{DeviceId: 1, Entities: []*p4v1.Entity{
		{Entity: &p4v1.Entity_CounterEntry{CounterEntry: &p4v1.CounterEntry{CounterId: id}}},
	}}, func(r *p4v1.ReadResponse) {
		for _, entity := range r.GetEntities() {
			c := entity.GetCounterEntry()
			if n := c.GetData().GetPacketCount(); n != 0 {
				cells[int(c.GetIndex().GetIndex())] = int(n)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return cells
}
