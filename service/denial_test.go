package service

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestDenials: hosts are spread over several controllers; links fail and return, deciders die,
// controllers lose the store, the quorum is lost, hosts start again and connect elsewhere. No host
// that its controller has served uses an EV over a link for longer than the bound after the
// failure, and EVs come back.
func TestDenials(t *testing.T) {
	start, count := seeds.Range(t, 0, 40)
	decided, undecided := 0, 0
	for seed := start; seed < start+count; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				b := newDenialBed(t, seed)
				defer func() {
					decided, undecided = decided+b.decided, undecided+b.undecided
					if t.Failed() {
						for _, d := range b.did {
							t.Log(d)
						}
					}
				}()
				defer b.end()
				began := time.Now()
				time.Sleep(5 * time.Second)
				b.look(true)
				for range 2 {
					for range 12 {
						b.did = append(b.did, fmt.Sprintf("%v: %s", time.Since(began), b.step()))
						b.pass(time.Duration(b.rng.IntN(4000)) * time.Millisecond)
					}
					for _, p := range b.peers {
						p.client.Mend()
					}
					b.revive()
					b.did = append(b.did, fmt.Sprintf("%v: quiet", time.Since(began)))
					time.Sleep(30 * time.Second)
					b.look(true)
				}
				b.mendLinks()
				time.Sleep(10 * time.Second)
				b.look(true)
			})
		})
	}
	if !t.Failed() && count >= 10 && (decided == 0 || undecided == 0) {
		t.Errorf("failed links were looked at %d times with a decider and %d times without one, want "+
			"both", decided, undecided)
	}
	t.Logf("failed links were looked at %d times with a decider and %d times without one", decided,
		undecided)
}

// TestStandIn: while nobody decides, a host that starts again gets the state that the decider sent
// last, also after its stream has been cut in between, however often.
func TestStandIn(t *testing.T) {
	for cuts := range 4 {
		t.Run(fmt.Sprint(cuts), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				b := newDenialBed(t, 1)
				defer b.end()
				time.Sleep(5 * time.Second)
				b.kill(b.peers[0])
				b.kill(b.peers[1])
				time.Sleep(10 * time.Second)
				b.look(true)
				last := b.peers[2]
				last.client.Cut()
				time.Sleep(2 * denialTTL)
				h := b.hosts[0]
				b.mu.Lock()
				h.only = last
				b.mu.Unlock()
				restart := func() {
					t.Helper()
					h.stop()
					h.start()
					time.Sleep(5 * time.Second)
					b.mu.Lock()
					if last.runner != nil {
						t.Error("a controller decides")
					}
					b.mu.Unlock()
					if s := h.endpoint.State(); s == nil || len(s.Profiles) != denialLeaves {
						t.Fatalf("%s started again and holds %v: %+v", h.name, s, h.agent.Status())
					}
				}
				restart()
				for range cuts {
					b.mu.Lock()
					c := h.conn
					b.mu.Unlock()
					_ = c.Close()
					time.Sleep(5 * time.Second)
				}
				restart()
				b.setLink(0, false)
				time.Sleep(denialBound)
				b.look(false)
				last.client.Mend()
				time.Sleep(10 * time.Second)
				b.look(true)
			})
		})
	}
}

// TestGoFirst: a decider lets its own attendant go first for a moment, and the attendant uses the
// moment to deny the hosts there the failed links, and no longer.
func TestGoFirst(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		b := newDenialBed(t, 1)
		defer b.end()
		time.Sleep(5 * time.Second)
		b.look(true)
		began := time.Now()
		b.setLink(0, false)
		b.peers[0].hosting.goFirst(t.Context())
		if took := time.Since(began); took != denialHead {
			t.Errorf("it took %v, want %v", took, denialHead)
		}
		for _, h := range b.hosts {
			state := h.endpoint.State()
			denies := slices.ContainsFunc(state.Profiles, func(p *hostapi.Profile) bool {
				return len(p.Denied) > 0
			})
			if b.mu.Lock(); h.at == b.peers[0] && !denies {
				t.Errorf("%s denies nothing", h.name)
			}
			b.mu.Unlock()
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		began = time.Now()
		if b.peers[0].hosting.goFirst(over); time.Since(began) != 0 {
			t.Errorf("it took %v without a mandate", time.Since(began))
		}
	})
}
