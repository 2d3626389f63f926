package mrc

import (
	"time"

	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/lab"
)

// traffic writes from all hosts to all other hosts until the writes complete.
type traffic struct {
	f    *bed
	mesh *lab.Mesh
	stop chan struct{}
	done chan struct{}
}

// traffic starts writes of so many octets each.
func (f *bed) traffic(octets int) *traffic {
	f.t.Helper()
	qp := nic.DefaultQPConfig()
	qp.PMTU = 1024
	cfg := lab.MeshConfig{Message: 16 * 1024, QP: qp}
	hosts := f.world.Network.Hosts
	for i := range hosts {
		for j := range hosts {
			if i != j {
				cfg.Flows = append(cfg.Flows, lab.FlowConfig{From: hosts[i].Name, To: hosts[j].Name,
					Bytes: octets})
			}
		}
	}
	x := &traffic{f: f, stop: make(chan struct{}), done: make(chan struct{})}
	var err error
	f.do(func() {
		if x.mesh, err = f.world.NewMesh(cfg); err == nil {
			err = x.mesh.Start()
		}
	})
	if err != nil {
		f.t.Fatal(err)
	}
	go x.pump()
	return x
}

// pump posts writes as others complete.
func (x *traffic) pump() {
	defer close(x.done)
	for tick := time.NewTicker(100 * time.Microsecond); ; {
		select {
		case <-tick.C:
		case <-x.stop:
			tick.Stop()
			return
		}
		x.f.do(func() {
			if err := x.mesh.Pump(); err != nil {
				x.f.t.Error(err)
			}
		})
	}
}

// finish lets the writes come to their end and checks them.
func (x *traffic) finish(limit time.Duration) {
	f := x.f
	f.t.Helper()
	f.until(limit, "all writes are done", func() (done bool) {
		f.do(func() { done = x.mesh.Done() })
		return done
	})
	close(x.stop)
	<-x.done
	f.do(func() {
		if n := x.mesh.Corrupt(); n > 0 {
			f.t.Errorf("%d writes are corrupt", n)
		}
		for _, flow := range x.mesh.Flows {
			if flow.QP.Failed() || flow.SinkQP.Failed() {
				f.t.Errorf("queue pair of %s to %s in error", flow.From, flow.To)
			}
		}
	})
}

// progress is how much of the writes is done, of 1.
func (x *traffic) progress() (p float64) {
	x.f.do(func() { p = x.mesh.Progress() })
	return p
}

// lost is how many packets were lost so far, on wires and in switches, whatever hosts made of that.
func (f *bed) lost() (n uint64) {
	f.t.Helper()
	f.do(func() {
		for _, w := range f.world.Wires() {
			n += w.Lost
		}
		for _, s := range f.world.Network.Switches {
			node, err := f.world.Switch(s.Name)
			if err != nil {
				f.t.Fatal(err)
			}
			for _, drops := range node.Drops() {
				n += drops
			}
		}
	})
	return n
}
