package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/api/hostapi/hostapitest"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/agent/agenttest"
)

func profile(name string, denied ...int) *hostapi.Profile {
	p := &hostapi.Profile{
		Name: name, Format: hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{16}},
		Mode: hostapi.ModeExplicit, Count: 3, MinActive: 1,
		EVs: []hostapi.EV{hostapi.NewEV(1<<16, 1), hostapi.NewEV(2<<16, 2), hostapi.NewEV(3<<16, 1)},
	}
	var list []hostapi.EV
	for _, i := range denied {
		list = append(list, p.EVs[i])
	}
	return p.WithDenied(list)
}

// TestBadUpdates: the host refuses an invalid update and names the field; host and endpoint keep
// their old state.
func TestBadUpdates(t *testing.T) {
	v := func(epoch, number uint64) hostapi.Version {
		return hostapi.Version{Epoch: epoch, Number: number}
	}
	var refusing error
	e := &agenttest.Endpoint{Device: (&agenttest.Endpoint{}).Capabilities(),
		Refuse: func(agent.Change) error { return refusing }}
	e.Device.EVCountAlign, e.Device.EVMaxProfiles = 3, 2
	c := agent.NewCore(e)
	first := &hostapi.Update{Version: v(7, 3),
		Delta: hostapi.Delta{SetProfiles: []*hostapi.Profile{profile("a")}}}
	if m, ok := c.Update(first).(*hostapi.Applied); !ok || m.Version != v(7, 3) {
		t.Fatalf("%+v", m)
	}
	_, before := c.Held()
	set := func(p ...*hostapi.Profile) hostapi.Delta { return hostapi.Delta{SetProfiles: p} }
	two := profile("b")
	two.EVs, two.Count = two.EVs[:2], 2
	for name, u := range map[string]struct {
		update  hostapi.Update
		refuse  error
		code    hostapi.Code
		field   string
		because string
	}{
		"another base": {hostapi.Update{Version: v(7, 5), Base: v(7, 2)}, nil,
			hostapi.CodeUnknownBase, "base", "7.2, want 7.3"},
		"another epoch's": {hostapi.Update{Version: v(8, 5), Base: v(8, 3)}, nil,
			hostapi.CodeUnknownBase, "base", "8.3, want 7.3"},
		"an old version": {hostapi.Update{Version: v(7, 3), Base: v(7, 3)}, nil, hostapi.CodeInvalid,
			"version", "want one after 7.3"},
		"an old snapshot": {hostapi.Update{Version: v(7, 2)}, nil, hostapi.CodeInvalid, "version",
			"want one after 7.3"},
		"alignment": {hostapi.Update{Version: v(7, 4), Base: v(7, 3), Delta: set(two)}, nil,
			hostapi.CodeUnsupported, "set_profiles[b].count", "multiple of 3"},
		"a whole snapshot": {hostapi.Update{Version: v(9, 1), Delta: set(profile("b"), profile("c"),
			profile("d"))}, nil, hostapi.CodeUnsupported, "set_profiles[d]", "ev_max_profiles"},
		"no such profile": {hostapi.Update{Version: v(7, 4), Base: v(7, 3),
			Delta: hostapi.Delta{RemoveProfiles: []string{"b"}}}, nil, hostapi.CodeInvalid,
			"remove_profiles[0]", "b is not there"},
		"a busy device": {hostapi.Update{Version: v(7, 4), Base: v(7, 3), Delta: set(profile("b"))},
			&hostapi.FieldError{Code: hostapi.CodeBusy, Field: "set_profiles[b]", Reason: "in use"},
			hostapi.CodeBusy, "set_profiles[b]", "in use"},
		"a broken device": {hostapi.Update{Version: v(7, 4), Base: v(7, 3), Delta: set(profile("b"))},
			errors.New("EIO" + strings.Repeat("!", 2000)), hostapi.CodeDevice, "", "EIO"},
	} {
		t.Run(name, func(t *testing.T) {
			refusing = u.refuse
			m, ok := c.Update(&u.update).(*hostapi.Refused)
			if !ok || m.Version != u.update.Version || m.Code != u.code || m.Field != u.field ||
				!strings.Contains(m.Reason, u.because) || len(m.Reason) > hostapi.MaxReason {
				t.Errorf("%+v", m)
			}
			if v, s := c.Held(); v != first.Version || s != before || e.State() != before ||
				len(e.Changes()) != 1 {
				t.Errorf("holds %v", v)
			}
		})
	}
	refusing = nil
	// Another epoch's snapshot: the endpoint is told of what differs alone.
	same := &hostapi.Update{Version: v(8, 1), Delta: set(profile("a"))}
	if m, ok := c.Update(same).(*hostapi.Applied); !ok || len(e.Changes()) != 1 {
		t.Errorf("%+v, %d changes", m, len(e.Changes()))
	}
	other := &hostapi.Update{Version: v(8, 2), Delta: set(profile("a", 1))}
	if m, ok := c.Update(other).(*hostapi.Applied); !ok {
		t.Errorf("%+v", m)
	}
	if got := e.Changes()[1].Delta; len(got.SetProfiles) != 0 || len(got.Change) != 1 ||
		len(got.Change[0].Deny) != 1 {
		t.Errorf("%+v", got)
	}
}

