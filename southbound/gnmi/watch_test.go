package gnmi

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/internal/bubble"
)

// mode returns the mode in which a path is reported to be answered.
func (r *Report) mode(path string) string {
	for _, p := range r.Paths {
		if p.Path == path {
			return p.Mode
		}
	}
	return "not asked for"
}

const operPath = "/interfaces/interface[name=*]/state/oper-status"

// TestTogether checks that a target which takes everything is asked once for states and once for
// counters, with its values learned and samples handed on.
func TestTogether(t *testing.T) {
	samples := make(chan []Sample, 16)
	cfg := testConfig()
	cfg.Samples = func(b []Sample) { samples <- b }
	x := &target{caps: &gpb.CapabilityResponse{GNMIVersion: "0.10.0",
		SupportedEncodings: []gpb.Encoding{gpb.Encoding_PROTO}}}
	states := make(chan struct{})
	x.serve = func(l *gpb.SubscriptionList, send func(...any)) error {
		if !isCounters(l) {
			send(said("eth1 state/id", 1, "eth1 state/oper-status", "UP", "eth1 ethernet/state/port-speed",
				"openconfig-if-ethernet:SPEED_100GB",
				"eth1 ethernet/state/mac-address", "02:00:00:00:00:01", "eth1 config/enabled", "true",
				"eth1 config/mtu", 9216, "eth1 config/description", "to n4"), true)
			return nil
		}
		<-states
		n := said("eth1 state/counters/in-octets", 100, "eth1 state/counters/out-octets",
			"18446744073709551615", "eth1 state/counters/in-pkts", "x", "eth2 state/counters/in-octets", 5)
		n.Timestamp = 7
		send(n, true)
		return nil
	}
	w := watch(t, x, cfg)
	s := w.until("up", func(s *State) bool { return s.Up()[1] })
	i := s.Interfaces[0]
	if i.Name != "eth1" || i.Speed != 100e9 || i.MAC != "02:00:00:00:00:01" || !*i.Config.Enabled ||
		*i.Config.MTU != 9216 || *i.Config.Description != "to n4" || i.Config.Speed != nil {
		t.Errorf("%+v", i)
	}
	if s.Report.Dialect != "openconfig" || s.Report.Encoding != "PROTO" ||
		s.Report.Version != "0.10.0" || s.Report.mode(operPath) != "ON_CHANGE" {
		t.Errorf("%+v", s.Report)
	}
	close(states)
	b := <-samples
	if len(b) != 1 { // the port of eth2 is unknown
		t.Fatalf("%+v", b)
	}
	got := b[0]
	if got.Switch != "s1" || got.Port != 1 || got.Interface != "eth1" ||
		!got.Time.Equal(time.Unix(0, 7)) || got.Arrived.IsZero() ||
		got.In.Octets != (Count{100, true}) || got.Out.Octets != (Count{1<<64 - 1, true}) ||
		got.In.Packets.OK || got.Out.Errors.OK {
		t.Errorf("%+v", got)
	}
	s = w.until("counters reported", func(s *State) bool {
		return s.Report.mode("/interfaces/interface[name=*]/state/counters") != ""
	})
	if got := s.Report.mode("/interfaces/interface[name=*]/state/counters"); got != "SAMPLE" {
		t.Errorf("counters by %q", got)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.tried != 2 {
		t.Errorf("asked %d times, want 2", x.tried)
	}
	for _, l := range x.asked {
		for _, sub := range l.GetSubscription() {
			if o := sub.GetPath().GetOrigin(); o != "openconfig" {
				t.Errorf("origin %q of %v", o, sub)
			}
			if isCounters(l) != (sub.GetMode() == gpb.SubscriptionMode_SAMPLE &&
				sub.GetSampleInterval() == 1e9) {
				t.Errorf("%v", sub)
			}
		}
	}
}

// TestFallback: a target that refuses a subscription is asked for each path alone, in the modes of
// the dialect, and the report has the outcome.
func TestFallback(t *testing.T) {
	for _, code := range []codes.Code{codes.Unimplemented, codes.InvalidArgument} {
		x := &target{takes: func(path string, mode gpb.SubscriptionMode) error {
			switch {
			case path == operPath && mode == gpb.SubscriptionMode_SAMPLE,
				path == "/interfaces/interface[name=*]/state/ifindex" &&
					mode == gpb.SubscriptionMode_TARGET_DEFINED:
				return nil
			}
			return status.Error(code, "not here")
		}}
		x.serve = func(_ *gpb.SubscriptionList, send func(...any)) error {
			send(said("eth1 state/ifindex", 3, "eth1 state/oper-status", "DOWN"), true)
			return nil
		}
		w := watch(t, x, testConfig())
		s := w.until("a port", func(s *State) bool { return s.Interfaces != nil })
		if !maps.Equal(s.Up(), map[uint32]bool{3: false}) {
			t.Errorf("%v: %v", code, s.Up())
		}
		modes := make(map[string]string)
		for _, p := range s.Report.Paths {
			modes[p.Path] = p.Mode
			if (p.Mode == "") != strings.Contains(p.Error, "not here") {
				t.Errorf("%v: %+v", code, p)
			}
		}
		if modes[operPath] != "SAMPLE" ||
			modes["/interfaces/interface[name=*]/state/ifindex"] != "TARGET_DEFINED" ||
			modes["/interfaces/interface[name=*]/config/mtu"] != "" {
			t.Errorf("%v: %v", code, modes)
		}
	}
}

// TestRefused checks that the watcher reports a target without port states, forgets its known
// state, and asks the target again after the pause for such targets.
func TestRefused(t *testing.T) {
	refuse := make(chan struct{})
	x := &target{}
	x.takes = func(string, gpb.SubscriptionMode) error {
		select {
		case <-refuse:
			return status.Error(codes.Unimplemented, "another program")
		default:
			return nil
		}
	}
	x.serve = func(_ *gpb.SubscriptionList, send func(...any)) error {
		send(said("eth1 state/id", 1, "eth1 state/oper-status", "UP"), true)
		<-refuse
		return status.Error(codes.Unavailable, "restarting")
	}
	w := watch(t, x, testConfig())
	w.until("up", func(s *State) bool { return s.Up()[1] })
	close(refuse)
	s := w.until("an error", func(s *State) bool { return s.Err != nil })
	if code(s.Err) == codes.Unavailable {
		if s.Interfaces == nil {
			t.Error("a restart has what is known forgotten")
		}
		s = w.until("a refusal", func(s *State) bool { return code(s.Err) == codes.Unimplemented })
	}
	if s.Interfaces != nil || s.Up() != nil {
		t.Errorf("%+v; want that nothing is known", s)
	}
	for _, p := range s.Report.Paths {
		if p.Mode != "" {
			t.Errorf("%+v", p)
		}
	}
}

// TestAskedAgain checks that the watcher asks a target that refused again, after the pause for
// refusals.
func TestAskedAgain(t *testing.T) {
	x := &target{}
	left := 3 * 30 // paths of the dialect in all modes, three times
	x.takes = func(string, gpb.SubscriptionMode) error {
		x.mu.Lock()
		defer x.mu.Unlock()
		if left--; left > 0 {
			return status.Error(codes.Unimplemented, "not in this version")
		}
		return nil
	}
	x.serve = func(_ *gpb.SubscriptionList, send func(...any)) error {
		send(said("eth1 state/id", 1, "eth1 state/oper-status", "UP"), true)
		return nil
	}
	cfg := testConfig()
	cfg.Retry = time.Millisecond
	w := watch(t, x, cfg)
	w.until("refused", func(s *State) bool { return s.Err != nil })
	w.until("up", func(s *State) bool { return s.Up()[1] })
}

// TestDip checks that a port which goes down and up again at once is reported down in between.
func TestDip(t *testing.T) {
	x := &target{}
	next := make(chan struct{})
	x.serve = func(_ *gpb.SubscriptionList, send func(...any)) error {
		send(said("eth1 state/id", 1, "eth1 state/oper-status", "UP"), true)
		<-next
		for range 100 {
			send(said("eth1 state/oper-status", "DOWN"), said("eth1 state/oper-status", "UP"))
		}
		return nil
	}
	w := watch(t, x, testConfig())
	w.until("up", func(s *State) bool { return s.Up()[1] })
	close(next)
	w.until("down", func(s *State) bool { up, ok := s.Up()[1]; return ok && !up })
	w.until("up again", func(s *State) bool { return s.Up()[1] })
}

// TestSet checks that a Set makes one request fenced by the election id, and that the watcher asks
// a target that refuses the request for each setting alone.
func TestSet(t *testing.T) {
	for _, c := range []struct {
		name, dialect, want string
		caps                *gpb.CapabilityResponse
	}{
		{"openconfig", "", `bool_val:true uint_val:9000 string_val:"SPEED_400GB"`,
			&gpb.CapabilityResponse{SupportedEncodings: []gpb.Encoding{gpb.Encoding_PROTO,
				gpb.Encoding_JSON_IETF}}},
		{"JSON", "openconfig",
			`json_ietf_val:"true" json_ietf_val:"9000" json_ietf_val:"\"openconfig-if-ethernet:SPEED_400GB\""`, &gpb.CapabilityResponse{SupportedEncodings: []gpb.Encoding{gpb.Encoding_JSON_IETF}}},
		{"sonic", "sonic", `json_ietf_val:"true"`, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := &target{caps: c.caps}
			x.serve = func(_ *gpb.SubscriptionList, send func(...any)) error {
				send(said("eth1 state/id", 1, "eth1 state/oper-status", "UP"), true)
				return nil
			}
			cfg := testConfig()
			cfg.Dialect = c.dialect
			w := watch(t, x, cfg)
			w.until("up", func(s *State) bool { return s.Up()[1] })
			x.mu.Lock()
			x.takes = func(path string, _ gpb.SubscriptionMode) error {
				if strings.HasSuffix(path, "/mtu") {
					return status.Error(codes.InvalidArgument, "mtu of 9000 is too much")
				}
				return nil
			}
			x.mu.Unlock()
			enabled, mtu, speed := true, uint32(9000), uint64(400e9)
			refused, err := w.Set(t.Context(), Election{High: 1, Low: 7, Role: "r"}, "eth1",
				&Settings{Enabled: &enabled, MTU: &mtu, Speed: &speed})
			if err != nil || len(refused) != 1 || refused[0].Setting != SettingMTU ||
				!strings.Contains(refused[0].Err.Error(), "too much") {
				t.Fatalf("%v, %v", refused, err)
			}
			x.mu.Lock()
			defer x.mu.Unlock()
			if len(x.sets) != 4 {
				t.Fatalf("%d requests, want one for all and one for each setting", len(x.sets))
			}
			var values []string
			for _, s := range x.sets {
				for _, u := range s.GetUpdate() {
					if got, want := u.GetPath().GetOrigin(),
						named(cmp.Or(c.dialect, "openconfig")).Origin; got != want {
						t.Errorf("origin %q of %v, want %q", got, u, want)
					}
				}
				m := s.GetExtension()[0].GetMasterArbitration()
				if m.GetElectionId().GetHigh() != 1 || m.GetElectionId().GetLow() != 7 ||
					m.GetRole().GetId() != "r" {
					t.Errorf("fenced by %v", m)
				}
				if len(s.GetUpdate()) == 1 {
					values = append(values, strings.ReplaceAll(s.GetUpdate()[0].GetVal().String(), "  ", " "))
				}
			}
			wantPrefix := ""
			if c.dialect == "sonic" {
				wantPrefix = "OC-YANG"
			}
			if x.sets[0].GetPrefix().GetTarget() != wantPrefix {
				t.Errorf("target %q", x.sets[0].GetPrefix().GetTarget())
			}
			all := strings.Join(values, " ")
			for part := range strings.SplitSeq(c.want, " ") {
				if !strings.Contains(all, part) {
					t.Errorf("%s lacks %s", all, part)
				}
			}
		})
	}
}

