//go:build linux

package fabric

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/test/bmv2"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestBMv2 plays every scenario on simple_switch_grpc.
func TestBMv2(t *testing.T) {
	b := newBMv2(t)
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) { s.run(t, b) })
	}
}

// TestAggregationBMv2 compares random histories of a group with the plain model, on
// simple_switch_grpc.
func TestAggregationBMv2(t *testing.T) {
	compareRuns(t, newBMv2(t), 20)
}

// TestDifferentialBMv2 compares random switches with simple_switch_grpc.
func TestDifferentialBMv2(t *testing.T) {
	b := newBMv2(t)
	first, rounds := seeds.Range(t, 1, 10)
	compareTargets(t, newEmbedded(), b, first, rounds)
}

const (
	bmv2Wait = 20 * time.Second // for anything BMv2 is to do

	// BMv2's packet ring of a port loses frames when some 30 arrive faster than it looks.
	bmv2Burst = 12

	// A packet passes ingress three times at most: from the wire, for its TLVs, for its receiver.
	bmv2Passes = 3
)

// bmv2Target is a BMv2 switch with a tap on every port.
//
// Nothing says when a BMv2 switch has done with a packet, so inject sends probes after it. Every
// queue is first in, first out: when a probe has come out of every port, what was in front of it
// has moved on a pass or left.
type bmv2Target struct {
	network  *bmv2.Network
	client   *bmv2.Client
	received chan wire
	written  []*p4v1.Update // what reset has to take back
	rx       map[uint32]int // packets sent into each port since the reset
	probe    uint64
}

func newBMv2(t *testing.T) *bmv2Target {
	t.Helper()
	bmv2.Require(t)
	topology := bmv2.Topology{Switches: []bmv2.Switch{{Name: "s", DeviceID: 1}}}
	for _, port := range tapped() {
		topology.Taps = append(topology.Taps, bmv2.Port{Switch: "s", Port: port})
	}
	ctx, cancel := context.WithTimeout(t.Context(), bmv2Wait)
	defer cancel()
	network, err := bmv2.Start(ctx, topology)
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	t.Cleanup(func() {
		if err := network.Close(); err != nil {
			t.Error(err)
		}
		readers.Wait()
	})
	client, err := bmv2.Dial(ctx, network.Target("s"), 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })

	b := &bmv2Target{network: network, client: client, received: make(chan wire, 1<<16),
		rx: map[uint32]int{}}
	for _, port := range tapped() {
		tap := network.Tap(bmv2.Port{Switch: "s", Port: port})
		readers.Go(func() {
			for {
				frame := make([]byte, bmv2.MaxFrame)
				n, err := tap.Read(frame)
				if err != nil {
					return
				}
				b.received <- wire{port, frame[:n:n]}
			}
		})
	}
	readers.Go(func() {
		for {
			p, err := client.PacketIn(context.WithoutCancel(ctx))
			if err != nil {
				return
			}
			b.received <- wire{p4.CpuPort, fromPacketIn(p)}
		}
	})
	return b
}

func (*bmv2Target) virtual() bool { return false }

// tapped returns the ports that the test holds: the switch's ports, and the port of its traffic
// manager.
func tapped() []uint32 {
	list := []uint32{p4.PfcPort}
	for port := uint32(1); port <= ports; port++ {
		list = append(list, port)
	}
	return list
}

// digests waits for what is wanted; nothing says that no more will come.
func (b *bmv2Target) digests(t testing.TB, want int) []learned {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bmv2Wait)
	defer cancel()
	var got []learned
	for len(got) < want {
		d, err := b.client.Digest(ctx)
		if err != nil {
			t.Fatalf("digest: %v", err)
		}
		got = append(got, learnedFrom(d)...)
	}
	return got
}

func (*bmv2Target) advance(d time.Duration) {
	if d != 0 {
		panic("no way to advance the real clock")
	}
}

func (b *bmv2Target) reset(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bmv2Wait)
	defer cancel()
	// Multicast groups and clone sessions outlive a pipeline on BMv2.
	var stale []*p4v1.Update
	for _, u := range b.written {
		if u.GetType() == p4v1.Update_INSERT && u.GetEntity().GetPacketReplicationEngineEntry() != nil {
			stale = append(stale, u)
		}
	}
	if err := b.client.Write(ctx, remove(stale...)...); err != nil {
		t.Fatalf("taking multicast groups back: %v", err)
	}
	if err := b.client.SetPipeline(ctx, info, p4.JSON()); err != nil {
		t.Fatalf("pipeline: %v", err)
	}
	b.written = nil
	clear(b.rx)
}

