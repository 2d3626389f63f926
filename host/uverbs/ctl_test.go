//go:build linux

package uverbs

import (
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/packet"
)

// TestControlledPorts: a port disabled by mrc_ctl is down, whatever its link, and programs get an
// event; without CAP_NET_ADMIN the server changes nothing.
func TestControlledPorts(t *testing.T) {
	p := newPair(t, nil)
	a := p.apps[0]
	p.grant(a, true)
	var d ctlDevice
	a.must(opCtlDevice, nil, &d)
	if d.Ports != 1<<1|1<<2 || d.Options&hostapi.OptEVProbe == 0 {
		t.Errorf("%+v", d)
	}
	up := func() (ports packet.PortMask) {
		_ = p.bed.do(func(time.Duration) { ports = p.bed.nics[0].Ports() })
		return ports
	}
	link := func(is bool) {
		_ = p.bed.do(func(time.Duration) { p.bed.doors[0].SetPort(2, is) })
	}
	both, one := packet.PortMask(0).With(1).With(2), packet.PortMask(0).With(1)
	a.must(opCtlModifyPort, &ctlPort{Port: 2, Mask: ctlPortState}, nil)
	if e := a.event(); e.Type != eventPortError || e.Port != 2 || up() != one {
		t.Errorf("%+v, ports %v", e, up())
	}
	var is ctlPort
	a.must(opCtlQueryPort, &object{2}, &is)
	var has port
	a.must(opQueryPort, &object{2}, &has)
	if is.State != 0 || has.State != portDown {
		t.Errorf("%+v, %+v", is, has)
	}
	link(false)
	link(true)
	if up() != one {
		t.Error("a link has enabled the port")
	}
	link(false)
	a.must(opCtlModifyPort, &ctlPort{Port: 2, Mask: ctlPortState, State: ctlPortUp}, nil)
	if up() != one {
		t.Error("a port without link is up")
	}
	link(true)
	if e := a.event(); e.Type != eventPortActive || e.Port != 2 || up() != both {
		t.Errorf("%+v, ports %v", e, up())
	}
	for _, bad := range []ctlPort{{Port: 0, Mask: ctlPortState}, {Port: 3, Mask: ctlPortState},
		{Port: 2, Mask: 2}, {Port: 2, Mask: ctlPortState, State: 2}} {
		a.refused(opCtlModifyPort, &bad, unix.EINVAL)
	}
	a.refused(opCtlQueryPort, &object{3}, unix.EINVAL)
	p.grant(a, false)
	a.refused(opCtlModifyPort, &ctlPort{Port: 2, Mask: ctlPortState}, unix.EPERM)
	if up() != both {
		t.Error("a process without the capability has changed a port")
	}
}

// grant gives the process of an app CAP_NET_ADMIN, or takes it.
func (p *pair) grant(a *app, may bool) {
	_ = p.bed.do(func(time.Duration) {
		for x := range p.bed.doors[0].processes {
			if x.last > 0 && x.pds[a.pd] != nil {
				x.mayControl = may
			}
		}
	})
}

// batch is a request for probes.
func (a *app) batch(op, dscp uint32, timeout time.Duration, probes ...endpointRequest) ([]byte,
	error) {
	a.t.Helper()
	body := encode(nil, &endpointHead{op, dscp, uint32(timeout), uint32(len(probes))})
	for i := range probes {
		body = encode(body, &probes[i])
	}
	var out []byte
	_, err := a.call(opCtlEndpoint, body, &out)
	return out, err
}

// TestProbes: each probe of a batch that reaches the peer gets an answer, with the program's id;
// the server waits for a lost probe until the timeout of the batch.
func TestProbes(t *testing.T) {
	p := newPair(t, nil)
	a := p.apps[0]
	p.grant(a, true)
	good := endpointRequest{ID: 700, Mode: ctlFormatSTEV, Source: addr(0).As16(),
		Dest: addr(1).As16(), Port: 2}
	good.EV[0] = 0xC0
	lost := good
	lost.ID, lost.Dest = 701, netip.MustParseAddr("2001:db8::77").As16()
	out, err := a.batch(ctlProbe, 5, 20*time.Millisecond, good, lost)
	var head endpointHead
	var got endpointAnswer
	if err != nil || len(out) != 32 || decode(out[:16], &head) != nil ||
		decode(out[16:], &got) != nil {
		t.Fatalf("%d octets, %v", len(out), err)
	}
	if head.Count != 1 || got.ID != 700 || got.Port != 2 || got.RTT == 0 {
		t.Errorf("%+v, %+v", head, got)
	}
	bad := good
	bad.Mode = 8
	for _, err := range []error{
		second(a.batch(ctlProbe, 64, time.Second, good)), second(a.batch(ctlProbe, 5, time.Second)),
		second(a.batch(ctlProbe, 5, time.Second, bad)),
	} {
		if err != unix.EINVAL {
			t.Errorf("%v", err)
		}
	}
	if err := second(a.batch(2, 5, time.Second, good)); err != unix.EINVAL {
		t.Errorf("%v", err)
	}
}

// TestPortStatus: a Port Status Update of a program reaches the peer, which does not send by a port
// that is not in it, and is answered.
func TestPortStatus(t *testing.T) {
	p := newPair(t, nil)
	a := p.apps[0]
	p.grant(a, true)
	r := endpointRequest{ID: 9, Mode: ctlFormatSTEV, Source: addr(0).As16(), Dest: addr(1).As16(),
		Port: 1, PortStatus: 1 << 1}
	out, err := a.batch(ctlPortStatus, 46, time.Second, r)
	var got endpointAnswer
	if err != nil || len(out) != 32 || decode(out[16:], &got) != nil || got.ID != 9 || got.Port != 1 {
		t.Fatalf("%d octets, %+v, %v", len(out), got, err)
	}
	var ports packet.PortMask
	_ = p.bed.do(func(time.Duration) { ports = p.bed.nics[1].PeerPorts(addr(0)) })
	if ports != 1<<1 {
		t.Errorf("the peer thinks of ports %#x", ports)
	}
	r.PortStatus = 1
	if err := second(a.batch(ctlPortStatus, 46, time.Second, r)); err != unix.EINVAL {
		t.Errorf("port 0: %v", err)
	}
}

func second(_ []byte, err error) error { return err }
