package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	"github.com/weft-sdn/weft/dataplane/gnmi"
	"github.com/weft-sdn/weft/dataplane/p4rt"
)

// A switchServer is what controllers of a live network reach a switch by: P4Runtime and, at the
// same port, gNMI.
type switchServer struct {
	p4runtime *p4rt.Server
	gnmi      *gnmi.Server
}

func (s *switchServer) close(ctx context.Context) {
	s.gnmi.Close()
	s.p4runtime.Close(ctx)
}

// serve starts the server of a switch.
func (l *Live) serve(name string) (address string, err error) {
	node := l.World.switches[name]
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	exec := executor{clock: l.Clock, node: node}
	s := &switchServer{p4runtime: p4rt.NewServer(p4rt.ServerConfig{}), gnmi: gnmi.NewServer()}
	s.gnmi.Register(s.p4runtime, shownPorts{exec})
	var sessions *p4rt.Sessions
	err = l.Clock.Do(context.Background(), func(time.Duration) {
		sessions, node.PortChanged = p4rt.NewSessions(node.Device()), s.gnmi.PortChanged
	})
	if err == nil {
		err = s.p4runtime.Add(sessions, exec)
	}
	if err != nil {
		return "", errors.Join(err, listener.Close())
	}
	l.servers[name] = s
	l.serving.Go(func() error { return s.p4runtime.Serve(listener) })
	return listener.Addr().String(), nil
}

// shownPorts are the ports of a switch as its gNMI server shows them: port 3 is the interface eth3.
type shownPorts struct{ executor }

// Ports implements gnmi.Source.
func (s shownPorts) Ports(ctx context.Context) (out []gnmi.Port, err error) {
	err = s.clock.Do(ctx, func(time.Duration) {
		counters := map[uint32]*gnmi.Counters{}
		at := func(port uint32) *gnmi.Counters {
			if counters[port] == nil {
				counters[port] = &gnmi.Counters{}
			}
			return counters[port]
		}
		for _, w := range s.node.world.wires {
			if w.From == s.node.Switch.Name {
				c := at(w.FromPort)
				c.OutPackets, c.OutOctets = w.Sent, w.SentOctets
			}
			if w.To == s.node.Switch.Name {
				c := at(w.ToPort)
				c.InPackets, c.InOctets = w.Arrived, w.ArrivedOctets
			}
		}
		for _, n := range slices.Sorted(maps.Keys(counters)) {
			out = append(out, gnmi.Port{Name: fmt.Sprintf("eth%d", n), Number: n, Up: s.node.device.Switch().PortUp(n), Counters: counters[n]})
		}
	})
	return out, err
}