// TestSnapshotsReplace: after a snapshot with replaced EVs in a profile, a device that can replace
// EVs in use (ModifyOnline) gets only the replaced EVs; other devices get the whole profile.
func TestSnapshotsReplace(t *testing.T) {
	for _, online := range []bool{true, false} {
		e := &agenttest.Endpoint{Device: (&agenttest.Endpoint{}).Capabilities()}
		if !online {
			e.Device.OptAttr &^= hostapi.OptEVProfileModifyOnline
		}
		c := agent.NewCore(e)
		other := profile("a")
		other.EVs[2] = hostapi.NewEV(4<<16, 1)
		for i, p := range []*hostapi.Profile{profile("a"), other} {
			u := &hostapi.Update{Version: hostapi.Version{Epoch: 1, Number: uint64(i + 1)},
				Delta: hostapi.Delta{SetProfiles: []*hostapi.Profile{p}}}
			if m, ok := c.Update(u).(*hostapi.Applied); !ok {
				t.Fatalf("%+v", m)
			}
		}
		d := e.Changes()[1].Delta
		if whole := len(d.SetProfiles) == 1 && len(d.Change) == 0; whole == online ||
			!whole && (len(d.SetProfiles) != 0 || len(d.Change) != 1 || len(d.Change[0].Replace) != 1) {
			t.Errorf("a device that can replace EVs online: %v; it is told %+v", online, d)
		}
	}
}

// TestSharedStates: the host holds the state returned by Config.Share, and passes this state to its
// endpoint.
func TestSharedStates(t *testing.T) {
	e := &agenttest.Endpoint{}
	c := agent.NewCore(e)
	delta := hostapi.Delta{SetProfiles: []*hostapi.Profile{profile("a")}}
	var none *hostapi.State
	shared, err := none.Apply(&delta)
	if err != nil {
		t.Fatal(err)
	}
	c.SetShare(func(s *hostapi.State) *hostapi.State {
		if s.Profile("a") == nil {
			t.Errorf("asked to share %+v", s)
		}
		return shared
	})
	u := &hostapi.Update{Version: hostapi.Version{Epoch: 1, Number: 1}, Delta: delta}
	if m, ok := c.Update(u).(*hostapi.Applied); !ok {
		t.Fatalf("%+v", m)
	}
	if _, held := c.Held(); held != shared || e.State() != shared {
		t.Errorf("the host holds %p, its endpoint %p; want %p", held, e.State(), shared)
	}
}

// TestBadProbes: the agent answers a probe that the device cannot send with the reason.
func TestBadProbes(t *testing.T) {
	e := &agenttest.Endpoint{Device: (&agenttest.Endpoint{}).Capabilities()}
	e.Device.EVFormatModes, e.Device.Ports = hostapi.Modes(hostapi.FormatSTEV), hostapi.Ports(1)
	c := agent.NewCore(e)
	probe := func(change func(*hostapi.Probe)) *hostapi.Probe {
		p := &hostapi.Probe{
			ID: 9, Destination: hostapitest.Peer(1), Format: profile("a").Format, EV: profile("a").EVs[0],
			Count: 2, Timeout: 1000,
		}
		change(p)
		return p
	}
	for says, change := range map[string]func(*hostapi.Probe){
		"ev.port: 2":     func(p *hostapi.Probe) { p.EV.Port = 2 },
		"format.mode":    func(p *hostapi.Probe) { p.Format.Mode = hostapi.FormatUDP },
		"count: 0":       func(p *hostapi.Probe) { p.Count = 0 },
		"ev.value":       func(p *hostapi.Probe) { p.EV = hostapi.NewEV(1, 1) },
		"timeout_ns: 0s": func(p *hostapi.Probe) { p.Timeout = 0 },
	} {
		r := c.Probe(probe(change), func(hostapi.ProbeResult) { t.Errorf("%s: probed", says) })
		if r == nil || r.ID != 9 || r.Sent != 0 || !strings.Contains(r.Err, says) {
			t.Errorf("%s: %+v", says, r)
		}
	}
	var got hostapi.ProbeResult
	if r := c.Probe(probe(func(*hostapi.Probe) {}),
		func(r hostapi.ProbeResult) { got = r }); r != nil || got.ID != 9 || got.Received != 2 {
		t.Errorf("%+v, %+v", r, got)
	}
	e.Device.OptAttr = 0
	c.Hello("h1", "", 1) // capabilities are asked for again
	if r := c.Probe(probe(func(*hostapi.Probe) {}), nil); r == nil ||
		!strings.Contains(r.Err, "opt_attr") {
		t.Errorf("%+v", r)
	}
}

