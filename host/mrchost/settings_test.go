package mrchost

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/live/livetest"
	"github.com/weft-sdn/weft/host/hostrun"
	"github.com/weft-sdn/weft/host/hostrun/hostruntest"
	"github.com/weft-sdn/weft/internal/bubble"
	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/hosts/hoststest"
)

// pair is two hosts, the first of which writes a million octets and ten into the memory of the
// second.
type pair struct {
	near, far []*hostruntest.Lossy
	mu        sync.Mutex                          // held while saw runs
	saw       func(from, port int, p *packet.MRC) // of every packet that a host sends; from is 0 or 1
	wire      packet.MRCSettings
	rate      uint64       // of the first host's ports, if not 0
	log       *slog.Logger // of the first host
	own       [2]string    // of each host's queue pair
}

// newPair returns two hosts' cables, which lose one frame in oneIn, none for 0.
func newPair(t *testing.T, oneIn int) *pair {
	p := &pair{saw: func(int, int, *packet.MRC) {}, wire: packet.DefaultMRCSettings()}
	for port := 1; port <= 2; port++ {
		cable := livetest.NewCable()
		for from, end := range []live.Port{cable.A, cable.B} {
			l := hostruntest.NewLossy(end, oneIn, uint64(port), uint64(from))
			l.Saw = func(frame []byte) {
				m, _, err := packet.ParseMRC(frame, p.wire)
				if err != nil {
					t.Errorf("host %d sends what cannot be read: %v", from, err)
					return
				}
				p.mu.Lock() // both hosts send
				defer p.mu.Unlock()
				p.saw(from, port, &m)
			}
			if from == 0 {
				p.near = append(p.near, l)
			} else {
				p.far = append(p.far, l)
			}
		}
	}
	return p
}

func links(ends []*hostruntest.Lossy) (l []Link) {
	for _, end := range ends {
		l = append(l, Link{Port: end})
	}
	return l
}

// run runs both hosts; each text is added to the configuration of senderText and receiverText, and
// queue is for both's queue pair. meanwhile, if not nil, is called once both are up.
func (p *pair) run(t *testing.T, sender, receiver, queue string, meanwhile func()) (sent,
	received *Report) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, file, small, saved := hostruntest.Files(t)
	configOf := func(text, own, more string) *Config {
		return config(t, strings.Replace(text, "initialPsn: 0xfffff0", "initialPsn: 0xfffff0"+queue+own,
			1)+more)
	}
	from, to := configOf(fmt.Sprintf(senderText, file, small), p.own[0], sender),
		configOf(fmt.Sprintf(receiverText, saved), p.own[1], receiver)
	for i := range from.Ports {
		if p.rate != 0 {
			from.Ports[i].LineRate = p.rate
		}
	}
	done := make(chan outcome, 1)
	go func() {
		r, err := Run(ctx, to, links(p.far), Options{})
		done <- outcome{r, err}
	}()
	for _, l := range p.far {
		<-l.Attached
	}
	if meanwhile != nil {
		go func() {
			for _, l := range p.near {
				<-l.Attached
			}
			meanwhile()
		}()
	}
	sent, err := Run(ctx, from, links(p.near), Options{Log: p.log})
	got := <-done
	if err := errors.Join(err, got.err); err != nil {
		t.Fatal(err)
	}
	if sent.Written != 1_000_010 || got.report.Received != 1_000_010 ||
		got.report.Regions[0].SHA256 != sent.Writes[0].SHA256 {
		t.Errorf("written %+v, received %+v", sent.Writes, got.report.Regions)
	}
	return sent, got.report
}

// TestWireSettings: two hosts with the same configured UDP port and DSCPs send all packets with
// these values.
func TestWireSettings(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		const text = "wire: {udpPort: 5791, dscp: {noTrim: 1, trimmable: 2, trimmableRetx: 3, trimmed: " +
			"20, trimmedLastHop: 21, control: 30}}\n"
		p := newPair(t, 0)
		p.wire = packet.MRCSettings{Port: 5791, DSCP: packet.DSCPClasses{NoTrim: 1, Trimmable: 2,
			TrimmableRetx: 3, Trimmed: 20, TrimmedLastHop: 21, Control: 30}}
		dscps := map[string]int{}
		p.saw = func(from, _ int, m *packet.MRC) {
			if m.UDP.DstPort != 5791 {
				t.Errorf("UDP port %d", m.UDP.DstPort)
			}
			dscps[fmt.Sprint(from, packet.DSCP(m.IPv6.TrafficClass))]++
		}
		p.run(t, text, text, "", nil)
		for what := range dscps {
			// data, its answers, and the answer to a port status update
			if what != "0 2" && what != "1 30" && what != "0 30" {
				t.Errorf("%d packets by host and DSCP %s", dscps[what], what)
			}
		}
	})
}

