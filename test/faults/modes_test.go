package faults

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
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
	if p, _, err := packet.ParseRoCE(frame); err == nil && strings.HasPrefix(w.To, "R") &&
		p.BTH.Opcode != packet.OpAcknowledge {
		r[w.To] = append(r[w.To], slices.Clone(frame))
	}
}

// TestModesGiveTheSameBytes: provisioned or in-band, a receiver gets the same packets.
func TestModesGiveTheSameBytes(t *testing.T) {
	cache := new(p4rt.Cache)
	run := func(seed uint64, mode api.GroupMode) received {
		s, err := newScenario(seed, cache, options{mode: mode})
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
	for seed := uint64(17); seed < 17+modeSeeds; seed++ { // odd ones have a bud node
		provisioned, inband := run(seed, api.ModeProvisioned), run(seed, api.ModeInband)
		if len(provisioned) < 5 {
			t.Fatalf("seed %d: %d receivers got packets, want 5 at least", seed, len(provisioned))
		}
		for name, want := range provisioned {
			got := inband[name]
			if !slices.EqualFunc(got, want, bytes.Equal) {
				t.Errorf("seed %d: %s got %d packets in-band and %d provisioned, not all the same", seed, name,
					len(got), len(want))
			}
		}
	}
}
