//go:build linux

package bmv2

import (
	"bytes"
	"context"
	"errors"
	"os"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"go.uber.org/goleak"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/p4/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// pair starts two switches with a link between ports 1 and 7, and taps, both with the fabric's
// pipeline. They end with the test.
func pair(t *testing.T, taps ...Port) (context.Context, *Network, map[string]*Client) {
	t.Helper()
	Require(t)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	n, err := Start(ctx, Topology{
		Switches: []Switch{{Name: "a", DeviceID: 1}, {Name: "b", DeviceID: 2}},
		Links:    [][2]Port{{{"a", 1}, {"b", 7}}},
		Taps:     taps,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	clients := map[string]*Client{}
	for name, device := range map[string]uint64{"a": 1, "b": 2} {
		c, err := Dial(ctx, n.Target(name), device)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		start := time.Now()
		if err := c.SetPipeline(ctx, p4.P4Info(), p4.JSON()); err != nil {
			t.Fatal(err)
		}
		t.Logf("pipeline of %s: %v", name, time.Since(start))
		clients[name] = c
	}
	return ctx, n, clients
}

// TestNetwork sends frames of all sizes from the CPU port of one switch over a link to another,
// which reports them as packet-ins, and from CPU port to tap.
func TestNetwork(t *testing.T) {
	ctx, n, clients := pair(t, Port{"a", 2}, Port{"b", 2})
	buffer := make([]byte, MaxFrame)
	for _, size := range []int{64, 1514, MaxFrame} {
		frame := bytes.Repeat([]byte{0xa5}, size)
		copy(frame[12:], []byte{0x88, 0xb5})
		// Out of a's CPU port to a tap.
		send(t, clients["a"], 2, frame)
		tap := n.Tap(Port{"a", 2})
		if err := tap.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
			t.Fatal(err)
		}
		got, err := tap.Read(buffer)
		if err != nil {
			t.Fatalf("%d octets: %v", size, err)
		}
		if !bytes.Equal(buffer[:got], frame) {
			t.Errorf("%d octets came out as %d: %x", size, got, buffer[:got])
		}
		// Nothing else is on the wire.
		if err := tap.SetReadDeadline(time.Unix(1, 0)); err != nil {
			t.Fatal(err)
		}
		if got, err := tap.Read(buffer); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after the frame: %d octets, %v", got, err)
		}
	}
	// Over the link, and from a tap: b receives one packet on each port. It has no entries and drops
	// them.
	send(t, clients["a"], 1, make([]byte, MaxFrame))
	if _, err := n.Tap(Port{"b", 2}).Write(make([]byte, MaxFrame)); err != nil {
		t.Error(err)
	}
	for _, port := range []int64{7, 2} {
		for received(ctx, t, clients["b"], port) != 1 {
			if ctx.Err() != nil {
				t.Fatalf("b received nothing on port %d", port)
			}
		}
	}
	n.Kill("b")
	if _, err := clients["b"].Read(ctx, &p4v1.Entity{}); err == nil {
		t.Error("b answers after Kill")
	}
}

// received reads how many packets a port has received.
func received(ctx context.Context, t *testing.T, c *Client, port int64) int64 {
	t.Helper()
	entities, err := c.Read(ctx,
		wire.Entity(&p4v1.CounterEntry{
			CounterId: p4.CounterPortRxID, Index: &p4v1.Index{Index: port},
		}))
	if err != nil || len(entities) != 1 {
		t.Fatalf("reading port_rx[%d]: %v, %v", port, entities, err)
	}
	return entities[0].GetCounterEntry().GetData().GetPacketCount()
}

// send is a packet-out SEND of the fabric's program.
func send(t *testing.T, c *Client, port uint16, frame []byte) {
	t.Helper()
	err := c.PacketOut(&p4v1.PacketOut{Payload: frame, Metadata: []*p4v1.PacketMetadata{
		{MetadataId: 1, Value: []byte{byte(p4.PacketOutOpSend)}},
		{MetadataId: 2, Value: []byte{byte(port >> 8), byte(port)}},
		{MetadataId: 3, Value: []byte{0}},
		{MetadataId: 4, Value: []byte{0}},
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTopologyRefused(t *testing.T) {
	one := []Switch{{Name: "a", DeviceID: 1}}
	for name, topology := range map[string]Topology{
		"no name":        {Switches: []Switch{{DeviceID: 1}}},
		"twice":          {Switches: append(one, one...)},
		"device 0":       {Switches: []Switch{{Name: "a"}}},
		"unknown switch": {Switches: one, Taps: []Port{{"b", 1}}},
		"port 0":         {Switches: one, Taps: []Port{{"a", 0}}},
		"CPU port":       {Switches: one, Taps: []Port{{"a", 510}}},
		"port twice":     {Switches: one, Taps: []Port{{"a", 1}}, Links: [][2]Port{{{"a", 1}, {"a", 2}}}},
	} {
		if _, err := Start(t.Context(), topology); !errors.Is(err, ErrTopology) {
			t.Errorf("%s: error %v, want ErrTopology", name, err)
		}
	}
}