// TestAttributeSettings: what the host is configured with of attributes, timers and max_psn_range
// shows in its packets.
func TestAttributeSettings(t *testing.T) {
	for _, c := range []struct {
		name, queue string
		check       func(from int, m *packet.MRC) bool // false: not as it should be
	}{
		{"defaults", "", func(_ int, m *packet.MRC) bool {
			return !m.Headers.Is(packet.ExtMETH) || m.Headers.Is(packet.ExtTSETH) &&
				packet.DSCP(m.IPv6.TrafficClass) == 7
		}},
		{"no trim NACKs at the peer", ", peer: {trimNack: false}", func(_ int, m *packet.MRC) bool {
			return !m.Headers.Is(packet.ExtMETH) || packet.DSCP(m.IPv6.TrafficClass) == 3
		}},
		{"data not trimmable", ", trimmable: false", func(_ int, m *packet.MRC) bool {
			return !m.Headers.Is(packet.ExtMETH) || packet.DSCP(m.IPv6.TrafficClass) == 3
		}},
		{"no timestamps", ", timestamps: false", func(_ int, m *packet.MRC) bool {
			return !m.Headers.Is(packet.ExtTSETH)
		}},
		{"max_psn_range", ", mpr: 3", func(_ int, m *packet.MRC) bool {
			return !m.Headers.Is(packet.ExtSETH) || m.SETH.MPR == 3
		}},
		{"its greatest", ", maxMpr: 2", func(_ int, m *packet.MRC) bool {
			return !m.Headers.Is(packet.ExtSETH) || m.SETH.MPR == 2
		}},
		{"not dynamic", ", dynamicMpr: false", func(_ int, m *packet.MRC) bool {
			return !m.Headers.Is(packet.ExtSETH) || m.SETH.MPR == 0
		}},
	} {
		bubble.Test(t, func(t *testing.T) {
			p := newPair(t, 0)
			requests, sacks, wrong := 0, 0, 0
			p.saw = func(from, _ int, m *packet.MRC) {
				if m.Headers.Is(packet.ExtMETH) {
					requests++
				}
				if m.Headers.Is(packet.ExtSETH) {
					sacks++
				}
				if !c.check(from, m) {
					wrong++
				}
			}
			p.run(t, "", "", c.queue, nil)
			if wrong > 0 || requests < 245 || sacks == 0 {
				t.Errorf("%s: %d packets are not as configured, of %d requests and %d SACKs", c.name, wrong,
					requests, sacks)
			}
		})
	}
	q := config(t, strings.Replace(fmt.Sprintf(senderText, "a", "b"), "initialPsn: 0xfffff0",
		"ackTimeout: 15, linearRetries: 2, exponentialRetries: 3, serviceTime: false, peer: "+
			"{serviceTime: true, maxMpr: 4, maxWimm: 5}", 1)).QueuePairs[0].config()
	if q.AckTimeout != 15 || q.ProbeTimeout != 1024*time.Nanosecond<<15/4 || q.LinearRetries != 2 ||
		q.ExponentialRetries != 3 ||
		q.Local.ServiceTime || !q.Remote.ServiceTime || q.Local.MaxMPR != 8 || q.Remote.MaxMPR != 4 ||
		q.Local.MaxWIMM != 32 || q.Remote.MaxWIMM != 5 {
		t.Errorf("%+v", q)
	}
}

// TestDynamicMPRMismatch: if a host's peer has dynamicMpr off, but the host's configuration does
// not say so, the host logs once that the peer's SACKs have no max_psn_range; with a matching
// configuration, the host logs nothing.
func TestDynamicMPRMismatch(t *testing.T) {
	for name, c := range map[string]struct {
		peer string
		want int
	}{"mismatch": {"", 1}, "as the peer": {", peer: {dynamicMpr: false}", 0}} {
		bubble.Test(t, func(t *testing.T) {
			var log bytes.Buffer
			p := newPair(t, 0)
			p.log = slog.New(slog.NewTextHandler(&log, nil))
			p.own = [2]string{c.peer, ", dynamicMpr: false"}
			p.run(t, "", "", "", nil)
			if got := strings.Count(log.String(), "SACKs have no max_psn_range"); got != c.want {
				t.Errorf("%s: said %d times, want %d: %s", name, got, c.want, log.String())
			}
		})
	}
}

