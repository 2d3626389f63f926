package spray

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/packet"
)

// FuzzSet: a set stays consistent after any calls: Next returns only usable paths, and the counts
// of states are right.
func FuzzSet(f *testing.F) {
	f.Add([]byte{4, 2, 0, 0, 0, 1, 0, 10, 1, 3, 0, 4, 2, 5, 1})
	f.Add([]byte("abcdefghijklmnopqrstuvwxyz"))
	f.Fuzz(func(t *testing.T, b []byte) {
		take := func() int {
			if len(b) == 0 {
				return 0
			}
			v := b[0]
			b = b[1:]
			return int(v)
		}
		draw := func() Profile {
			p := profile(1+take()%40, 1+take()%4)
			p.MinActive = take() % (len(p.EVs) + 1)
			return p
		}
		s := newSet(t, draw(), func(c *Config) {
			c.ReshuffleEvery, c.MaxSkips, c.BadAfter = take()%3, 1+take()%5, 1+take()%3
		})
		var now time.Duration
		for len(b) > 0 {
			now += time.Duration(take()) * time.Microsecond
			switch i := take(); take() % 8 {
			case 0, 1:
				free := packet.PortMask(take())
				p, ok := s.Next(now, mrc.Use(i%3), free)
				if !ok {
					break
				}
				if st, err := s.State(index(p.ID)); err != nil || alive(st) == 0 || !free.Has(p.Port) ||
					!s.Ports().Has(p.Port) {
					t.Fatalf("path %+v in state %v, %v", p, st, err)
				}
			case 2, 3:
				s.Feedback(now, mrc.PathID(i|take()<<8), mrc.Signal(take()))
			case 4:
				_ = s.Deny(i)
			case 5:
				_ = s.Allow(i)
			case 6:
				s.SetPorts(packet.PortMask(i))
			case 7:
				if i%2 == 0 {
					if err := s.Replace(draw()); err != nil {
						t.Fatal(err)
					}
				}
				s.Probe(now, packet.PortMask(i))
			}
			alive, usable, bad := s.alive, s.usable, s.bad
			if s.recount(); s.alive != alive || s.usable != usable || s.bad != bad {
				t.Fatalf("counted %v alive, %d usable and %d bad, there are %v, %d and %d", alive, usable, bad,
					s.alive, s.usable, s.bad)
			}
		}
	})
}
