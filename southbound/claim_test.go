package southbound_test

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/p4"
	. "github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/test/speech"
)

// target is a switch with a P4Runtime server.
type target struct{ name, address string }

// embedded starts an embedded switch, which runs until the test ends.
func embedded(t *testing.T) (target, *live.Runner) {
	t.Helper()
	runner, err := live.Start(live.Config{Device: p4rt.Config{ID: 1,
		Switch: dataplane.Config{CPUPort: 510}}})
	if err != nil {
		t.Fatal(err)
	}
	server := p4rt.NewServer(p4rt.ServerConfig{})
	if err := server.Add(runner.Sessions(), runner); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		server.Close(ctx)
		if err := errors.Join(<-served, runner.Close()); err != nil {
			t.Error(err)
		}
	})
	return target{name: "embedded", address: l.Addr().String()}, runner
}

// targets returns the embedded switch and, where it is installed, BMv2.
func targets(t *testing.T) []target {
	t.Helper()
	first, _ := embedded(t)
	out := []target{first}
	bin, err := exec.LookPath("simple_switch_grpc")
	if err != nil {
		t.Log("simple_switch_grpc is not on the PATH: the embedded switch alone")
		return out
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	cmd := exec.CommandContext(t.Context(), bin, "--no-p4", "--device-id", "1", "--log-level", "off",
		"--thrift-port", "0",
		"--", "--grpc-server-addr", address, "--cpu-port", "510")
	speech.Of(t, cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return append(out, target{name: "bmv2", address: address})
}

// claimant is a session and what it said last.
type claimant struct {
	*Session
	t      *testing.T
	events chan Event
}

func claim(t *testing.T, at target, election ElectionID, c Claim) *claimant {
	t.Helper()
	return claimWith(t, at, election, c, func(c *Config) { c.Courtesy = 10 * time.Millisecond })
}

func claimWith(t *testing.T, at target, election ElectionID, c Claim,
	change func(*Config)) *claimant {
	t.Helper()
	pipeline, err := NewPipeline(p4.P4Info(), p4.JSON())
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Name, cfg.Target, cfg.DeviceID, cfg.Election, cfg.Claim, cfg.Pipeline, cfg.NoPortState = "n1",
		at.address, 1, election, c, pipeline, true
	cfg.Backoff.Initial, cfg.Backoff.Max = 5*time.Millisecond, 50*time.Millisecond
	change(&cfg)
	x := &claimant{t: t, events: make(chan Event, 1024)}
	x.Session, err = Open(t.Context(), cfg, func(_ context.Context, e Event) { x.events <- e })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.gone)
	return x
}

func (x *claimant) gone() {
	if err := x.Close(); err != nil {
		x.t.Error(err)
	}
}

// primary waits until the session may write.
func (x *claimant) primary() {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.t.Context(), 20*time.Second)
	defer cancel()
	if err := x.WaitReady(ctx); err != nil {
		x.t.Fatal(err)
	}
	if _, err := x.Write(ctx, nil); err != nil {
		x.t.Error(err)
	}
}

// backup waits until the session is a backup, and returns the last word on why.
func (x *claimant) backup() Backup {
	x.t.Helper()
	for timeout := time.After(20 * time.Second); ; {
		select {
		case e := <-x.events:
			if b, ok := e.(Backup); ok {
				return b
			}
		case <-timeout:
			x.t.Fatal("the session is no backup")
		}
	}
}

var (
	ours   = func(generation uint32) ElectionID { return NewElectionID(generation, 0x0a0a0a0a) }
	others = func(generation uint32) ElectionID { return NewElectionID(generation, 0x0b0b0b0b) }
	top    = ElectionID{High: 1<<64 - 1, Low: 1<<64 - 1}
)

// TestNeverByAccident: a later controller with a higher election id leaves the switch to the
// present primary, takes the switch when the primary has gone, and does not give the switch back.
func TestNeverByAccident(t *testing.T) {
	for _, at := range targets(t) {
		t.Run(at.name, func(t *testing.T) {
			first := claim(t, at, ours(1), ClaimVacant)
			first.primary()
			second := claim(t, at, others(9), ClaimVacant)
			b := second.backup()
			if !b.Waiting || b.Highest != ours(1) || !strings.Contains(b.String(), "--take-over") {
				t.Errorf("%+v: %s", b, b)
			}
			first.primary()
			first.gone()
			second.primary()
			again := claim(t, at, ours(2), ClaimVacant)
			if b := again.backup(); !b.Waiting || b.Highest != others(9) {
				t.Errorf("%+v", b)
			}
			second.primary()
		})
	}
}