// TestRetries: a host without a living peer gives up its writes after the configured timeouts:
// 1.024 us x 2^18 before each of two linear retries, and twice, four times and eight times that
// before two exponential retries and the end (table 7-1).
func TestRetries(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		_, file, small, _ := hostruntest.Files(t)
		p := newPair(t, 0)
		text := strings.Replace(fmt.Sprintf(senderText, file, small), "initialPsn: 0xfffff0",
			"ackTimeout: 18, probeTimeout: 0s, linearRetries: 2, exponentialRetries: 2", 1)
		began := time.Now()
		r, err := Run(t.Context(), config(t, text), links(p.near), Options{})
		took := time.Since(began)
		want := 1024 * time.Nanosecond << 18 * (1 + 1 + 2 + 4 + 8)
		if !errors.Is(err, hostrun.ErrWrite) || took < want-10*time.Millisecond ||
			took > want+10*time.Millisecond || !r.QueuePairs[0].Failed {
			t.Errorf("%v after %v, want a failed write after %v", err, took, want)
		}
	})
}

// TestReceiveSettings: a host that takes over less than its peer sends slows it down by penalties,
// by max_psn_range and by NACKs with the reason that its configuration makes, and both ends report
// it (OCP MRC 1.0, sections 7.5.1 and 7.5.4, table 7-3).
func TestReceiveSettings(t *testing.T) {
	// 25 octets a microsecond: 40 ms for what is written
	const rate = "rate: 200000000, buffer: 131072"
	for _, c := range []struct {
		name, receive, queue string
		penalties            bool
		refusals             packet.NACKReason // 0: none
		mpr                  bool
	}{
		{"all at once", "receive: {buffer: 4096}\n", "", false, 0, false},
		{"with flow control", "receive: {" + rate + "}\n", "", true, packet.NACKNoPacketBuffer, false},
		{"without", "receive: {" + rate + ", flowControl: false}\n", "", false, packet.NACKNoPacketBuffer,
			false},
		{"without, for the queue pair", "receive: {" + rate + "}\n", ", flowControl: false", false,
			packet.NACKNoPacketBuffer, false},
		{"penalties too late", "receive: {" + rate + ", penaltyFrom: 131071, penaltyTo: 131072}\n", "",
			false, packet.NACKNoPacketBuffer, false},
		{"max_psn_range", "receive: {" + rate + ", flowControl: false, adaptMpr: true}\n", "", false,
			packet.NACKNoPacketBuffer, true},
		{"few packets", "receive: {" + rate + ", flowControl: false, packets: 8}\n", "", false,
			packet.NACKNoResource, false},
		{"many packets", "receive: {" + rate + ", flowControl: false, packets: 1000}\n", "", false,
			packet.NACKNoPacketBuffer, false},
		{"small bitmap", "receive: {bitmap: 1}\n", "", false, packet.NACKNoBitmap, false},
		{"large bitmap", "receive: {bitmap: 1000}\n", "", false, 0, false},
	} {
		bubble.Test(t, func(t *testing.T) {
			oneIn := 0
			if strings.Contains(c.receive, "bitmap") {
				oneIn = 20 // what follows a lost packet is out of order
			}
			p := newPair(t, oneIn)
			p.rate = 500_000_000 // of each port, five times what the host takes over with both
			penalties, refusals, least := uint64(0), uint64(0), uint8(255)
			p.saw = func(from, _ int, m *packet.MRC) {
				switch {
				case from == 1 && m.Headers.Is(packet.ExtSETH):
					if cc, _ := m.SETH.NSCC(); cc.RcvCwndPenalty > 0 {
						penalties++
					}
					least = min(least, m.SETH.MPR)
				case from == 1 && m.Headers.Is(packet.ExtNETH):
					if reason := packet.NACKReason(m.NETH.Reason); reason == c.refusals {
						refusals++
					} else if reason == packet.NACKNoBitmap || reason == packet.NACKNoPacketBuffer ||
						reason == packet.NACKNoResource {
						t.Errorf("%s: a NACK %v", c.name, reason)
					}
				}
			}
			began := time.Now()
			sent, got := p.run(t, "", c.receive, c.queue, nil)
			took := time.Since(began)
			if c.penalties && penalties == 0 || c.refusals != 0 && refusals == 0 || c.mpr != (least < 8) {
				t.Errorf("%s: %d penalties, %d NACKs, mpr down to %d", c.name, penalties, refusals, least)
			}
			if !c.penalties && penalties > 0 && c.name != "penalties too late" {
				t.Errorf("%s: %d penalties", c.name, penalties)
			}
			if slow := 33 * time.Millisecond; strings.Contains(c.receive, rate) && took < slow {
				t.Errorf("%s: took %v, less than the %v that the host needs", c.name, took, slow)
			}
			s, r := sent.QueuePairs[0], got.QueuePairs[0]
			if r.PenaltiesSent != penalties || r.ResourceNACKsSent != refusals || oneIn == 0 &&
				(s.PenaltiesReceived != penalties || s.ResourceNACKsReceived != refusals) {
				t.Errorf("%s: %d penalties and %d NACKs are reported as %d, %d, %d and %d", c.name, penalties,
					refusals,
					r.PenaltiesSent, s.PenaltiesReceived, r.ResourceNACKsSent, s.ResourceNACKsReceived)
			}
		})
	}
}

