package faults

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
)

// received keeps the requests that arrive at each receiver, octet by octet.
type received map[string][][]byte

// Sent implements lab.Tap.
func (received) Sent(time.Duration, *lab.Wire, []byte) {}

// Arrived implements lab.Tap.
func (r received) Arrived(_ time.Duration, w *lab.Wire, frame []byte) {
	if p, _, err := packet.ParseRoCE(frame); err == nil && strings.HasPrefix(w.To, "R") && p.BTH.Opcode != packet.OpAcknowledge {
		r[w.To] = append(r[w.To], slices.Clone(frame))
	}
}

// TestModesGiveTheSameBytes: provisioned or in-band, a receiver gets the same packets.
func TestModesGiveTheSameBytes(t *testing.T) {
	cache := new(p4rt.Cache)
	run := func(mode intent.Mode) received {
		s, err := newScenario(17, cache, mode)
		if err != nil {
			t.Fatal(err)
		}
		r := received{}
		s.world.AddTap(r)
		if err := s.run(); err != nil {
			t.Fatal(err)
		}
		return r
	}
	provisioned, inband := run(intent.Provisioned), run(intent.Inband)
	if len(provisioned) != 5 {
		t.Fatalf("%d receivers got packets, want 5", len(provisioned))
	}
	for name, want := range provisioned {
		if got := inband[name]; !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s got %d packets in-band and %d provisioned, not all the same", name, len(got), len(want))
		}
	}
}
