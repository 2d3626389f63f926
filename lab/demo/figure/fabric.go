package figure

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet"
)

// A fabric is a Clos of hosts of MRC that have their profiles.
type fabric struct {
	*sight
	world   *lab.World
	control *lab.Control
}

// small is a plane of two T0s and two T1s, with a host at each T0.
var small = lab.ClosConfig{Planes: 1, T0: 2, T1: 2, Hosts: 2}

func newFabric(s *sight, c lab.ClosConfig, mode ev.Mode) (*fabric, error) {
	c.Rate, c.Delay = 1e9, 2*time.Microsecond
	w, err := lab.NewWorld(lab.Clos(c), lab.Options{Seed: 1, Managed: true, Cache: programs})
	if err != nil {
		return nil, err
	}
	f := &fabric{sight: s, world: w}
	if f.control, err = lab.NewControl(w, lab.DefaultLatencies()); err != nil {
		return nil, err
	}
	f.control.MRC = lab.MRCSettings(&w.Network, mode)
	if err := f.control.Start(); err != nil {
		return nil, err
	}
	if !w.Run(patience, w.Supplied) || f.control.Err() != nil {
		return nil, errors.Join(errors.New("hosts have no profiles"), f.control.Err())
	}
	w.Run(w.Now()+50*time.Millisecond, nil) // switches have their entries
	return f, f.control.Err()
}

// until lets time pass until something is so; every, if not nil, is called before each event.
func (f *fabric) until(ctx context.Context, what string, is func() bool, every func()) error {
	if !f.world.Run(f.world.Now()+patience, func() bool {
		if every != nil {
			every()
		}
		return ctx.Err() != nil || is()
	}) {
		return fmt.Errorf("after %v not: %s", patience, what)
	}
	return errors.Join(ctx.Err(), f.control.Err())
}

// transfer has the flows of a mesh write. Wrong octets are an error.
func (f *fabric) transfer(ctx context.Context, m *lab.Mesh, every func()) error {
	if err := m.Start(); err != nil {
		return err
	}
	var failed error
	err := f.until(ctx, "the transfer is over", func() bool {
		failed = m.Pump()
		return failed != nil || m.Done()
	}, every)
	if err = errors.Join(failed, err); err != nil {
		return err
	}
	wrong := 0
	for _, flow := range m.Flows {
		wrong += m.Wrong(flow)
	}
	if wrong > 0 {
		return fmt.Errorf("%d octets are not what was written", wrong)
	}
	return nil
}

// profile returns the EVs by which a host reaches another: as a sender needs them, and as they lie
// in packets.
func (f *fabric) profile(from, to string) (made spray.Profile, wire []ev.Value, err error) {
	p, err := f.serving(from, to)
	if err != nil {
		return made, nil, err
	}
	node, err := f.world.MRCHost(from)
	if err != nil {
		return made, nil, err
	}
	made, evs, err := spray.Received(p, hostapi.PortMask(node.Ports()))
	if err != nil {
		return made, nil, err
	}
	for _, v := range evs {
		x, err := p.Expand(v)
		if err != nil {
			return made, nil, err
		}
		wire = append(wire, x.Value)
	}
	return made, wire, nil
}

// serving returns the profile of a host for another.
func (f *fabric) serving(from, to string) (*hostapi.Profile, error) {
	node, err := f.world.MRCHost(from)
	if err != nil {
		return nil, err
	}
	address := f.address(to)
	for _, p := range node.State().Profiles {
		for _, d := range p.Destinations {
			if d.Contains(address) {
				return p, nil
			}
		}
	}
	return nil, fmt.Errorf("%s has no profile for %s", from, to)
}

func (f *fabric) address(host string) netip.Addr {
	for _, h := range f.world.Network.Hosts {
		if h.Name == host {
			return h.Address
		}
	}
	return netip.Addr{}
}

// mrcPacket reads a frame of MRC.
func mrcPacket(frame []byte) (packet.MRC, bool) {
	p, _, err := packet.ParseMRC(frame, packet.DefaultMRCSettings())
	return p, err == nil
}

// isData reports whether a packet is a WRITE.
func isData(p *packet.MRC) bool { return p.Headers.Is(packet.ExtMETH) }

// A tap calls its functions for frames.
type tap struct {
	sent, arrived func(now time.Duration, w *lab.Wire, frame []byte)
}

// Sent implements lab.Tap.
func (t tap) Sent(now time.Duration, w *lab.Wire, frame []byte) {
	if t.sent != nil {
		t.sent(now, w, frame)
	}
}

// Arrived implements lab.Tap.
func (t tap) Arrived(now time.Duration, w *lab.Wire, frame []byte) {
	if t.arrived != nil {
		t.arrived(now, w, frame)
	}
}
