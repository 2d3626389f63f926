package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net"
	"net/netip"
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

// serve starts the server of a switch, at its former address if the switch ran before.
func (l *Live) serve(name string) (address string, err error) {
	node := l.World.switches[name]
	i := slices.IndexFunc(l.World.Network.Switches, func(s Switch) bool { return s.Name == name })
	ports := l.ports[name]
	if s := l.World.Network.Switches[i]; s.IsKernel() {
		at := netip.AddrPortFrom(l.sessionAddress(i), ports.server)
		if address, err = l.serveKernel(s, at); err == nil {
			ports.server = netip.MustParseAddrPort(address).Port()
			l.ports[name] = ports
		}
		return address, err
	}
	listener, err := net.Listen("tcp", netip.AddrPortFrom(l.sessionAddress(i), ports.server).String())
	if err != nil {
		return "", err
	}
	exec := executor{clock: l.Clock, node: node}
	s := &switchServer{p4runtime: p4rt.NewServer(p4rt.ServerConfig{}),
		gnmi: gnmi.NewServer(gnmi.System{Hostname: name, DeviceID: deviceID})}
	s.gnmi.Register(s.p4runtime, shownPorts{exec, l})
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
	ports.server = netip.MustParseAddrPort(listener.Addr().String()).Port()
	l.ports[name] = ports
	l.serving.Go(func() error { return s.p4runtime.Serve(listener) })
	return listener.Addr().String(), nil
}

// shownPorts gives a switch's gNMI server the ports to show and to configure: port 3 is the
// interface eth3.
type shownPorts struct {
	executor
	live *Live
}

// Ports implements gnmi.Source.
func (s shownPorts) Ports(ctx context.Context, parts gnmi.Parts) (out []gnmi.Port, err error) {
	err = s.clock.Do(ctx, func(time.Duration) {
		n := s.node
		sw := n.device.Switch()
		for _, port := range slices.Sorted(maps.Keys(n.ports)) {
			there := n.ports[port]
			here := n.world.back(there)
			p := gnmi.Port{Name: fmt.Sprintf("eth%d", port), Number: port, Up: sw.PortUp(port),
				MAC: n.Switch.MAC[:], MTU: uint16(min(sw.Config().MTU, math.MaxUint16)), Speed: there.Rate,
				AutoNegotiate: gnmi.No,
				Counters: &gnmi.Counters{InPackets: here.Arrived, InOctets: here.ArrivedOctets,
					OutPackets: there.Sent, OutOctets: there.SentOctets},
			}
			if set := n.set[port]; set != nil {
				p.MTU = cmp.Or(set.MTU, p.MTU)
				p.Counters.InErrors, p.Counters.OutErrors = set.tooLongIn, set.tooLongOut
			}
			out = append(out, p)
		}
		gnmi.Measure(sw, out, parts)
	})
	return out, err
}

// Configure implements gnmi.Source. When a link goes down or up, its switches withdraw or advertise
// it, as routers do.
func (s shownPorts) Configure(ctx context.Context, changes []gnmi.Change) error {
	return s.live.change(ctx, func(*World) ([]string, error) {
		witnesses, err := s.node.configure(changes)
		if err != nil {
			return nil, err
		}
		s.node.Wake()
		return witnesses, nil
	})
}
