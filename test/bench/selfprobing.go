package main

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/packet"
)

// The bench sends self-probes for selfProbeTime of virtual time over selfProbePorts ports.
const (
	selfProbeTime  = 20 * time.Second
	selfProbePorts = 4
	selfProbeTrip  = 20 * time.Microsecond
	selfTargets    = 64
)

// selfCounter is a nic.Reporter that keeps the last counts of each target.
type selfCounter map[int]hostapi.SelfProbeCount

// EVEvent and PortStatus do nothing.
func (selfCounter) EVEvent(hostapi.EVEvent)     {}
func (selfCounter) PortStatus(hostapi.PortMask) {}

// SelfProbeCounts keeps counts.
func (s selfCounter) SelfProbeCounts(c *hostapi.SelfProbeCounts) {
	for _, n := range c.Counts {
		s[n.Target] = n
	}
}

// selfProbing measures the share of a processor for probes from a host to itself: making each
// frame, reading the returned frame and reporting counts, without system calls for interfaces.
func selfProbing(ctx context.Context, out *report) error {
	for _, rate := range []int{200, 16_000, 100_000} {
		out.tell("agent: %d probes a second", rate)
		if err := selfProbesAt(ctx, out, rate); err != nil {
			return err
		}
	}
	return nil
}

// back is a frame under way.
type back struct {
	at    time.Duration
	port  int
	frame []byte
}

func selfProbesAt(ctx context.Context, out *report, rate int) error {
	cfg := nic.DefaultConfig()
	cfg.Host.Addr = netip.MustParseAddr("2001:db8::1")
	for p := range selfProbePorts {
		cfg.Host.Ports = append(cfg.Host.Ports, mrc.Port{MAC: packet.MAC{2, 5: byte(p + 1)},
			Gateway: packet.MAC{2, 0xff}, LineRate: 100e9})
	}
	var under []back
	cfg.Host.Output = func(now time.Duration, port int, frame []byte) {
		// The leaf takes the outer header off, and has the host's Ethernet address.
		b := append(append([]byte{2, 0, 0, 0, 0, byte(port)}, frame[6:14]...), frame[14+40:]...)
		under = append(under, back{now + selfProbeTrip, port, b})
	}
	n, err := nic.New(cfg)
	if err != nil {
		return err
	}
	counts := make(selfCounter)
	n.Report(counts)
	plan := &hostapi.SelfProbes{Version: hostapi.Version{Epoch: 1, Number: 1},
		Interval: time.Second / time.Duration(rate), Timeout: 2 * time.Millisecond, DeadAfter: 3,
		Report: 100 * time.Millisecond}
	for i := range selfTargets {
		v := hostapi.EV{Port: uint8(i%selfProbePorts + 1)}
		copy(v.Value[:], []byte{0xfc, 0xbb, 0xbb, 0xbb, 0xe0, byte(i), 0xe0, 1, 0xf0, 1})
		plan.Targets = append(plan.Targets, v)
	}
	began := processorTime()
	n.SelfProbe(0, plan)
	for now := time.Duration(0); now < selfProbeTime; {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		next, pending := n.Advance(now)
		if !pending {
			return fmt.Errorf("agent: nothing is due at %v", now)
		}
		if len(under) > 0 && under[0].at <= max(next, now) {
			now = max(now, under[0].at)
			n.Receive(now, under[0].port, under[0].frame)
			under = under[1:]
			continue
		}
		now = max(now, next)
	}
	took := processorTime() - began
	passed, other := uint64(0), uint64(0)
	for _, c := range counts {
		passed, other = passed+c.Passed, other+c.Lost+c.SetAside
	}
	if want := uint64(selfProbeTime.Seconds()*float64(rate)) * 9 / 10; passed < want || other > 0 {
		return fmt.Errorf("agent: %d probes came back and %d did not, want %d", passed, other, want)
	}
	return out.print(figure{"agent/probes", "share of a processor",
		took.Seconds() / selfProbeTime.Seconds(), []field{{"rate", rate}, {"targets", selfTargets},
			{"nanoseconds", float64(took.Nanoseconds()) / float64(passed)}}})
}
