package nic_test

import (
	"testing"
	"time"

	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/host/nic/nictest"
	"github.com/weft-sdn/weft/packet"
)

// TestPortUpdates: peers hear of a port that goes down or comes up by Port Status Updates (OCP MRC
// 1.0, section 7.4.8), send nothing by one that is down, and hear it again when the first update,
// or its answer, was lost.
func TestPortUpdates(t *testing.T) {
	for _, lose := range []struct {
		name string
		drop func(from int, p *packet.MRC) bool
	}{
		{"nothing lost", func(int, *packet.MRC) bool { return false }},
		{"request lost", func(from int, p *packet.MRC) bool {
			return from == 1 && p.Headers.Is(packet.ExtERTH)
		}},
		{"answer lost", func(from int, p *packet.MRC) bool {
			return from == 0 && p.Headers.Is(packet.ExtEETH)
		}},
	} {
		f := nictest.New(t, 2, 2, 1, func(_ int, c *nic.Config) {
			c.PortUpdates, c.Host.EndpointTimeout = true, 100*time.Microsecond
		})
		both(f, 8, 2)
		qp, _ := f.Pair(0, 1, 100)
		lost, updates := 0, 0
		data := map[int]int{}
		f.Drop = func(_ time.Duration, from int, p *packet.MRC, port int) bool {
			if from == 1 && p.Headers.Is(packet.ExtERTH) {
				updates++
			}
			if from == 0 && p.Headers.Is(packet.ExtMETH) {
				data[port]++
			}
			if lost < 2 && lose.drop(from, p) {
				lost++
				return true
			}
			return false
		}
		link := func(up bool, want packet.PortMask) {
			t.Helper()
			if err := f.NICs[1].SetPort(2, up); err != nil {
				t.Fatal(err)
			}
			f.Wake(1)
			f.Run(f.Now()+3*time.Millisecond, nil)
			if got := f.NICs[0].PeerPorts(nictest.Address(1)); got != want {
				t.Errorf("%s, up %v: the peer knows ports %#x, want %#x", lose.name, up, got, want)
			}
			clear(data)
			write(t, f, 0, 1, qp, 200_000).finish(t)
			if (data[2] > 0) != up || data[1] == 0 {
				t.Errorf("%s, up %v: data by port %v", lose.name, up, data)
			}
		}
		for _, up := range []bool{false, true} {
			lost, updates = 0, 0
			link(up, map[bool]packet.PortMask{false: 0b010, true: 0b110}[up])
			if updates != 1+lost {
				t.Errorf("%s, up %v: %d updates, want one, and one more for each of %d lost", lose.name, up,
					updates, lost)
			}
		}
		// Down and up again before an answer: the last update to the peer is right.
		if err := f.NICs[1].SetPort(2, false); err != nil {
			t.Fatal(err)
		}
		f.Wake(1)
		link(true, 0b110)
		if r, ok := f.NICs[1].PollEndpoint(); ok {
			t.Errorf("%s: the owner gets the result of an update that is not its own: %+v", lose.name, r)
		}
	}
	// The NIC sends the current ports to the peer of a new queue pair, because the peer may remember
	// ports from before a restart of the host. A host that waits for its controller delays this update
	// too.
	f := nictest.New(t, 2, 2, 1, func(_ int, c *nic.Config) {
		c.Managed, c.PortUpdates, c.Host.EndpointTimeout = true, true, 100*time.Microsecond
	})
	f.Pair(0, 1, 100)
	heard := 0
	f.Drop = func(_ time.Duration, from int, p *packet.MRC, _ int) bool {
		if from == 1 && p.Headers.Is(packet.ExtERTH) {
			heard++
		}
		return false
	}
	f.Wake(1)
	f.Run(f.Now()+time.Second, nil)
	if heard != 0 {
		t.Errorf("%d updates before the controller has said how to send", heard)
	}
	both(f, 8, 2)
	f.Run(f.Now()+time.Second, nil)
	f.Pair(0, 1, 101)
	f.Wake(1)
	f.Run(f.Now()+time.Second, nil)
	if heard != 2 {
		t.Errorf("%d updates for two new queue pairs, want 2", heard)
	}
	// Nobody answers: the updates end.
	f = nictest.New(t, 2, 2, 1, func(_ int, c *nic.Config) {
		c.PortUpdates, c.Host.EndpointTimeout = true, 100*time.Microsecond
	})
	if err := f.NICs[1].SetPort(2, false); err != nil {
		t.Fatal(err)
	}
	f.Pair(0, 1, 100)
	var updates []time.Duration
	f.Drop = func(now time.Duration, from int, p *packet.MRC, _ int) bool {
		if from == 1 && p.ERTH.Ports == 0b010 {
			updates = append(updates, now)
		}
		return true
	}
	f.Wake(1)
	began := f.Now()
	f.Run(f.Now()+time.Second, nil)
	if len(updates) != 6 {
		t.Fatalf("%d updates to a peer that does not answer, want 6", len(updates))
	}
	for i, at := range updates {
		if want := began + (1<<i-1)*100*time.Microsecond; at != want {
			t.Errorf("update %d at %v, want %v: pauses double", i, at, want)
		}
	}
}

// TestPortUpdatesOvertaken: a change is sent at once although an earlier update was lost and is
// still waited for; and when one that was sent earlier arrives after a later one, the peer hears
// the truth again.
func TestPortUpdatesOvertaken(t *testing.T) {
	f := nictest.New(t, 2, 2, 1, func(_ int, c *nic.Config) {
		c.PortUpdates, c.Host.EndpointTimeout = true, 100*time.Millisecond
	})
	both(f, 8, 2)
	lose := true
	var late []byte // the first update that says that port 2 is up
	f.Drop = func(_ time.Duration, from int, p *packet.MRC, _ int) bool {
		return lose && from == 1 && p.Headers.Is(packet.ExtERTH)
	}
	f.Edit = func(from int, p *packet.MRC, frame []byte) []byte {
		if from == 1 && p.Headers.Is(packet.ExtERTH) && p.ERTH.Ports == 0b110 && late == nil {
			late = append(late, frame...)
			frame[len(frame)-1] ^= 1 // it does not arrive now
		}
		return frame
	}
	f.Pair(0, 1, 100)
	f.Wake(1)
	f.Run(f.Now()+time.Millisecond, nil)
	lose = false
	link := func(up bool) {
		t.Helper()
		if err := f.NICs[1].SetPort(2, up); err != nil {
			t.Fatal(err)
		}
		f.Wake(1)
	}
	knows := func(want packet.PortMask, when string) {
		t.Helper()
		if got := f.NICs[0].PeerPorts(nictest.Address(1)); got != want {
			t.Errorf("%s the peer knows ports %#x, want %#x", when, got, want)
		}
	}
	link(false)
	f.Run(f.Now()+time.Millisecond, nil)
	knows(0b010, "a millisecond after the link went down")
	link(true)
	link(false)
	f.Run(f.Now()+time.Millisecond, nil)
	knows(0b010, "after it went up and down")
	if late == nil {
		t.Fatal("no update says that the port is up")
	}
	mac := nictest.MAC(0, 1)
	copy(late, mac[:])
	f.NICs[0].Receive(f.Now(), 1, late)
	knows(0b110, "when the update that was overtaken arrives")
	f.Run(f.Now()+300*time.Millisecond, nil)
	knows(0b010, "in the end")
}
