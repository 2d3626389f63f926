package mrc

import (
	"cmp"
	"context"
	"errors"

	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/demo/flow"
)

const incastPhase = "incast"

// incastPart of what a host gets in the all-to-all from all others, it gets in the incast.
const incastPart = 0.5

// run plays the demo on a running network and returns what was counted. The result is nil only if
// no phase began.
func (d *demo) run(ctx context.Context, on flow.Stage) (*Result, error) {
	d.stage = on
	var setbacks []*setback
	err := d.stage.Do(ctx, func(w *lab.World) (err error) {
		d.rtt, d.hosts = w.Network.RoundTrip(), w.Network.MRCHosts()
		d.qp = flow.QueuePairs(&w.Network)
		setbacks, err = d.setbacks(&w.Network)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = d.play(ctx, setbacks)
	if len(d.phases) == 0 {
		return nil, err
	}
	d.sum()
	d.print()
	return &d.result, errors.Join(err, d.result.check())
}

// play is the phases.
func (d *demo) play(ctx context.Context, setbacks []*setback) error {
	all := lab.MeshConfig{Flows: lab.AllToAll(d.hosts, d.Bytes)}
	with, err := d.spreadOf(ctx, "all-to-all", all)
	if err != nil {
		return err
	}
	single := all
	single.Profile = oneEntropy
	one, err := d.spreadOf(ctx, "one entropy each", single)
	if err != nil {
		return err
	}
	d.spread = stages(with.Jain(), one.Jain(), with.Fewest())

	bytes := int(incastPart*float64(d.Bytes))/lab.MRCMTU*lab.MRCMTU + lab.MRCMTU
	if err := d.traffic(ctx, incastPhase, lab.MeshConfig{Flows: incast(d.hosts, bytes)},
		nil); err != nil {
		return err
	}
	d.phases[len(d.phases)-1].capacity = d.ports(1)

	if d.losses = setbacks; len(setbacks) == 0 {
		return nil
	}
	// Windows are full all the time, until everything has failed.
	window := int(2*d.ports(1)*d.rtt.Seconds())/lab.MRCMTU*lab.MRCMTU + lab.MRCMTU
	endless := lab.MeshConfig{Flows: lab.AllToAll(d.hosts, window), Message: window, Repeat: true}
	err = d.traffic(ctx, "all-to-all, losses", endless, func(m *lab.Mesh) error {
		return d.fail(ctx, m)
	})
	p := d.phases[len(d.phases)-1]
	p.capacity = d.allToAllCapacity()
	return cmp.Or(err, d.review(context.WithoutCancel(ctx), p))
}

// spreadOf runs traffic, and returns the shares of the uplinks.
func (d *demo) spreadOf(ctx context.Context, name string, cfg lab.MeshConfig) (spread *lab.Spread,
	err error) {
	err = d.stage.Do(ctx, func(w *lab.World) error {
		spread = w.NewSpread()
		w.AddTap(spread)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = d.traffic(ctx, name, cfg, nil)
	d.phases[len(d.phases)-1].capacity = d.allToAllCapacity()
	return spread, cmp.Or(err, d.stage.Do(ctx, func(w *lab.World) error {
		w.RemoveTap(spread)
		return nil
	}))
}
