package mrc

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/demo/flow"
)

const (
	// trafficRound is the time between two lines of Traffic, of the network's time.
	trafficRound = 5 * time.Second
	// leastWindow and mostWindow bound the octets in a WRITE from Traffic, and so the memory for a
	// WRITE: those for each of two hosts.
	leastWindow, mostWindow = 64 << 10, 128 << 10
)

// Traffic makes every MRC host write to every other, always the same octets to the same memory,
// until ctx ends, and says every few seconds what came of it. A queue pair ends with an error or
// with the death of a host, and a new queue pair begins when both hosts live. Traffic fails when an
// octet is wrong.
func Traffic(ctx context.Context, l *lab.Live, out io.Writer) error {
	return write(ctx, l, out, trafficRound)
}

// write is Traffic with a line every round of the network's time.
func write(ctx context.Context, l *lab.Live, out io.Writer, round time.Duration) error {
	var t traffic
	if err := l.Do(ctx, func(w *lab.World) error { return t.begin(w) }); err != nil {
		return err
	}
	for {
		if err := l.Until(ctx, "hosts write", func(w *lab.World) (bool, error) {
			return w.Now() >= t.last.at+round, t.mesh.Pump()
		}); err != nil {
			return err
		}
		var line string
		if err := l.Do(ctx, func(w *lab.World) (err error) {
			line, err = t.look(w)
			return err
		}); err != nil {
			return err
		}
		fmt.Fprintln(out, line)
	}
}

// traffic is the load that the hosts of Traffic send.
type traffic struct {
	mesh *lab.Mesh
	last reading
}

// begin starts the flows.
func (t *traffic) begin(w *lab.World) error {
	hosts := w.Network.MRCHosts()
	// Twice the bandwidth-delay product, so a host that writes to a single peer can fill its links.
	c := w.Network.Congestion(hosts[0])
	window := int(2 * float64(c.Rate) / 8 * c.RTT.Seconds())
	window = max(leastWindow, min(mostWindow, window/lab.MRCMTU*lab.MRCMTU))
	var err error
	if t.mesh, err = w.NewMesh(lab.MeshConfig{
		Flows: lab.AllToAll(hosts, window), Message: window, Repeat: true, Renew: true,
		QP: flow.QueuePairs(&w.Network),
	}); err != nil {
		return err
	}
	t.last = read(w, t.mesh)
	return t.mesh.Start()
}

// look returns a line about the time since the last one, and renews flows.
func (t *traffic) look(w *lab.World) (string, error) {
	now := read(w, t.mesh)
	octets, took := now.octets-t.last.octets, (now.at - t.last.at).Seconds()
	classes := now.classes.Minus(t.last.classes)
	line := fmt.Sprintf("all-to-all: %d MiB in %.1f s, %.0f Mb/s; %d packets marked, %d trimmed, %d "+
		"sent again", octets>>20, took,
		float64(octets)*8/1e6/took, classes.Marked, classes.Trimmed,
		now.qp.RequestsResent-t.last.qp.RequestsResent)
	ended, corrupt := 0, 0
	for _, f := range t.mesh.Flows {
		if f.Err != nil {
			ended++
		} else if f.Acknowledged() >= f.Bytes { // else what is missing would count
			corrupt += t.mesh.Wrong(f)
		}
	}
	if corrupt > 0 {
		return "", fmt.Errorf("demo: %d octets are not what was written", corrupt)
	}
	renewed, err := t.mesh.Renew()
	if ended > 0 {
		line += fmt.Sprintf("; %d queue pairs have ended, %d of them made anew", ended, renewed)
	}
	t.last = read(w, t.mesh) // new queue pairs have counted nothing
	return line, err
}

// A reading is what was counted until a time of the world.
type reading struct {
	at      time.Duration
	octets  int
	qp      mrc.QPCounters
	classes lab.ClassCounts
}

func read(w *lab.World, m *lab.Mesh) reading {
	r := reading{at: w.Now(), classes: w.Classes()}
	for _, f := range m.Flows {
		r.octets += f.Acknowledged()
		r.qp.RequestsResent += f.QP.Counters().RequestsResent
	}
	return r
}
