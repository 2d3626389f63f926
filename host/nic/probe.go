package nic

import (
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/spray"
	"github.com/weft-sdn/weft/packet"
)

// maxProbing is the requests for endpoint operations under way; more are refused.
const maxProbing = 4096

// probing is a request for endpoint operations under way.
type probing struct {
	request  *hostapi.Probe
	status   *packet.PortMask // nil: EV probes; else Port Status Updates of these ports
	path     mrc.Path
	done     func(hostapi.ProbeResult)
	result   hostapi.ProbeResult
	sum      time.Duration // of round trips
	waiting  int           // probes under way
	due      time.Duration // when the next one is sent
	finished bool          // none is sent any more
}

// Probe begins to make EV probes; done is called once with the result, on the owner's goroutine:
// now, when they cannot be made, or in a later Advance. It must not call back. Advance is to be
// called afterwards. Values are probed whether they are denied or not; ports that are denied are
// not sent by.
func (n *NIC) Probe(now time.Duration, p *hostapi.Probe, done func(hostapi.ProbeResult)) {
	n.begin(now, &probing{request: p, done: done})
}

// Announce is Probe by Port Status Updates: Announce reports these ports of the host to the peer,
// whatever the NIC itself reports to its peers (Config.PortUpdates).
func (n *NIC) Announce(now time.Duration, p *hostapi.Probe, ports packet.PortMask,
	done func(hostapi.ProbeResult)) {
	n.begin(now, &probing{request: p, status: &ports, done: done})
}

func (n *NIC) begin(now time.Duration, x *probing) {
	p := x.request
	path, err := n.probePath(p)
	switch {
	case err != nil:
	case len(n.probing) >= maxProbing:
		err = fmt.Errorf("%d probe requests under way, want at most %d", len(n.probing), maxProbing)
	}
	if err != nil {
		x.done(hostapi.ProbeResult{ID: p.ID, Err: err.Error()})
		return
	}
	x.path, x.result, x.due = path, hostapi.ProbeResult{ID: p.ID}, now
	n.probing = append(n.probing, x)
}

// probePath is the path that a request names.
func (n *NIC) probePath(p *hostapi.Probe) (path mrc.Path, err error) {
	if p.Source.IsValid() && p.Source != n.Config().Addr {
		return path, fmt.Errorf("source: %v, want %v, the host's", p.Source, n.Config().Addr)
	}
	allowed := n.Ports() &^ packet.PortMask(n.state.DeniedPorts)
	path.Port = int(p.EV.Port)
	for port := 1; path.Port == 0 && port <= packet.MaxPort; port++ {
		if allowed.Has(port) {
			path.Port = port
		}
	}
	if !allowed.Has(path.Port) {
		return path, fmt.Errorf("ev.port: %d, want one that is up and not denied (%#x)", p.EV.Port,
			uint32(allowed))
	}
	path.EV = packet.EV(binary.BigEndian.Uint32(p.EV.Value[:]))
	if p.Format.Mode == hostapi.FormatSRv6 {
		v, err := spray.NewSRv6(p.EV.Value, path.Port)
		if err != nil {
			return path, fmt.Errorf("ev.value: %w", err)
		}
		path.EV, path.Route = 0, v.Route
	}
	return path, nil
}

// sendProbes sends the probes that are due.
func (n *NIC) sendProbes(now time.Duration) {
	over := false
	for _, x := range n.probing {
		for !x.finished && x.due <= now {
			n.sendProbe(now, x)
		}
		over = over || x.over()
	}
	if over {
		n.finish()
	}
}

func (n *NIC) sendProbe(now time.Duration, x *probing) {
	probe := mrc.EVProbe{Peer: x.request.Destination, Path: x.path, DSCP: x.request.DSCP,
		Timeout: x.request.Timeout}
	var id uint16
	var err error
	if x.status == nil {
		id, err = n.SendEVProbe(now, probe)
	} else {
		id, err = n.SendPortStatusOf(now, probe, *x.status)
	}
	if err != nil { // the port has gone down meanwhile
		x.result.Err, x.finished = err.Error(), true
		return
	}
	n.asked[id] = x
	x.waiting++
	x.result.Sent++
	x.due += x.request.Interval
	x.finished = x.result.Sent == x.request.Count
}

// collect takes the results of endpoint operations.
func (n *NIC) collect() {
	over := false
	for r, ok := n.Host.PollEndpoint(); ok; r, ok = n.Host.PollEndpoint() {
		x := n.asked[r.ID]
		switch {
		case n.updated(r):
			continue
		case x == nil:
			n.results = append(n.results, r)
			continue
		}
		delete(n.asked, r.ID)
		x.take(r)
		over = over || x.over()
	}
	if over {
		n.finish()
	}
}

// take adds the result of one probe.
func (x *probing) take(r mrc.EndpointResult) {
	x.waiting--
	if !r.Answered {
		return
	}
	t := &x.result
	if t.Received == 0 || r.RTT < t.RTTMin {
		t.RTTMin = r.RTT
	}
	t.RTTMax = max(t.RTTMax, r.RTT)
	x.sum += r.RTT
	t.Received++
	t.RTTMean = x.sum / time.Duration(t.Received)
	t.ServiceTimeAdjusted = t.ServiceTimeAdjusted || r.ServiceTimeAdjusted
	t.Port = uint8(r.Port)
}

// over reports that there is nothing more to wait for.
func (x *probing) over() bool { return x.finished && x.waiting == 0 }

// finish reports the results of complete requests.
func (n *NIC) finish() {
	n.probing = slices.DeleteFunc(n.probing, func(x *probing) bool {
		if !x.over() {
			return false
		}
		x.done(x.result)
		return true
	})
}

// nextProbe is when a probe is due.
func (n *NIC) nextProbe() (at time.Duration, ok bool) {
	for _, x := range n.probing {
		if !x.finished && (!ok || x.due < at) {
			at, ok = x.due, true
		}
	}
	return at, ok
}