// TestLinkStateReachesPeer: when the link of a host's port goes down, its peer hears it by a Port
// Status Update and sends nothing more by that plane; when it comes up, both planes are used again
// (OCP MRC 1.0, section 7.4.8).
func TestLinkStateReachesPeer(t *testing.T) {
	for _, updates := range []bool{true, false} {
		bubble.Test(t, func(t *testing.T) {
			p := newPair(t, 0)
			var down, up atomic.Int64 // when the link went down and came up, as Unix time in ns
			const settled = int64(5 * time.Millisecond)
			by := map[string]int{}
			p.saw = func(from, port int, m *packet.MRC) {
				if from != 0 || !m.Headers.Is(packet.ExtMETH) {
					return
				}
				switch now := time.Now().UnixNano(); {
				case up.Load() != 0 && now > up.Load()+settled:
					by[fmt.Sprint("up ", port)]++
				case down.Load() != 0 && up.Load() == 0 && now > down.Load()+settled:
					by[fmt.Sprint("down ", port)]++
				}
			}
			text := ""
			if !updates {
				text = "portUpdates: false\n"
			}
			p.rate = 50_000_000 // so that the writes take 80 ms
			sent, _ := p.run(t, "", text, "", func() {
				time.Sleep(10 * time.Millisecond)
				p.far[1].Link(false)
				down.Store(time.Now().UnixNano())
				time.Sleep(25 * time.Millisecond)
				p.far[1].Link(true)
				up.Store(time.Now().UnixNano())
			})
			if by["down 1"] == 0 || by["up 1"] == 0 {
				t.Fatalf("packets %v: the test tests nothing", by)
			}
			if updates && (by["down 2"] != 0 || by["up 2"] == 0) {
				t.Errorf("packets %v: want none by port 2 while it is down", by)
			}
			if !updates && by["down 2"] == 0 {
				t.Errorf("packets %v: without updates the peer knows of nothing", by)
			}
			if got := sent.QueuePairs[0].Ports; !slices.Equal(got, []int{1, 2}) {
				t.Errorf("ports %v in the report, want both", got)
			}
		})
	}
}

// TestWireMismatch: a host that is configured with another codepoint than the controller's says
// which, at both ends, and sends nothing.
func TestWireMismatch(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		server, dial, stop := serve(t, &hoststest.Observer{})
		defer stop()
		state, err := hostapi.NewState(hostapi.State{Wire: hostapi.Wire{UDPPort: 4791, NoTrim: 3,
			Trimmable: 7, TrimmableRetx: 11, Trimmed: 35, TrimmedLastHop: 39, Control: 43}})
		if err == nil {
			err = server.Set("h1", state)
		}
		if err != nil {
			t.Fatal(err)
		}
		_, file, small, _ := hostruntest.Files(t)
		p := newPair(t, 0)
		p.saw = func(_, _ int, m *packet.MRC) { t.Errorf("sends %v", m.BTH.Opcode) }
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		const want = "wire.dscp_control: 43, want 12, which the host is configured with"
		r, err := Run(ctx, config(t, fmt.Sprintf(senderText, file, small)+controllerText+
			"wire: {dscp: {control: 12}}\n"), links(p.near), dial)
		if !errors.Is(err, hostrun.ErrInterrupted) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(r.Controller.Refused, want) {
			t.Errorf("error %v, report %+v, want %q in both", err, r.Controller, want)
		}
		if s, known := server.Status("h1"); !known || len(s.Refusals) != 1 ||
			s.Refusals[0].Field != "wire.dscp_control" {
			t.Errorf("the controller shows %+v, %v", s, known)
		}
	})
}