func (b *bmv2Target) write(t testing.TB, updates []*p4v1.Update) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bmv2Wait)
	defer cancel()
	if err := b.client.Write(ctx, updates...); err != nil {
		t.Fatalf("write: %v", err)
	}
	for _, u := range updates {
		if u.GetType() == p4v1.Update_DELETE && u.GetEntity().GetPacketReplicationEngineEntry() != nil {
			t.Fatal("deleting multicast groups is not kept track of")
		}
	}
	b.written = append(b.written, updates...)
}

func (b *bmv2Target) try(t testing.TB, u *p4v1.Update) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bmv2Wait)
	defer cancel()
	if err := b.client.Write(ctx, u); err != nil {
		return err
	}
	b.written = append(b.written, u)
	return nil
}

func (b *bmv2Target) inject(t testing.TB, in ...wire) []wire {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bmv2Wait)
	defer cancel()
	var out []wire
	for i, w := range in {
		if w.port == p4.CpuPort {
			if err := b.client.PacketOut(toPacketOut(w.frame)); err != nil {
				t.Fatalf("packet-out: %v", err)
			}
		} else {
			if _, err := b.network.Tap(bmv2.Port{Switch: "s", Port: w.port}).Write(w.frame); err != nil {
				t.Fatalf("sending on port %d: %v", w.port, err)
			}
			b.rx[w.port]++
			if b.rx[w.port]%bmv2Burst == 0 {
				b.arrived(ctx, t, w.port)
			}
		}
		// Packets by two ways have no order but the test's.
		if last := i+1 == len(in); !last && in[i+1].port != w.port {
			b.arrived(ctx, t, w.port)
			out = append(out, b.flush(ctx, t, false)...)
		} else if last {
			b.arrived(ctx, t, w.port)
		}
	}
	for pass := range bmv2Passes {
		out = append(out, b.flush(ctx, t, pass == bmv2Passes-1)...)
	}
	return out
}

// arrived waits until all that was sent into a port is at least in ingress. Packet-outs need no
// waiting: the probes follow them.
func (b *bmv2Target) arrived(ctx context.Context, t testing.TB, port uint32) {
	t.Helper()
	if port == p4.CpuPort {
		return
	}
	for {
		got := b.cellsOf(ctx, t, p4.CounterPortRxID)[int(port)]
		if got >= b.rx[port] {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("port %d received %d packets, %d were sent", port, got, b.rx[port])
		}
	}
}

// probeType is the EtherType of probes, one of those for local experiments.
const probeType = 0x88b5

// flush sends a probe through each of BMv2's queues and returns the other packets that came out.
// Egress queues of ports equal modulo 4 share a thread and its order. The last probes leave by
// every port, so no packet remains on a wire.
func (b *bmv2Target) flush(ctx context.Context, t testing.TB, last bool) []wire {
	t.Helper()
	waiting := map[string]bool{}
	through := []uint32{0, 1, 2, 3, 4}
	if last {
		through = append([]uint32{0}, tapped()...)
	}
	for _, port := range through {
		out := port
		if port == 0 {
			out = p4.CpuPort
		}
		b.probe++
		frame := make([]byte, 60)
		binary.BigEndian.PutUint16(frame[12:], probeType)
		binary.BigEndian.PutUint64(frame[14:], b.probe)
		if err := b.client.PacketOut(toPacketOut(packetOut(p4.PacketOutOpSend, out, 0, 0,
			frame...).frame)); err != nil {
			t.Fatalf("probe: %v", err)
		}
		waiting[probeKey(out, frame)] = true
	}
	var out []wire
	for len(waiting) > 0 {
		select {
		case w := <-b.received:
			frame := w.frame
			if w.port == p4.CpuPort {
				frame = frame[packetInLen:]
			}
			if key := probeKey(w.port, frame); waiting[key] {
				delete(waiting, key)
				continue
			}
			out = append(out, w)
		case <-ctx.Done():
			t.Fatalf("%d probes never came out", len(waiting))
		}
	}
	return out
}

func probeKey(port uint32, frame []byte) string { return fmt.Sprintf("%d %x", port, frame) }

func (b *bmv2Target) counters(t testing.TB, id uint32) map[int]int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bmv2Wait)
	defer cancel()
	return b.cellsOf(ctx, t, id)
}

func (b *bmv2Target) cellsOf(ctx context.Context, t testing.TB, id uint32) map[int]int {
	t.Helper()
	entities, err := b.client.Read(ctx,
		&p4v1.Entity{Entity: &p4v1.Entity_CounterEntry{CounterEntry: &p4v1.CounterEntry{CounterId: id}}})
	if err != nil {
		t.Fatalf("reading counter %#x: %v", id, err)
	}
	cells := map[int]int{}
	for _, e := range entities {
		c := e.GetCounterEntry()
		if n := c.GetData().GetPacketCount(); n != 0 {
			cells[int(c.GetIndex().GetIndex())] = int(n)
		}
	}
	return cells
}

func TestECMPBMv2(t *testing.T) { testECMP(t, newBMv2(t)) }