// TestSetUnsupported checks that a setting without a path in the dialect is refused without a
// request, and that there is no request without a connection.
func TestSetUnsupported(t *testing.T) {
	x := &target{}
	x.serve = func(_ *gpb.SubscriptionList, send func(...any)) error { send(true); return nil }
	cfg := testConfig()
	cfg.Dialect = "stratum"
	mtu := uint32(9000)
	if _, err := New(cfg, nil).Set(t.Context(), Election{}, "1/1/0",
		&Settings{MTU: &mtu}); !errors.Is(err, ErrNotConnected) {
		t.Error(err)
	}
	w := watch(t, x, cfg)
	w.until("an answer", func(s *State) bool { return s.Interfaces != nil })
	refused, err := w.Set(t.Context(), Election{}, "1/1/0", &Settings{MTU: &mtu})
	if err != nil || len(refused) != 1 || !errors.Is(refused[0].Err, ErrUnsupported) ||
		len(x.sets) > 0 {
		t.Errorf("%v, %v, %d requests", refused, err, len(x.sets))
	}
}

// flooding is a target that sends notifications as fast as the receiver can accept.
type flooding struct {
	gpb.GNMIClient
	grpc.BidiStreamingClient[gpb.SubscribeRequest, gpb.SubscribeResponse]
	with  *gpb.Notification
	taken atomic.Int64
}

