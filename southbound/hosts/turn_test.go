package hosts_test

import (
	"testing"
	"testing/synctest"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/api/hostapi/hostpb"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/southbound/hosts/hoststest"
)

// TestTurns: a host that holds nothing waits for its turn when many come together; a host that
// holds a state is denied an EV meanwhile.
func TestTurns(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		s, open := serve(t, &hoststest.Observer{}, nil)
		p := &hostapi.Profile{
			Name: "a", Format: hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{16}},
			Mode: hostapi.ModeExplicit, Count: 2,
			EVs: []hostapi.EV{hostapi.NewEV(1<<16, 1), hostapi.NewEV(2<<16, 1)},
		}
		set := func(host string, p *hostapi.Profile) {
			t.Helper()
			state, err := hostapi.NewState(hostapi.State{Profiles: []*hostapi.Profile{p}})
			if err == nil {
				err = s.Set(host, state)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		// updates returns how many updates a host has received and applied.
		updates := func(name string) func() int {
			c, n := open(), 0
			c.say(hello(name))
			go func() {
				for {
					m, err := c.stream.Recv()
					if err != nil {
						return
					}
					if u, ok := m.GetMessage().(*hostpb.ControllerMessage_Update); ok {
						n++
						v := u.Update.GetVersion()
						if err := c.stream.Send(hostapi.EncodeUp(
							&hostapi.Applied{Version: hostapi.Version{Epoch: v.GetEpoch(),
								Number: v.GetNumber()}})); err != nil {
							return
						}
					}
				}
			}()
			return func() int {
				synctest.Wait()
				return n
			}
		}
		set("holds", p)
		set("new", p)
		holds := updates("holds")
		if n := holds(); n != 1 {
			t.Fatalf("%d updates for the first host, want 1", n)
		}
		giveBack := s.TakeTurns()
		fresh := updates("new")
		if n := fresh(); n != 0 {
			t.Errorf("%d updates for a host without a turn", n)
		}
		if s.Behind() {
			t.Error("behind, and both streams have looked at what was set last")
		}
		set("new", p.WithDenied(p.EVs[:1]))
		if fresh(); !s.Behind() {
			t.Error("not behind, and a stream that waits for its turn has something new to look at")
		}
		set("holds", p.WithDenied(p.EVs[:1]))
		if n := holds(); n != 2 {
			t.Errorf("%d updates for the host that holds a state, want 2: a denial waits for a turn", n)
		}
		giveBack()
		if n := fresh(); n != 2 || s.Behind() {
			t.Errorf("%d updates for the other host after its turn, want 2; behind: %v", n, s.Behind())
		}
	})
}
