package pfc

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/client"
	"github.com/weft-sdn/weft/lab"
)

// The traffic of a lab runs in real time, so it is slower than the demo's.
const (
	rateA     = 40_000_000 // bit/s
	rateB     = 30_000_000
	labBuffer = 16 << 20
	// 200 ms of what a sends; the rest is headroom for round trips of a busy machine
	labXOFF    = 1 << 20
	labPause   = 500 * time.Millisecond
	labRound   = 5 * time.Second
	labPayload = 4096
)

// hosts are the hosts of lab.PFCNetwork.
var hosts = []string{"DC1", "DC2", "B1", "B2"}

// Suits reports whether Traffic can run on a network: it needs the hosts of lab.PFCNetwork.
func Suits(n *lab.Network) bool {
	for _, name := range hosts {
		if !slices.ContainsFunc(n.Hosts, func(h lab.Host) bool { return h.Name == name }) {
			return false
		}
	}
	return true
}

// Traffic makes two tenants, of which a is lossless, on a running lab.PFCNetwork. Both send until
// ctx ends, and DC2 pauses tenant a in every round. It says after each round what was lost, and
// fails when octets of a are not what was sent.
func Traffic(ctx context.Context, l *lab.Live, out io.Writer) error {
	if err := create(ctx, l); err != nil {
		return err
	}
	var a, b *lab.Stream
	err := l.Do(ctx, func(w *lab.World) (err error) {
		if a, err = w.NewStream(lab.StreamConfig{From: "DC1", To: "DC2", QPN: 0x100, Payload: labPayload,
			Rate: rateA, Priority: priorityA}); err != nil {
			return err
		}
		if b, err = w.NewStream(lab.StreamConfig{From: "B1", To: "B2", QPN: 0x200, Payload: labPayload,
			Rate: rateB, Priority: priorityB}); err != nil {
			return err
		}
		a.Start()
		b.Start()
		return nil
	})
	for err == nil {
		var pausedUntil time.Duration
		if err = l.Do(ctx, func(w *lab.World) error {
			pausedUntil = w.Now() + labPause
			pauseTenant(w, pausedUntil)
			return nil
		}); err != nil {
			break
		}
		if err = l.Until(ctx, "the round ends", func(w *lab.World) (bool, error) {
			return w.Now() >= pausedUntil+labRound-labPause, nil
		}); err != nil {
			break
		}
		err = l.Do(ctx, func(*lab.World) error {
			fmt.Fprintf(out, "DC2 paused tenant a for %v: a sent %d packets, %d on their way or lost; b "+
				"sent %d, %d on their way or lost\n", labPause, a.Sent, a.Lost(), b.Sent, b.Lost())
			if a.Corrupt+b.Corrupt > 0 {
				return fmt.Errorf("pfc: %d packets are not what was sent", a.Corrupt+b.Corrupt)
			}
			return nil
		})
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// create makes the resources by the API, and waits until they are programmed.
func create(ctx context.Context, l *lab.Live) error {
	var i intents
	if err := l.Do(ctx, func(w *lab.World) error {
		i = Story{}.withDefaults().intents(&w.Network, labBuffer)
		i.lossless.XOFF = labXOFF
		return nil
	}); err != nil {
		return err
	}
	rest, err := client.New(client.Config{Server: l.URL()})
	if err != nil {
		return err
	}
	defer rest.Close()
	if _, err := rest.SRv6Policies().Put(ctx, policyName, i.policy, client.Write{}); err != nil {
		return err
	}
	for _, t := range i.tenants {
		if _, err := rest.Tenants().Put(ctx, t.name, t.spec, client.Write{}); err != nil {
			return err
		}
	}
	if _, err := rest.PFCPolicies().Put(ctx, losslessName, i.lossless, client.Write{}); err != nil {
		return err
	}
	return l.Wait(ctx, "the PFC policy is programmed", func() (bool, error) {
		made, err := rest.PFCPolicies().Get(ctx, losslessName)
		return err == nil && made.Status.Conditions.Is(api.Programmed), err
	})
}