// TestOwnersChange: while the owner of a switch changes, a stranger that waits leaves the switch
// alone; a stranger that does not is deposed by the next owner, once, and waits again.
func TestOwnersChange(t *testing.T) {
	for _, at := range targets(t) {
		for name, courtesy := range map[string]time.Duration{"polite": time.Hour, "greedy": 0} {
			t.Run(at.name+"/"+name, func(t *testing.T) {
				first := claim(t, at, ours(1), ClaimVacant)
				first.primary()
				stranger := claimWith(t, at, others(9), ClaimVacant,
					func(c *Config) { c.Courtesy = courtesy })
				if b := stranger.backup(); !b.Foreign || !errors.Is(b.Err(), ErrForeign) {
					t.Errorf("%+v: %v", b, b)
				}
				first.gone()
				if courtesy == 0 {
					stranger.primary()
				} else if b := stranger.backup(); !b.Vacant || b.Pause != courtesy {
					t.Errorf("%+v: %v", b, b)
				}
				var held []bool
				second := claimWith(t, at, ours(2), ClaimVacant, func(c *Config) {
					c.Held, c.Holds = true, func(is bool) { held = append(held, is) }
				})
				second.primary()
				if b := stranger.backup(); !b.Foreign || b.Pause != 0 {
					t.Errorf("%+v: %v", b, b)
				}
				second.primary()
				second.gone()
				if len(held) > 0 {
					t.Errorf("what was held is held: %v", held)
				}
			})
		}
	}
}

// TestOwnPast: a controller that starts again takes the switch from its own earlier generation,
// whose connection the switch still holds for open.
func TestOwnPast(t *testing.T) {
	for _, at := range targets(t) {
		t.Run(at.name, func(t *testing.T) {
			past := claim(t, at, ours(1), ClaimVacant)
			past.primary()
			claim(t, at, ours(2), ClaimVacant).primary()
			if b := past.backup(); !b.Waiting || b.Highest != ours(2) {
				t.Errorf("%+v", b)
			}
		})
	}
}

// TestTakeOver: on request a controller takes the switch from another controller, whatever the
// other's id, and the other controller gets the switch back when the new one has gone.
func TestTakeOver(t *testing.T) {
	for _, at := range targets(t) {
		for name, id := range map[string]ElectionID{"lower": others(1), "higher": others(1 << 31),
			"high": {High: 1 << 40, Low: 7}} {
			t.Run(at.name+"/"+name, func(t *testing.T) {
				other := claim(t, at, id, ClaimVacant)
				other.primary()
				taker := claim(t, at, ours(5), ClaimAnyway)
				taker.primary()
				other.backup()
				taker.gone()
				other.primary()
				other.gone()
			})
		}
	}
}

// TestLockedOut: an id at the top, of a client that has long gone, locks nobody out.
func TestLockedOut(t *testing.T) {
	for _, at := range targets(t) {
		t.Run(at.name, func(t *testing.T) {
			stray := claim(t, at, top, ClaimFixed)
			stray.primary()
			waiting := claim(t, at, ours(1), ClaimVacant)
			if b := waiting.backup(); !b.Waiting || b.Highest != top {
				t.Errorf("%+v", b)
			}
			stray.gone()
			waiting.primary()
			waiting.gone()
			later := claim(t, at, others(1), ClaimVacant)
			later.primary()
		})
	}
}

// TestForgetElections: a switch that forgets the ids of an election, as its operator asks, is the
// controller's again by the controller's own id, both where a client that holds the highest id is
// still connected, and where the controller had to take that id itself.
func TestForgetElections(t *testing.T) {
	for name, connected := range map[string]bool{"client connected": true, "client gone": false} {
		t.Run(name, func(t *testing.T) {
			at, runner := embedded(t)
			stray := claim(t, at, top, ClaimFixed)
			stray.primary()
			ctl := claim(t, at, ours(3), ClaimVacant)
			ctl.backup()
			if !connected {
				stray.gone()
				ctl.primary()
			}
			if err := runner.Do(t.Context(),
				func(time.Duration) { runner.Sessions().ForgetElections() }); err != nil {
				t.Fatal(err)
			}
			if connected {
				stray.backup()
			} else {
				ctl.backup()
			}
			ctl.primary()
			next := claim(t, at, others(1), ClaimVacant)
			if b := next.backup(); b.Highest != ours(3) {
				t.Errorf("the highest id is %v, want %v, the controller's own", b.Highest, ours(3))
			}
			ctl.primary()
		})
	}
}