// TestFirstUpdate: an endpoint hears of the first state even if it says nothing, and of a later one
// only if that changes something.
func TestFirstUpdate(t *testing.T) {
	e := &agenttest.Endpoint{}
	c := agent.NewCore(e)
	for i, want := range []int{1, 1, 1} {
		u := &hostapi.Update{Version: hostapi.Version{Epoch: uint64(i + 1), Number: 1}}
		if m, ok := c.Update(u).(*hostapi.Applied); !ok || len(e.Changes()) != want {
			t.Errorf("update %d: %+v, %d changes, want %d", i, m, len(e.Changes()), want)
		}
	}
}

// TestRestored: Restored restores the stored state with its version; if the endpoint cannot hold
// the state, Restored restores nothing.
func TestRestored(t *testing.T) {
	kept := &hostapi.Update{Version: hostapi.Version{Epoch: 3, Number: 5},
		Delta: hostapi.Delta{SetProfiles: []*hostapi.Profile{profile("a")}}}
	e := &agenttest.Endpoint{}
	if v, s, err := agent.Restored(e, kept); err != nil || v != kept.Version ||
		s.Profile("a") == nil || e.State() != s {
		t.Errorf("%v, %+v, %v", v, s, err)
	}
	e = &agenttest.Endpoint{Refuse: func(agent.Change) error { return errors.New("EIO") }}
	if v, s, err := agent.Restored(e, kept); err == nil || v != (hostapi.Version{}) || s != nil {
		t.Errorf("%v, %+v, %v", v, s, err)
	}
}

// TestProbePorts: a probe may leave its port to the device; one that it names must be the device's.
func TestProbePorts(t *testing.T) {
	e := &agenttest.Endpoint{Device: (&agenttest.Endpoint{}).Capabilities()}
	e.Device.Ports = hostapi.Ports(2)
	c := agent.NewCore(e)
	for port, want := range []bool{true, false, true, false} {
		p := &hostapi.Probe{ID: 9, Destination: hostapitest.Peer(1), Format: profile("a").Format,
			EV: hostapi.NewEV(1<<16, uint8(port)), Count: 1, Timeout: 1000}
		if r := c.Probe(p, func(hostapi.ProbeResult) {}); (r == nil) != want {
			t.Errorf("port %d: %+v", port, r)
		}
	}
}

// TestAgentConfig: durations are positive, the controller is host:port unless something else
// connects. Defaults are as documented.
func TestAgentConfig(t *testing.T) {
	d := agent.DefaultConfig()
	if d.WelcomeTimeout != 10*time.Second || d.PingInterval != 10*time.Second ||
		d.PingTimeout != 5*time.Second || d.Software != "weft" {
		t.Errorf("%+v", d)
	}
	for name, edit := range map[string]func(*agent.Config) bool{ // whether it can be used
		"defaults": func(*agent.Config) bool { return true },
		"no port":  func(c *agent.Config) bool { c.Controller = "controller"; return false },
		"a connection of its own": func(c *agent.Config) bool {
			c.Controller = ""
			c.Connect = func(context.Context) (agent.Conn, error) { return nil, nil }
			return true
		},
		"least times": func(c *agent.Config) bool {
			c.WelcomeTimeout, c.PingInterval, c.PingTimeout = 1, 1, 1
			return true
		},
		"no WelcomeTimeout": func(c *agent.Config) bool { c.WelcomeTimeout = 0; return false },
		"no PingInterval":   func(c *agent.Config) bool { c.PingInterval = 0; return false },
		"no PingTimeout":    func(c *agent.Config) bool { c.PingTimeout = 0; return false },
	} {
		c := agent.DefaultConfig()
		c.Name, c.Controller = "h1", "controller:1"
		want := edit(&c)
		if err := c.Validate(); (err == nil) != want || err != nil && !errors.Is(err, agent.ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
