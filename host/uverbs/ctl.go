//go:build linux

package uverbs

import (
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/packet"
)

// Operations of mrc_ctl.
const (
	opCtlDevice operation = iota + 64
	opCtlQueryPort
	opCtlModifyPort
	opCtlModifyFormat
	opCtlQueryFormat
	opCtlModifyEVs
	opCtlQueryEVs
	opCtlModifyCC
	opCtlQueryCC
	opCtlEndpoint
)

type (
	ctlDevice struct {
		Protocol                                                                  uint32
		MaxFormats, MaxProfiles, MaxCount, FreeCount, MaxCountProfile, CountAlign uint32
		MaxWidth, Formats, Modes, MaxEntries, MaxCC, Ports, Options               uint32
	}

	ctlPort struct{ Port, Mask, State uint32 }

	endpointHead struct{ Op, DSCP, Timeout, Count uint32 }

	endpointRequest struct {
		ID, Mode         uint32
		Source, Dest     [16]byte
		EV               [hostapi.EVBytes]byte
		Port, PortStatus uint32
	}

	endpointAnswer struct{ ID, Port, RTT, Adjusted uint32 }
)

// Numbers of mrc_ctl.h.
const (
	ctlPortState  = 1 << 0
	ctlPortUp     = 1
	ctlProbe      = 0
	ctlPortStatus = 1
	ctlFormatSTEV = 1 << 0
	ctlFormatSRv6 = 1 << 1
	ctlFormatUDP  = 1 << 2
	ctlVersion1   = 1
	maxDSCP       = 63
)

// control carries out a request of mrc_ctl.
func (p *process) control(now time.Duration, op operation, body []byte) reply {
	if !p.mayControl {
		return refuse(unix.EPERM)
	}
	switch op {
	case opCtlDevice:
		return p.ctlDevice(body)
	case opCtlQueryPort:
		return with(body, p.ctlQueryPort)
	case opCtlModifyPort:
		return with(body, p.ctlModifyPort)
	case opCtlEndpoint:
		return p.probe(now, body)
	}
	return p.controlProfiles(op, body)
}

// controlProfiles carries out requests about profiles.
func (p *process) controlProfiles(op operation, body []byte) reply {
	c := p.server.profiles
	switch op {
	case opCtlModifyFormat:
		return with(body, func(m *ctlFormat) reply { return p.changed(nil, c.modifyFormat(m)) })
	case opCtlQueryFormat:
		return with(body, func(o *object) reply { return answerOf(c.queryFormat(o.Handle)) })
	case opCtlModifyCC:
		return with(body, func(m *ctlCC) reply { return p.changed(nil, c.modifyCC(m)) })
	case opCtlQueryCC:
		return with(body, func(o *object) reply { return answerOf(c.queryCC(o.Handle)) })
	case opCtlModifyEVs, opCtlQueryEVs:
		m, fields, entries, err := decodeEVs(body)
		if err != nil {
			return reply{err: err}
		}
		if op == opCtlModifyEVs {
			return p.changed(&ctlEVs{ID: m.ID, State: m.State}, c.modifyEVs(m, entries, fields))
		}
		messages, err := c.queryEVs(m, entries)
		return reply{messages: messages, err: err}
	}
	return refuse(unix.EOPNOTSUPP)
}

// answerOf is the reply of a query.
func answerOf[M any](m *M, err error) reply { return reply{messages: []any{m}, err: err} }

// decodeEVs reads a message and the fields and entries that follow it.
func decodeEVs(body []byte) (m *ctlEVs, fields []ctlField, entries []ctlEntry, err error) {
	const head, fieldLen, entryLen = 200, 20, 80
	m = new(ctlEVs)
	if len(body) < head {
		return nil, nil, nil, unix.EINVAL
	}
	if err := decode(body[:head], m); err != nil {
		return nil, nil, nil, err
	}
	if m.Fields > hostapi.MaxFields || m.Entries > maxEntries {
		return nil, nil, nil, unix.E2BIG
	}
	fields, entries = make([]ctlField, m.Fields), make([]ctlEntry, m.Entries)
	if len(body) != head+len(fields)*fieldLen+len(entries)*entryLen {
		return nil, nil, nil, unix.EINVAL
	}
	at := body[head:]
	if err := decode(at[:len(fields)*fieldLen], fields); err != nil {
		return nil, nil, nil, err
	}
	return m, fields, entries, decode(at[len(fields)*fieldLen:], entries)
}

