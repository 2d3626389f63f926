//go:build linux && (amd64 || arm64)

package device

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/agent"
	"github.com/weft-sdn/weft/host/clib"
	"github.com/weft-sdn/weft/host/nic"
	"github.com/weft-sdn/weft/host/nic/nictest"
	"github.com/weft-sdn/weft/host/uverbs"
)

// built is the folder of programs.
var built string

// programs builds libmrc and weft-dl, once; it skips where something is missing.
var programs = sync.OnceValues(func() (dir, missing string) {
	for _, c := range []string{"gcc", "make", "go"} {
		if _, err := exec.LookPath(c); err != nil {
			return "", c + " is not on the PATH"
		}
	}
	header := exec.Command("gcc", "-E", "-x", "c", "-")
	header.Stdin = strings.NewReader("#include <infiniband/verbs.h>\n")
	if header.Run() != nil {
		return "", "no <infiniband/verbs.h>: apt-get install libibverbs-dev"
	}
	dir, err := os.MkdirTemp("", "mrcctl")
	if err != nil {
		panic(err)
	}
	built = dir
	for _, cmd := range []*exec.Cmd{exec.Command("make", "-s", "-C", "../libmrc", "OUT="+dir),
		exec.Command("go", "build", "-o", filepath.Join(dir, "weft-dl"),
			"../../cmd/weft-dl")} {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			panic(fmt.Sprintf("%v: %v\n%s", cmd, err, out))
		}
	}
	return dir, ""
})

// TestMain removes the programs.
func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

// rig is two NICs of host/nic in virtual time; the library talks to the first.
type rig struct {
	*nictest.Bed
	mu   sync.Mutex
	door *uverbs.Server
	lib  *clib.Library
	file string
}

func newRig(t *testing.T) *rig {
	dir, missing := programs()
	if missing != "" {
		t.Skip(missing)
	}
	r := &rig{Bed: nictest.New(t, 2, 2, 1, nil), file: filepath.Join(t.TempDir(), "ids.json")}
	r.door = uverbs.New(uverbs.Config{NIC: r.NICs[0], Do: r.do})
	path := filepath.Join(t.TempDir(), "nic.sock")
	l, err := uverbs.Listen(path, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- r.door.Serve(l, true) }()
	t.Setenv("WEFT_NIC_SOCKET", path)
	r.lib, err = clib.Start(filepath.Join(dir, "weft-dl"), filepath.Join(dir, "libibverbs.so.1"),
		filepath.Join(dir, "lib_mrc.so"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(r.lib.Close(), r.door.Close(), <-served); err != nil {
			t.Error(err)
		}
	})
	return r
}

// do runs f as the owner of the NIC, and a millisecond of what follows.
func (r *rig) do(f func(time.Duration)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(r.Now())
	r.door.Pump(r.Now())
	r.Wake(0)
	r.Run(r.Now()+time.Millisecond, nil)
	r.door.Pump(r.Now())
	return nil
}

