package flows

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/lab"
)

// slow has links slow enough to simulate seconds.
var slow = links{20e6, 500 * time.Microsecond}

// A loop is a fabric with its controller. The controller programs the switches, gives the hosts
// entropy values, and receives the hosts' reports.
type loop struct {
	*lab.World
	control *lab.Control
	rng     *rand.Rand
	// named is what was ever suspected, with the time of the first.
	named map[string]time.Duration
}

// modes are how hosts that know their paths say them.
var modes = []ev.Mode{ev.ModeStructured, ev.ModeF3216, ev.ModeF1616, ev.ModeSRH,
	ev.ModeUSIDStructured}

// newLoop starts a fabric and its controller, and waits until every host knows its paths.
func newLoop(c lab.ClosConfig, mode ev.Mode, l links, seed uint64) (*loop, error) {
	w, control, err := start(c, mode, l, true, seed, func(m *inventory.MRC, n *lab.Network) {
		m.Classes = n.Classes()
	})
	if err != nil {
		return nil, err
	}
	return &loop{World: w, control: control, rng: rand.New(rand.NewPCG(seed, 3)),
		named: map[string]time.Duration{}}, nil
}

// watch notes what is suspected.
func (x *loop) watch() {
	for _, s := range x.control.Paths.Core().Suspects() {
		if name := x.nameOf(s); x.named[name] == 0 {
			x.named[name] = x.Now()
		}
	}
}

// nameOf names a suspect as wires are named, From-To.
func (x *loop) nameOf(s api.Suspect) string {
	if len(s.Links) != 1 || s.From == "" {
		return fmt.Sprint(s.Links)
	}
	names := map[string]string{}
	for _, n := range x.Network.Switches {
		names[string(lab.NodeID(n))] = n.Name
	}
	return names[string(s.From)] + "-" + names[string(s.To)]
}

// run lets flows go on for so long, or until enough, if not nil, says so, and watches.
func (x *loop) run(m *lab.Mesh, d time.Duration, enough func() bool) error {
	var failed error
	next, over := x.Now(), false
	x.Run(x.Now()+d, func() bool {
		failed = m.Pump()
		if x.Now() >= next {
			next += 100 * time.Millisecond
			x.watch()
			over = enough != nil && enough()
		}
		return failed != nil || over || x.control.Err() != nil
	})
	if failed == nil {
		failed = x.control.Err()
	}
	return failed
}

// pairs has every host write to some others, drawn by the seed.
func (x *loop) pairs(peers, octets int) (flows []lab.FlowConfig) {
	hosts := x.Network.Hosts
	for i, from := range hosts {
		for _, j := range x.rng.Perm(len(hosts) - 1)[:peers] {
			flows = append(flows, lab.FlowConfig{From: from.Name, To: hosts[(i+1+j)%len(hosts)].Name,
				Bytes: octets})
		}
	}
	return flows
}

// between are the wires between switches.
func (x *loop) between() (out []*lab.Wire) {
	for _, w := range x.Wires() {
		if _, err := x.Switch(w.From); err != nil {
			continue
		}
		if _, err := x.Switch(w.To); err == nil {
			out = append(out, w)
		}
	}
	return out
}
