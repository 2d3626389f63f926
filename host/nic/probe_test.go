package nic_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/nic/nictest"
	"github.com/weft-sdn/weft/packet"
)

// TestProbes: the NIC sends EV probes as requested, and reports the result once, after the last
// probe is answered or given up.
func TestProbes(t *testing.T) {
	f := nictest.New(t, 2, 3, 1, nil)
	both(f, 6, 3)
	const interval, timeout = time.Millisecond, 3 * time.Millisecond
	base := hostapi.Probe{
		Destination: nictest.Address(1), Format: nictest.Format, EV: nictest.EV(0, 2), DSCP: 11, Count: 4,
		Interval: interval, Timeout: timeout,
	}
	type sending struct {
		at   time.Duration
		ev   packet.EV
		port int
		dscp uint8
	}
	var sent []sending
	lose := func(int) bool { return false } // by number
	f.Drop = func(now time.Duration, from int, p *packet.MRC, port int) bool {
		if p.BTH.Opcode == packet.OpMRCEndpointRequest {
			sent = append(sent, sending{now, p.EV(), port, packet.DSCP(p.IPv6.TrafficClass)})
			return lose(len(sent))
		}
		return false
	}
	var results []hostapi.ProbeResult
	ask := func(edit func(*hostapi.Probe)) hostapi.ProbeResult {
		t.Helper()
		sent, results = nil, nil
		p := base
		p.ID = 7
		if edit != nil {
			edit(&p)
		}
		f.NICs[0].Probe(f.Now(), &p, func(r hostapi.ProbeResult) { results = append(results, r) })
		f.Wake(0)
		f.Run(f.Now()+time.Second, nil)
		if len(results) != 1 {
			t.Fatalf("%d results", len(results))
		}
		return results[0]
	}

	began := f.Now()
	r := ask(nil)
	if r.ID != 7 || r.Sent != 4 || r.Received != 4 || r.Err != "" || r.RTTMin < 4*time.Microsecond ||
		r.RTTMax > 5*time.Microsecond || r.RTTMean < r.RTTMin || r.RTTMean > r.RTTMax {
		t.Errorf("%+v", r)
	}
	for i, s := range sent {
		if s != (sending{began + time.Duration(i)*interval, packet.NewEV(1, 0), 2, 11}) {
			t.Errorf("probe %d: %+v", i, s)
		}
	}
	lose = func(n int) bool { return n%2 == 0 }
	if r := ask(nil); r.Sent != 4 || r.Received != 2 || r.Port != 2 {
		t.Errorf("%+v", r)
	}
	lose = func(int) bool { return true }
	if r := ask(nil); r.Sent != 4 || r.Received != 0 || r.RTTMax != 0 {
		t.Errorf("%+v", r)
	}
	lose = func(int) bool { return false }
	// A denied value is probed; a denied port is not sent by; port 0 is the host's choice.
	p := nictest.Profile("p", 6, 3, 1)
	f.Hold(0, hostapi.State{Profiles: []*hostapi.Profile{p.WithDenied(p.EVs)},
		DeniedPorts: hostapi.Ports(1)})
	if r := ask(nil); r.Received != 4 {
		t.Errorf("%+v", r)
	}
	if r := ask(func(p *hostapi.Probe) { p.EV.Port = 1 }); r.Sent != 0 ||
		!strings.Contains(r.Err, "ev.port: 1, want one that is up and not denied (0xc)") {
		t.Errorf("%+v", r)
	}
	if r := ask(func(p *hostapi.Probe) { p.EV.Port = 0 }); r.Received != 4 || sent[0].port != 2 {
		t.Errorf("%+v by port %d", r, sent[0].port)
	}
	if r := ask(func(p *hostapi.Probe) { p.Source = nictest.Address(1) }); !strings.Contains(r.Err,
		"source: ") {
		t.Errorf("%+v", r)
	}
	srv6 := func(value byte) func(p *hostapi.Probe) {
		return func(p *hostapi.Probe) {
			p.Format = hostapi.Format{Mode: hostapi.FormatSRv6, Widths: []uint8{128}}
			p.EV = hostapi.EV{Port: 2}
			p.EV.Value[0] = value
		}
	}
	if r := ask(srv6(0)); !strings.Contains(r.Err, "no first uSID container") {
		t.Errorf("%+v", r)
	}
	if r := ask(srv6(0xfc)); r.Received != 4 {
		t.Errorf("%+v", r)
	}
	// A port that goes down in the middle.
	f.Hold(0, hostapi.State{})
	lose = func(n int) bool {
		if n == 2 {
			if err := f.NICs[0].SetPort(2, false); err != nil {
				t.Error(err)
			}
		}
		return false
	}
	if r := ask(nil); r.Sent != 2 || !strings.Contains(r.Err, "want a port that is up") {
		t.Errorf("%+v", r)
	}
	// More than there is room for.
	results = nil
	many := base
	many.EV.Port, many.Timeout = 1, 10*time.Second
	for range 4097 {
		f.NICs[0].Probe(f.Now(), &many, func(r hostapi.ProbeResult) { results = append(results, r) })
	}
	if len(results) != 1 || !strings.Contains(results[0].Err, "4096 probe requests under way") {
		t.Errorf("%+v", results)
	}
}

// TestAnswersToProbes: answers go by the profile of the answering host, the port first that the
// probe came by, and never by what is denied.
func TestAnswersToProbes(t *testing.T) {
	f := nictest.New(t, 2, 2, 1, nil)
	both(f, 8, 2)
	answers := seen{}
	f.Drop = func(now time.Duration, from int, p *packet.MRC, port int) bool {
		if from == 1 {
			answers.note(now, from, p, port)
		}
		return false
	}
	probe := &hostapi.Probe{Destination: nictest.Address(1), Format: nictest.Format,
		EV: hostapi.NewEV(0x99990000, 1), Count: 40, Timeout: time.Second}
	ask := func() (r hostapi.ProbeResult) {
		clear(answers)
		f.NICs[0].Probe(f.Now(), probe, func(x hostapi.ProbeResult) { r = x })
		f.Wake(0)
		f.Run(f.Now()+2*time.Second, nil)
		return r
	}
	if r := ask(); r.Received != 40 || r.Port != 1 || len(answers) != 4 {
		t.Errorf("%+v, %v", r, answers)
	}
	p := nictest.Profile("p", 8, 2, 0)
	f.Hold(1, hostapi.State{Profiles: []*hostapi.Profile{p.WithDenied([]hostapi.EV{p.EVs[0],
		p.EVs[2]})}})
	if ask(); len(answers) != 2 || answers["1 0x00010000@1"]+answers["1 0x00030000@1"] != 0 {
		t.Errorf("%v", answers)
	}
	f.Hold(1, hostapi.State{Profiles: []*hostapi.Profile{p}, DeniedPorts: hostapi.Ports(1)})
	if r := ask(); r.Received != 40 || r.Port != 2 || len(answers) != 4 {
		t.Errorf("%+v, %v", r, answers)
	}
	// No profile: back the way that the probe came, unless that is denied.
	f.Hold(1, hostapi.State{})
	if r := ask(); r.Received != 40 || len(answers) != 1 || answers["1 0x99990000@1"] != 40 {
		t.Errorf("%+v, %v", r, answers)
	}
	f.Hold(1, hostapi.State{DeniedPorts: hostapi.Ports(1)})
	if r := ask(); r.Received != 0 || len(answers) != 0 || f.NICs[1].Counters().NoPath != 40 {
		t.Errorf("%+v, %v", r, answers)
	}
}