func (r *rig) open(t *testing.T, lib Caller) *Control {
	t.Helper()
	d, err := NewControl(lib, "", r.file, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// holds fails the test unless the NIC has the profiles of a state, and no others.
func (r *rig) holds(t *testing.T, when string, d *Control, s *hostapi.State) {
	t.Helper()
	_ = r.do(func(time.Duration) {
		n := r.NICs[0]
		for _, p := range s.Profiles {
			id, cc := d.IDs(p.Name, p.CC)
			evs, states, ok := n.EVs(nic.LocalName(id))
			if !ok || len(evs) != p.Count || p.CC != "" && cc == 0 {
				t.Fatalf("%s: %s: id %d with %d EVs, want %d; its CC profile is %d", when, p.Name, id,
					len(evs), p.Count, cc)
			}
			want := slices.Clone(p.EVs)
			if p.Mode == hostapi.ModeGenerated {
				want = slices.DeleteFunc(slices.Clone(evs), func(v hostapi.EV) bool { return !p.Has(v) })
			}
			for i, v := range evs {
				if denied := states[i] == hostapi.EVDenied; denied != p.IsDenied(v) {
					t.Errorf("%s: %s: %v denied: %v, want %v", when, p.Name, v, denied, p.IsDenied(v))
				}
			}
			slices.SortFunc(evs, hostapi.EV.Compare)
			slices.SortFunc(want, hostapi.EV.Compare)
			if !slices.Equal(evs, want) {
				t.Errorf("%s: %s: %v, want %v", when, p.Name, evs, want)
			}
		}
		found := 0
		for id := range uint64(20) {
			if _, _, ok := n.EVs(nic.LocalName(id)); ok {
				found++
			}
		}
		if found != len(s.Profiles) {
			t.Errorf("%s: the NIC has %d profiles, want %d", when, found, len(s.Profiles))
		}
	})
}

// controlState returns a state with profiles in both modes with one format, and a profile with
// another format; edit changes it.
func controlState(t *testing.T, edit func(*hostapi.State)) *hostapi.State {
	t.Helper()
	to := func(i int) []netip.Prefix {
		return []netip.Prefix{netip.PrefixFrom(nictest.Address(i), 128)}
	}
	stev := hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{16, 16}}
	s := hostapi.State{
		CC: []*hostapi.CCProfile{{Name: "cc", Algorithm: hostapi.AlgorithmNSCC, NSCC: hostapi.NSCC{
			Gamma: 0.8, MaxMDJump: 0.5, MaxCwnd: 1 << 20, TargetDelay: 9 * time.Microsecond}}},
		Profiles: []*hostapi.Profile{
			{Name: "exp", Format: srv6Words, Mode: hostapi.ModeExplicit, Count: 3, Events: true, CC: "cc",
				EVs:    []hostapi.EV{ev("fcbb:bbbb:1::", 1), ev("fcbb:bbbb:2::", 2), ev("fcbb:bbbb:3::", 1)},
				Denied: []hostapi.EV{ev("fcbb:bbbb:2::", 2)}, MinActive: 1, Destinations: to(1)},
			{Name: "gen", Format: stev, Mode: hostapi.ModeGenerated, Count: 8, Destinations: to(2),
				Fields: []hostapi.Field{{Width: 16, InitVal: 0xc000, MaxVal: 3, Mask: 3},
					{Width: 16, MaxVal: 1, Mask: 1}}, Denied: []hostapi.EV{hostapi.NewEV(1<<30, 1)}},
			{Name: "more", Format: stev, Mode: hostapi.ModeExplicit, Count: 2, Destinations: to(3),
				EVs: []hostapi.EV{hostapi.NewEV(7<<16, 1), hostapi.NewEV(7<<16, 1)}},
		}}
	edit(&s)
	out, err := hostapi.NewState(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// srv6Words is the format of two segments.
var srv6Words = hostapi.Format{Mode: hostapi.FormatSRv6, Widths: []uint8{32, 32, 32, 32}}

// controlStates returns states; each differs from the state before in a different way.
func controlStates(t *testing.T) (out []*hostapi.State) {
	edits := []func(*hostapi.State){
		func(*hostapi.State) {},
		func(s *hostapi.State) { s.Profiles[0].Denied = nil }, // an EV comes back
		func(s *hostapi.State) { // and others are denied, replaced
			s.Profiles[0].EVs[2] = ev("fcbb:bbbb:9::", 2)
			s.Profiles[0].Denied = []hostapi.EV{ev("fcbb:bbbb:1::", 1), ev("fcbb:bbbb:9::", 2)}
			s.Profiles[1].Denied = []hostapi.EV{hostapi.NewEV(1<<29, 2)}
			s.Profiles[2].Denied = []hostapi.EV{hostapi.NewEV(7<<16, 1)}
		},
		func(s *hostapi.State) { // other counts and fields
			s.Profiles[0].EVs = s.Profiles[0].EVs[:2]
			s.Profiles[0].Count, s.Profiles[0].Events = 2, false
			s.Profiles[1].Fields[0].MaxVal, s.Profiles[1].Denied = 1, nil
			s.CC[0].NSCC.MaxCwnd = 1 << 18
		},
		func(s *hostapi.State) { // a port less, and profiles
			s.Profiles, s.CC = s.Profiles[1:2], nil
			s.DeniedPorts = hostapi.Ports(2)
		},
		func(*hostapi.State) {}, // back
	}
	for _, edit := range edits {
		out = append(out, controlState(t, edit))
	}
	return out
}

// TestControl: a device follows states, an application finds the ids of profiles, and an agent that
// starts anew changes in place what is there: ids stay.
func TestControl(t *testing.T) {
	r := newRig(t)
	d := r.open(t, r.lib)
	want := r.NICs[0].Capabilities()
	want.ProtocolVersions, want.SelfProbes = 1, false
	want.EVMaxFormats, want.EVMaxProfiles, want.CCMaxProfiles = 1024, 1024, 128 // for programs
	if is := d.Capabilities(); !is.Equal(&want) {
		t.Errorf("%+v, want %+v", is, want)
	}
	states := controlStates(t)
	for i, s := range states {
		if err := d.Apply(agent.Change{To: s}); err != nil {
			t.Fatalf("state %d: %v", i, err)
		}
		r.holds(t, fmt.Sprintf("state %d", i), d, s)
		m := memory(uint32(9))
		if err := call(r.lib, "mrc_ctl_query_port", d.at.context, 2, m, portState); err != nil ||
			(m.Octets[0] == 1) == s.DeniedPorts.Has(2) {
			t.Errorf("state %d: port 2: %v, %v, want denied: %v", i, m.Octets, err, s.DeniedPorts.Has(2))
		}
		before, _ := d.IDs("gen", "")
		d = r.open(t, r.lib)
		next := states[min(i+1, len(states)-1)]
		if err := d.Apply(agent.Change{To: next}); err != nil {
			t.Fatalf("state %d after a start: %v", i+1, err)
		}
		r.holds(t, fmt.Sprintf("state %d after a start", i+1), d, next)
		if after, _ := d.IDs("gen", ""); after != before {
			t.Errorf("profile gen had the id %d, and has %d after a start", before, after)
		}
	}
}

// TestControlProbe: probes go out by the library, and what is lost is missing.
func TestControlProbe(t *testing.T) {
	r := newRig(t)
	d := r.open(t, r.lib)
	p := &hostapi.Probe{Destination: nictest.Address(1), EV: hostapi.NewEV(7<<16, 2), DSCP: 43,
		Count: 3, Format: hostapi.Format{Mode: hostapi.FormatSTEV, Widths: []uint8{32}},
		Timeout: 100 * time.Microsecond}
	for _, want := range []int{3, 0} {
		done := make(chan hostapi.ProbeResult, 1)
		d.Probe(p, func(r hostapi.ProbeResult) { done <- r })
		got := <-done
		if got.Err != "" || got.Sent != 3 || got.Received != want || want > 0 &&
			(got.Port != 2 || got.RTTMin < 4*time.Microsecond || got.RTTMax < got.RTTMean) {
			t.Errorf("%+v, want %d of 3 by port 2", got, want)
		}
		p.Destination = nictest.Address(7)
	}
}

// failing has one call of a library fail, whatever it would do.
type failing struct {
	Caller
	calls, at int
	errno     syscall.Errno
}

func (f *failing) Call(name string, arguments ...any) (int64, syscall.Errno, error) {
	f.calls++
	if f.calls == f.at {
		return -1, f.errno, nil
	}
	return f.Caller.Call(name, arguments...)
}

// TestEachCallFails: whichever call of an update fails, the agent refuses the update, the device
// holds the state before, and takes the update the next time.
func TestEachCallFails(t *testing.T) {
	r := newRig(t)
	states := controlStates(t)
	f := &failing{Caller: r.lib, errno: syscall.EIO}
	d := r.open(t, f)
	f.at = 12 // of the first update, before any went well
	if err := d.Apply(agent.Change{To: states[0]}); err == nil {
		t.Error("a call that failed has no error")
	}
	r.holds(t, "at first", d, &hostapi.State{})
	tried := 0
	for i, s := range states {
		before := d.state
		for n := 1; ; n++ {
			f.calls, f.at = 0, n
			f.errno = []syscall.Errno{syscall.EIO, syscall.EBUSY}[n%2]
			err := d.Apply(agent.Change{To: s})
			failed := f.calls >= n
			f.at = 0
			if !failed {
				if err != nil {
					t.Fatalf("state %d: %v", i, err)
				}
				break
			}
			if err == nil { // what only cleans up may fail
				f.calls = 0
				r.holds(t, fmt.Sprintf("state %d in spite of call %d", i, n), d, s)
				if err := d.Apply(agent.Change{To: before}); err != nil {
					t.Fatal(err)
				}
				continue
			}
			tried++
			var wrong *hostapi.FieldError
			code := map[syscall.Errno]hostapi.Code{syscall.EIO: hostapi.CodeDevice,
				syscall.EBUSY: hostapi.CodeBusy}[f.errno]
			if !errors.As(err, &wrong) || wrong.Field == "" || wrong.Code != code ||
				!strings.Contains(wrong.Reason, "mrc_ctl_") {
				t.Fatalf("state %d, call %d: %v, want a field and %v", i, n, err, code)
			}
			r.holds(t, fmt.Sprintf("state %d, call %d failed", i, n), d, before)
		}
		r.holds(t, fmt.Sprintf("state %d", i), d, s)
	}
	if tried < 50 {
		t.Errorf("%d calls failed, want 50 at least", tried)
	}
}

// TestLayouts: structures have the sizes and offsets that the C compiler gives those of OCP.
func TestLayouts(t *testing.T) {
	text, err := os.ReadFile("../libmrc/testdata/abi.txt")
	if err != nil {
		t.Fatal(err)
	}
	at := make(map[string]int) // sizes of structures, offsets of members
	for _, line := range strings.Split(string(text), "\n") {
		if w := strings.Fields(line); len(w) >= 3 && w[0] == "struct" {
			n, _ := strconv.Atoi(w[len(w)-1])
			if len(w) == 5 {
				n, _ = strconv.Atoi(w[3])
				w[1] += "." + w[2]
			}
			at[w[1]] = n
		}
	}
	for name, v := range map[string]any{
		"mrc_ctl_device_attr": deviceAttr{}, "mrc_device_attr": mrcAttr{},
		"mrc_ctl_ev_fmt_profile_attr": formatAttr{}, "mrc_ctl_ev_profile_attr": evAttr{},
		"mrc_ctl_ev": hostapi.EV{}, "mrc_ctl_ev_op_entry": evEntry{}, "mrc_ctl_ev_field": evField{},
		"mrc_ctl_cc_profile_attr": ccAttr{}, "mrc_ctl_cc_nscc_cfg": nsccConfig{},
		"mrc_ctl_ev_event": evEvent{}, "mrc_ctl_ep_req": endpointRequest{},
		"mrc_ctl_ep_rsp": endpointAnswer{}} {
		if got := len(memory(v).Octets); at[name] == 0 || got != at[name] {
			t.Errorf("%s has %d octets, want %d", name, got, at[name])
		}
	}
	for name, m := range map[string]struct {
		in    any
		field string
	}{
		"mrc_ctl_device_attr.cc.algorithms":                {deviceAttr{}, "CC.Algorithms"},
		"mrc_ctl_device_attr.opt_attr":                     {deviceAttr{}, "Options"},
		"mrc_device_attr.cap":                              {mrcAttr{}, "Cap"},
		"mrc_ctl_ev_fmt_profile_attr.ev_fmt_op.fmt_fields": {formatAttr{}, "Fields.Array"},
		"mrc_ctl_ev_profile_attr.ev_fmt_profile_id":        {evAttr{}, "Format"},
		"mrc_ctl_ev_profile_attr.ev_op.entries":            {evAttr{}, "EVs.Array"},
		"mrc_ctl_ev_profile_attr.ev_fields_op.fields":      {evAttr{}, "Fields.Array"},
		"mrc_ctl_ev_op_entry.state":                        {evEntry{}, "State"},
		"mrc_ctl_cc_profile_attr.cc_config":                {ccAttr{}, "Config"},
		"mrc_ctl_cc_nscc_cfg.max_cwnd":                     {nsccConfig{}, "MaxCwnd"},
		"mrc_ctl_ev_event.state":                           {evEvent{}, "State"},
		"mrc_ctl_ep_req.req_ev":                            {endpointRequest{}, "EV"},
		"mrc_ctl_ep_rsp.rtt":                               {endpointAnswer{}, "RTT"},
	} {
		got := offset(t, reflect.TypeOf(m.in), strings.Split(m.field, "."))
		if at[name] == 0 || got != at[name] {
			t.Errorf("%s is at %d, want %d", name, got, at[name])
		}
	}
	for name, got := range map[string]int{
		"mrc_ctl_ev_fmt_profile_attr.ev_fmt_op.fmt_fields": formatFieldsAt,
		"mrc_ctl_ev_profile_attr.ev_op.entries":            evEVsAt,
		"mrc_ctl_ev_profile_attr.ev_fields_op.fields":      evFieldsAt,
		"mrc_ctl_cc_profile_attr.algorithm":                ccAlgorithmAt,
		"mrc_ctl_cc_profile_attr.cc_config":                ccConfigAt} {
		if got != at[name] {
			t.Errorf("the pointer %s is at %d, want %d", name, got, at[name])
		}
	}
}

// offset is where a member is in the octets of a structure.
func offset(t *testing.T, in reflect.Type, path []string) (at int) {
	t.Helper()
	for i := range in.NumField() {
		f := in.Field(i)
		if f.Name == path[0] {
			if len(path) > 1 {
				at += offset(t, f.Type, path[1:])
			}
			return at
		}
		at += int(reflect.Zero(f.Type).Type().Size())
	}
	t.Fatalf("%v has no %v", in, path)
	return 0
}

// scripted answers the calls of Watch.
type scripted struct {
	Caller
	polls []any
}

func (s *scripted) Call(name string, arguments ...any) (int64, syscall.Errno, error) {
	switch name {
	case "mrc_ctl_poll_ev_event":
		if len(s.polls) == 0 {
			return -int64(syscall.EIO), 0, nil
		}
		events, _ := s.polls[0].([]evEvent)
		s.polls = s.polls[1:]
		copy(arguments[2].(*clib.Memory).Octets, memory(events).Octets)
		return int64(len(events)), 0, nil
	case "mrc_ctl_create_ev_event_cq":
		return 0x1000, 0, nil
	}
	return 0, 0, nil
}

// reported keeps events.
type reported struct {
	events  []hostapi.EVEvent
	dropped uint64
}

func (r *reported) EVEvent(e hostapi.EVEvent) { r.events = append(r.events, e) }
func (r *reported) EventsDropped(n uint64)    { r.dropped += n }

// TestControlEvents: EVs that change state are reported by the names of their profiles, until the
// library fails.
func TestControlEvents(t *testing.T) {
	v := ev("fcbb:bbbb:1::", 1)
	event := func(id uint64, state hostapi.EVState, dropped uint32) evEvent {
		return evEvent{Profile: id, EV: v, State: stateOf(state), Dropped: dropped}
	}
	s := &scripted{polls: []any{nil, []evEvent{event(3, hostapi.EVAssumedBad, 0),
		event(8, hostapi.EVAssumedBad, 0)}, nil, []evEvent{event(3, hostapi.EVGood, 2)}, nil}}
	d := &Control{lib: s, at: &opened{is: hostapi.Capabilities{OptAttr: hostapi.OptEVEvent}},
		evs: map[string]*slot[*hostapi.Profile]{"exp": {id: 3}}}
	got := new(reported)
	d.Report(got)
	if err := d.Watch(); !errors.Is(err, syscall.EIO) {
		t.Errorf("%v, want %v", err, syscall.EIO)
	}
	want := []hostapi.EVEvent{{Profile: "exp", EV: v, State: hostapi.EVAssumedBad},
		{Profile: "exp", EV: v, State: hostapi.EVGood}}
	if !slices.Equal(got.events, want) || got.dropped != 2 {
		t.Errorf("%v and %d dropped, want %v and 2", got.events, got.dropped, want)
	}
}

// TestLibraryEnds: a library that crashes, or lacks a function, fails calls and says why.
func TestLibraryEnds(t *testing.T) {
	r := newRig(t)
	_, _, err := r.lib.Call("no_such_function")
	if err == nil || !strings.Contains(err.Error(), "none of") {
		t.Errorf("a function that is missing: %v", err)
	}
	if _, err := r.lib.Read(8, 8); !errors.Is(err, clib.ErrEnded) {
		t.Errorf("memory that is not there: %v, want %v", err, clib.ErrEnded)
	}
	if _, _, err := r.lib.Call("mrc_ctl_query_version", 0, 0, 0, 0); !errors.Is(err, clib.ErrEnded) {
		t.Errorf("a call after that: %v, want %v", err, clib.ErrEnded)
	}
}

// old is a library of API 1.0.0.
type old struct{ Caller }

func (old) Call(_ string, arguments ...any) (int64, syscall.Errno, error) {
	copy(arguments[0].(*clib.Memory).Octets, memory(uint32(1<<24)).Octets)
	return 0, 0, nil
}

// TestOldLibrary: a library whose events do not say what an EV became is refused.
func TestOldLibrary(t *testing.T) {
	_, err := NewControl(old{}, "", filepath.Join(t.TempDir(), "ids"), slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), "1.0.0 of mrc_ctl, want 1.0.1") {
		t.Errorf("%v, want that 1.0.1 is needed", err)
	}
}
