package hosts_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/api/hostapi/hostapitest"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/agent/agenttest"
	"github.com/weft-sdn/weft/southbound/hosts"
)

// TestRandomFaults plays both ends without a stream in between: changing states, lost messages and
// answers, restarts of either end, devices that refuse for a while. In the end the host holds the
// wanted state. At any time the host holds a state that was once wanted, possibly without the
// refused parts.
func TestRandomFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(0, 0)
		refusing := false
		device := &agenttest.Endpoint{Device: hostapitest.Capabilities()}
		if rapid.Bool().Draw(t, "offline only") {
			device.Device.OptAttr &^= hostapi.OptEVProfileModifyOnline
		}
		device.Refuse = func(c agent.Change) error {
			if err := device.Device.Check(c.To); err != nil {
				return err
			}
			if refusing && len(c.Delta.SetProfiles) > 0 {
				return &hostapi.FieldError{Code: hostapi.CodeBusy, Field: "set_profiles[" +
					c.Delta.SetProfiles[0].Name + "]", Reason: "busy"}
			}
			return nil
		}
		epoch := uint64(1)
		host, core := hosts.NewHost("h1", epoch, time.Second), agent.NewCore(device)
		var desired *hostapi.State
		var update *hostapi.Update // on its way down
		var answer hostapi.Up      // on its way up
		set := func(s *hostapi.State) {
			desired = s
			host.Set(s)
		}
		connect := func() {
			update, answer = nil, nil
			host.Gone()
			host.Hello(core.Hello("h1", "", 1))
		}
		send := func() {
			if u, _ := host.Next(now); u != nil {
				if update != nil || answer != nil {
					t.Fatal("two updates on their way")
				}
				update = u
			}
		}
		arrive := func() {
			if update == nil {
				return
			}
			var parts hostapi.Assembler
			for _, p := range hostapi.Parts(update, 300) {
				if u, lost, err := parts.Add(p); lost || err != nil {
					t.Fatalf("%v, %v", lost, err)
				} else if u != nil {
					answer = core.Update(u)
				}
			}
			update = nil
		}
		answered := func() {
			var err error
			switch m := answer.(type) {
			case *hostapi.Applied:
				err = host.Applied(m.Version)
			case *hostapi.Refused:
				err = host.Refused(m, now)
			}
			if err != nil {
				t.Fatal(err)
			}
			answer = nil
		}
		set(hostapitest.State().Draw(t, "first"))
		connect()
		t.Repeat(map[string]func(*rapid.T){
			"set":     func(t *rapid.T) { set(hostapitest.State().Draw(t, "state")) },
			"send":    func(*rapid.T) { send() },
			"arrive":  func(*rapid.T) { arrive() },
			"answer":  func(*rapid.T) { answered() },
			"connect": func(*rapid.T) { connect() },
			"time":    func(*rapid.T) { now = now.Add(700 * time.Millisecond) },
			"refuse":  func(t *rapid.T) { refusing = rapid.Bool().Draw(t, "refusing") },
			"controller restarts": func(*rapid.T) {
				epoch++
				host = hosts.NewHost("h1", epoch, time.Second)
				host.Set(desired)
				connect()
			},
			"agent restarts": func(*rapid.T) {
				device = &agenttest.Endpoint{Device: device.Device, Refuse: device.Refuse}
				core = agent.NewCore(device)
				connect()
			},
			"": func(t *rapid.T) {
				if v, state := host.Held(); state != nil && update == nil && answer == nil {
					if held, has := core.Held(); held != v || !has.Equal(state) {
						t.Fatalf("the controller takes the host to hold %v, it holds %v", v, held)
					}
					if host.Obeys() {
						obeys(t, state, desired)
					}
				}
			},
		})
		refusing = false
		for range 20 {
			now = now.Add(2 * time.Second)
			send()
			arrive()
			answered()
		}
		if _, has := core.Held(); !has.Equal(desired) {
			t.Fatalf("holds %+v, want %+v; refusals %v", has, desired, host.Refusals())
		}
		if u, _ := host.Next(now); u != nil || !host.Current() {
			t.Fatalf("not current: %+v", u)
		}
	})
}

// obeys checks that a host uses no forbidden EV and no forbidden port.
func obeys(t *rapid.T, held, desired *hostapi.State) {
	if held.DeniedPorts != desired.DeniedPorts {
		t.Fatalf("denied ports %#x, want %#x", held.DeniedPorts, desired.DeniedPorts)
	}
	for _, p := range held.Profiles {
		want := desired.Profile(p.Name)
		if want == nil {
			t.Fatalf("holds profile %s, which it is not to", p.Name)
		}
		for _, v := range want.Denied {
			if p.Has(v) && !p.IsDenied(v) {
				t.Fatalf("EV %v of profile %s is denied, and it uses it", v, p.Name)
			}
		}
	}
}
