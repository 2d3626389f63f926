package mrc

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/weft-sdn/weft/lab"
)

// trafficRound is how long the hosts of Traffic write until what they wrote is looked at.
const trafficRound = 5 * time.Second

// Traffic makes every MRC host write to every other, round after round, until ctx ends, and says
// what came of each round. It fails when an octet is wrong or a queue pair in error.
func Traffic(ctx context.Context, l *lab.Live, out io.Writer) error {
	d := &demo{stage: l}
	var rate uint64
	if err := d.stage.Do(ctx, func(w *lab.World) error {
		n := &w.Network
		d.rtt, d.hosts = n.RoundTrip(), n.MRCHosts()
		d.ack, d.probe = n.Timers()
		rate = n.Congestion(d.hosts[0]).Rate
		return nil
	}); err != nil {
		return err
	}
	const most = 4 << 20
	bytes := int(min(most, max(lab.MRCMTU, float64(rate)/8*trafficRound.Seconds()/float64(max(1, len(d.hosts)-1)))))
	for {
		err := d.traffic(ctx, "this round", lab.MeshConfig{Flows: lab.AllToAll(d.hosts, bytes)}, nil)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		p := d.phases[0]
		d.phases = nil
		fmt.Fprintf(out, "all-to-all: %d MiB in %.1f s, %.0f Mb/s; %d packets marked, %d trimmed, %d sent again\n", p.octets>>20, p.took.Seconds(),
			p.goodput()*8/1e6, p.classes.Marked, p.classes.Trimmed, p.qp.RequestsResent)
		if p.corrupt > 0 || p.failed > 0 {
			return fmt.Errorf("demo: %d octets are not what was written, %d queue pairs are in error", p.corrupt, p.failed)
		}
	}
}