func (x *flooding) Capabilities(context.Context, *gpb.CapabilityRequest,
	...grpc.CallOption) (*gpb.CapabilityResponse, error) {
	return nil, status.Error(codes.Unimplemented, "")
}
func (x *flooding) Subscribe(context.Context,
	...grpc.CallOption) (grpc.BidiStreamingClient[gpb.SubscribeRequest, gpb.SubscribeResponse],
	error) {
	return x, nil
}
func (x *flooding) Send(*gpb.SubscribeRequest) error { return nil }
func (x *flooding) Recv() (*gpb.SubscribeResponse, error) {
	x.taken.Add(1)
	return &gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: x.with}}, nil
}

// TestFlood checks that updates of a target that floods are taken at a bounded rate, whether they
// come alone or many in a message.
func TestFlood(t *testing.T) {
	for _, each := range []int{0, 99} {
		bubble.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			x := &flooding{with: &gpb.Notification{Update: make([]*gpb.Update, each)}}
			w := New(testConfig(), func(context.Context, State) {})
			if _, err := w.serve(ctx, x); err == nil {
				t.Fatal("the subscription ended without an error")
			}
			taken := int(x.taken.Load()) * (each + 1)
			if most := stateBurst + 10*int(stateRate); taken > most+2*(each+1) ||
				taken < most-int(stateRate) {
				t.Errorf("%d updates in ten seconds, want about %d", taken, most)
			}
		})
	}
}