// ctlDevice is what mrc_ctl may configure.
func (p *process) ctlDevice(body []byte) reply {
	if len(body) != 0 {
		return refuse(unix.EINVAL)
	}
	mask := uint32(0)
	for port := range p.server.cfg.NIC.Config().Ports {
		mask |= 1 << (port + 1)
	}
	d := &ctlDevice{Protocol: ctlVersion1, Ports: mask}
	p.server.profiles.device(d)
	return reply{messages: []any{d}}
}

func (p *process) hasPort(n uint64) bool {
	return n >= 1 && n <= uint64(len(p.server.cfg.NIC.Config().Ports))
}

func (p *process) ctlQueryPort(o *object) reply {
	if !p.hasPort(o.Handle) {
		return refuse(unix.EINVAL)
	}
	state := uint32(ctlPortUp)
	if p.server.ports.disabled.Has(int(o.Handle)) {
		state = 0
	}
	return reply{messages: []any{&ctlPort{Port: uint32(o.Handle), Mask: ctlPortState, State: state}}}
}

// ctlModifyPort disables or enables a port.
func (p *process) ctlModifyPort(c *ctlPort) reply {
	if !p.hasPort(uint64(c.Port)) || c.Mask&^ctlPortState != 0 || c.State > ctlPortUp {
		return refuse(unix.EINVAL)
	}
	if c.Mask&ctlPortState != 0 {
		p.server.disable(int(c.Port), c.State != ctlPortUp)
	}
	return p.changed(nil, nil)
}

// probe makes a batch of EV probes or Port Status Updates, and is answered when all have their
// answer or are lost.
func (p *process) probe(now time.Duration, body []byte) reply {
	const headLen, requestLen, answerLen = 16, 80, 16
	var head endpointHead
	if len(body) < headLen || decode(body[:headLen], &head) != nil || head.DSCP > maxDSCP ||
		head.Count < 1 || len(body)-headLen != int(head.Count)*requestLen {
		return refuse(unix.EINVAL)
	}
	if head.Op > ctlPortStatus {
		return refuse(unix.EINVAL)
	}
	requests := make([]endpointRequest, head.Count)
	probes := make([]*hostapi.Probe, head.Count)
	for i := range requests {
		if err := decode(body[headLen+i*requestLen:][:requestLen], &requests[i]); err != nil {
			return reply{err: err}
		}
		var err error
		if probes[i], err = requests[i].probe(&head); err != nil {
			return refuse(unix.EINVAL)
		}
		if head.Op == ctlPortStatus && requests[i].PortStatus&1 != 0 {
			return refuse(unix.EINVAL)
		}
	}
	results := make(chan hostapi.ProbeResult, len(probes))
	for i, probe := range probes {
		probe.ID = uint32(i)
		done := func(r hostapi.ProbeResult) { results <- r }
		if head.Op == ctlPortStatus {
			p.server.cfg.NIC.Announce(now, probe, packet.PortMask(requests[i].PortStatus), done)
		} else {
			p.server.cfg.NIC.Probe(now, probe, done)
		}
	}
	return reply{wait: func() reply {
		answers := []any{&head}
		for range probes {
			select {
			case r := <-results:
				if r.Received == 0 {
					continue
				}
				adjusted := uint32(0)
				if r.ServiceTimeAdjusted {
					adjusted = 1
				}
				answers = append(answers, &endpointAnswer{ID: requests[r.ID].ID, Port: uint32(r.Port),
					RTT: uint32(r.RTTMin), Adjusted: adjusted})
			case <-p.server.ending:
				return refuse(unix.EIO)
			}
		}
		head.Count = uint32(len(answers) - 1)
		return reply{messages: answers}
	}}
}

// probe converts the request to the form of the host interface. In all formats, the value starts at
// the first octet (mrc_ctl.h, mrc_ctl_ev_t).
func (r *endpointRequest) probe(head *endpointHead) (*hostapi.Probe, error) {
	p := &hostapi.Probe{Source: netip.AddrFrom16(r.Source).Unmap(),
		Destination: netip.AddrFrom16(r.Dest).Unmap(), EV: hostapi.EV{Value: r.EV, Port: uint8(r.Port)},
		DSCP: uint8(head.DSCP), Count: 1,
		Timeout: max(1, time.Duration(head.Timeout))}
	switch r.Mode {
	case ctlFormatSTEV:
		p.Format = hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{32}}
	case ctlFormatUDP:
		p.Format = hostapi.Format{Mode: hostapi.FormatUDP, Widths: []uint8{16}}
	case ctlFormatSRv6:
		p.Format = hostapi.Format{Mode: hostapi.FormatSRv6, Widths: srv6Widths}
	}
	return p, p.Validate()
}

// srv6Widths are 256 bits: the address, and the one segment of an SRH.
var srv6Widths = []uint8{64, 64, 64, 64}
