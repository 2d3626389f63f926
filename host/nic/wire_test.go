package nic_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/host/nic/nictest"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

func ptr[T any](v T) *T { return &v }

// TestWire: UDP port and DSCPs are those that the controller says, for data and answers alike, and
// the host's own again when it says none; what the operator has set on the host is not overruled,
// but named (OCP MRC 1.0, table 7-7 and section 7.5.5.2).
func TestWire(t *testing.T) {
	said := hostapi.Wire{UDPPort: 5791, NoTrim: 1, Trimmable: 2, TrimmableRetx: 3, Trimmed: 20,
		TrimmedLastHop: 21, Control: 30}
	settings := packet.MRCSettings{Port: 5791, DSCP: packet.DSCPClasses{NoTrim: 1, Trimmable: 2,
		TrimmableRetx: 3, Trimmed: 20, TrimmedLastHop: 21, Control: 30}}
	f := nictest.New(t, 2, 2, 1, nil)
	qp, _ := f.Pair(0, 1, 100)
	dscps := map[uint8]int{}
	var port uint16
	f.Drop = func(_ time.Duration, from int, p *packet.MRC, _ int) bool {
		dscps[packet.DSCP(p.IPv6.TrafficClass)]++
		port = p.UDP.DstPort
		// one is sent again
		return from == 0 && p.BTH.PSN%100 == 50 && p.Headers.Is(packet.ExtMETH) && !p.BTH.Retransmission
	}
	check := func(s packet.MRCSettings) {
		t.Helper()
		f.Wire = s
		clear(dscps)
		write(t, f, 0, 1, qp, 1<<20).finish(t)
		for dscp := range dscps {
			if dscp != s.DSCP.Trimmable && dscp != s.DSCP.TrimmableRetx && dscp != s.DSCP.Control {
				t.Errorf("%d packets with DSCP %d", dscps[dscp], dscp)
			}
		}
		if dscps[s.DSCP.Trimmable] == 0 || dscps[s.DSCP.Control] == 0 || port != s.Port {
			t.Errorf("packets by DSCP %v to UDP port %d, want those of %+v", dscps, port, s)
		}
	}
	check(packet.DefaultMRCSettings())
	for i := range 2 {
		f.Hold(i, hostapi.State{Wire: said})
	}
	check(settings)
	if dscps[3] == 0 {
		t.Errorf("packets by DSCP %v: nothing was sent again", dscps)
	}
	for i := range 2 {
		f.Hold(i, hostapi.State{})
	}
	check(packet.DefaultMRCSettings())

	f = nictest.New(t, 1, 2, 1, func(_ int, c *nic.Config) {
		c.Wire = nic.Wire{UDPPort: ptr(uint16(5791)), Control: ptr(uint8(30))}
	})
	if w := f.NICs[0].Config().Wire; w.Port != 5791 || w.DSCP.Control != 30 || w.DSCP.Trimmable != 7 {
		t.Errorf("begins with %+v, want what the operator has set over the defaults", w)
	}
	f.Hold(0, hostapi.State{Wire: said})
	held := f.NICs[0].State()
	for _, c := range []struct {
		edit       func(*hostapi.Wire)
		field, say string
		code       hostapi.Code
	}{
		{func(w *hostapi.Wire) {
			w.UDPPort = 4791
		}, "wire.udp_port", "4791, want 5791, which the host is configured with",
			hostapi.CodeUnsupported},
		{func(w *hostapi.Wire) {
			w.Control = 31
		}, "wire.dscp_control", "31, want 30, which the host is configured with",
			hostapi.CodeUnsupported},
		{func(w *hostapi.Wire) { w.Trimmed = 2 }, "wire", "Trimmed", hostapi.CodeInvalid},
	} {
		other := said
		c.edit(&other)
		err := f.Apply(0, hostapi.State{Wire: other})
		if e := (*hostapi.FieldError)(nil); !errors.As(err, &e) || e.Field != c.field ||
			e.Code != c.code || !strings.Contains(e.Reason, c.say) {
			t.Errorf("%+v: %v, want %s: %s", other, err, c.field, c.say)
		}
		if f.NICs[0].State() != held || f.NICs[0].Config().Wire != settings {
			t.Errorf("%+v: what was refused has changed something", other)
		}
	}
	cfg := nic.DefaultConfig()
	cfg.Host = f.NICs[0].Config()
	cfg.Wire = nic.Wire{Control: ptr(uint8(64))}
	if _, err := nic.New(cfg); !errors.Is(err, verbs.ErrConfig) ||
		!strings.Contains(err.Error(), "DSCP Control: 64") {
		t.Errorf("DSCP 64: %v", err)
	}
}