// TestDead checks that a target which stops answering is given up, and asked again.
func TestDead(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		x := &silent{}
		cfg := testConfig()
		cfg.ProbeInterval = 5 * time.Second
		var states []State
		w := New(cfg, func(_ context.Context, s State) { states = append(states, s) })
		began := time.Now()
		_, err := w.serve(t.Context(), x)
		if !errors.Is(err, ErrDead) || time.Since(began) != 10*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// silent is a target that answers one Capabilities request and nothing more.
type silent struct {
	gpb.GNMIClient
	grpc.BidiStreamingClient[gpb.SubscribeRequest, gpb.SubscribeResponse]
	asked int
	ctx   context.Context
}

func (x *silent) Capabilities(ctx context.Context, _ *gpb.CapabilityRequest,
	_ ...grpc.CallOption) (*gpb.CapabilityResponse, error) {
	if x.asked++; x.asked == 1 {
		return &gpb.CapabilityResponse{}, nil
	}
	<-ctx.Done()
	return nil, status.FromContextError(ctx.Err()).Err()
}
func (x *silent) Subscribe(ctx context.Context,
	_ ...grpc.CallOption) (grpc.BidiStreamingClient[gpb.SubscribeRequest, gpb.SubscribeResponse],
	error) {
	x.ctx = ctx
	return x, nil
}
func (x *silent) Send(*gpb.SubscribeRequest) error { return nil }
func (x *silent) Recv() (*gpb.SubscribeResponse, error) {
	<-x.ctx.Done()
	return nil, x.ctx.Err()
}

// TestDetect checks which dialect a switch is asked in.
func TestDetect(t *testing.T) {
	for model, want := range map[string]string{"sonic-db": "sonic",
		"openconfig-interfaces": "openconfig", "": "openconfig"} {
		c := &gpb.CapabilityResponse{SupportedModels: []*gpb.ModelData{{Name: "openconfig-platform"},
			{Name: model}}}
		if got := detect(c).Name; got != want {
			t.Errorf("model %q: %s, want %s", model, got, want)
		}
	}
	if got := detect(nil).Name; got != "openconfig" {
		t.Errorf("without capabilities: %s", got)
	}
}
