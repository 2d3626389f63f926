// Package flow is the common part of demos of MRC hosts: queue pairs that write, and their rates at
// any time.
package flow

import (
	"context"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/lab"
)

// A Stage is a network that runs, in real time ([lab.Live]) or in virtual time.
type Stage interface {
	// Do runs f on the world's goroutine.
	Do(ctx context.Context, f func(w *lab.World) error) error
	// Until lets the network run until done, which is asked on the world's goroutine every now and
	// then, reports true or fails.
	Until(ctx context.Context, what string, done func(w *lab.World) (bool, error)) error
	// Lose makes a link, port or node fail. Switches that notice withdraw the lost links, as routers
	// do.
	Lose(ctx context.Context, l lab.Loss) error
}

// QueuePairs returns the settings of queue pairs on a network: those of the hosts' own but for the
// timers.
func QueuePairs(n *lab.Network) mrc.QPConfig {
	qp := nic.DefaultQPConfig()
	qp.AckTimeout, qp.ProbeTimeout = n.Timers()
	return qp
}

// Until lets meshes continue until something is so. It is an error that nothing arrives for very
// long.
func Until(
	ctx context.Context, on Stage, what string, done func() bool, meshes ...*lab.Mesh,
) error {
	stalls := make([]lab.Stall, len(meshes))
	return on.Until(ctx, what, func(*lab.World) (bool, error) {
		for _, m := range meshes {
			if err := m.Pump(); err != nil {
				return false, err
			}
		}
		if done() {
			return true, nil
		}
		for i, m := range meshes {
			if err := stalls[i].Look(m); err != nil {
				return false, err
			}
		}
		return false, nil
	})
}

// Corrupt returns the number of wrong octets in the memory of receivers. It counts flows that have
// written their whole memory once, since missing octets would count otherwise.
func Corrupt(m *lab.Mesh) (octets int) {
	for _, f := range m.Flows {
		if f.Acknowledged() >= f.Bytes {
			octets += m.Wrong(f)
		}
	}
	return octets
}
