package southbound

import (
	"errors"
	"net"
	"net/netip"
	"os/exec"
	"testing"

	"github.com/weft-sdn/weft/p4"
)

// TestBMv2 programs a simple_switch_grpc with the fabric's pipeline and reads
// everything back: what BMv2's P4Runtime server (PI) reports has to equal what
// was written, or a controller would repair it for ever.
func TestBMv2(t *testing.T) {
	bin, err := exec.LookPath("simple_switch_grpc")
	if err != nil {
		t.Skip("simple_switch_grpc is not on the PATH")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	_ = l.Close()
	start := func() (stop func()) {
		cmd := exec.Command(bin, "--no-p4", "--device-id", "1", "--log-level", "off", "--thrift-port", "0",
			"--", "--grpc-server-addr", addr, "--cpu-port", "510")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		stopped := false
		stop = func() {
			if !stopped {
				stopped = true
				_ = cmd.Process.Kill()
				_ = cmd.Wait()
			}
		}
		t.Cleanup(stop)
		return stop
	}
	stop := start()

	pipeline, err := NewPipeline(p4.P4Info(), p4.JSON())
	if err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig()
	cfg.Target, cfg.DeviceID, cfg.Election, cfg.Pipeline = addr, 1, ElectionID{High: 1, Low: 2}, pipeline
	ev := make(events, 1024)
	s, err := Open(t.Context(), cfg, ev.handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if !next[Ready](t, ev).Installed {
		t.Error("the pipeline was not installed on an empty switch")
	}
	want := fabricEntities(t, pipeline.Schema())
	var inserts []Update
	for _, e := range want {
		inserts = append(inserts, Update{Insert, e})
	}
	if err := s.Write(t.Context(), inserts); err != nil {
		t.Fatal(err)
	}
	contents := readBack(t, s, want)
	if len(contents.Unsupported) > 0 {
		t.Errorf("BMv2 cannot read back %v", contents.Unsupported)
	}

	var failed *WriteError
	err = s.Write(t.Context(), []Update{inserts[0], inserts[len(inserts)-2]})
	if !errors.As(err, &failed) || failed.Cause != nil || len(failed.Updates) != 2 {
		t.Errorf("inserting twice: %v", err)
	}
	for _, u := range failed.Updates {
		if u.Code != CodeAlreadyExists {
			t.Errorf("inserting twice: %v", u)
		}
	}

	// The connection flaps, and the switch keeps what it has.
	_ = s.Close()
	if s, err = Open(t.Context(), cfg, ev.handle); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if next[Ready](t, ev).Installed {
		t.Error("the pipeline was installed over itself")
	}
	readBack(t, s, want)

	// The switch restarts empty.
	stop()
	next[Down](t, ev)
	start()
	if !next[Ready](t, ev).Installed {
		t.Error("a restarted switch got no pipeline")
	}
	if err := s.Write(t.Context(), inserts); err != nil {
		t.Error(err)
	}

	// Everything goes, in the reverse order of reference.
	var deletes []Update
	for i := len(want) - 1; i >= 0; i-- {
		deletes = append(deletes, Update{Delete, want[i]})
	}
	if err := s.Write(t.Context(), deletes); err != nil {
		t.Error(err)
	}
	left, err := s.ReadAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left.Entities {
		if e.Kind() != KindDefaultAction {
			t.Errorf("%s is left", describe(e))
		}
	}
	cells, err := s.Read(t.Context(), Query{Kind: KindCounter})
	if err != nil || len(cells) == 0 {
		t.Errorf("%d counter cells, %v", len(cells), err)
	}
}

// readBack compares what the switch holds with what it should.
func readBack(t *testing.T, s *Session, want []Entity) Contents {
	t.Helper()
	contents, err := s.ReadAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	have := make(map[string]Entity)
	for _, e := range contents.Entities {
		have[e.Key()] = e
	}
	for _, e := range want {
		if !Equal(have[e.Key()], e) {
			t.Errorf("wrote     %+v\nread back %+v", e, have[e.Key()])
		}
		delete(have, e.Key())
	}
	for _, e := range have {
		if te, ok := e.(TableEntry); !ok || !te.Default && !te.Const {
			t.Errorf("%s was never written", describe(e))
		}
	}
	return contents
}

// fabricEntities has one entity of each kind, and of each kind of match, that
// the fabric's program has, in order of reference.
func fabricEntities(t *testing.T, s *Schema) []Entity {
	t.Helper()
	action := func(name string, args ...Value) Action {
		for _, a := range s.Actions {
			if a.Name == name && len(a.Params) == len(args) {
				out := Action{ID: a.ID}
				for i, p := range a.Params {
					out.Params = append(out.Params, Param{ID: p.ID, Value: args[i]})
				}
				return out
			}
		}
		t.Fatalf("the program has no action %s of %d parameters", name, len(args))
		return Action{}
	}
	table := func(name string, matches ...Match) TableEntry {
		info, err := s.Table(name)
		if err != nil || len(matches) > len(info.Fields) {
			t.Fatalf("table %s: %v", name, err)
		}
		e := TableEntry{Table: info.ID}
		for i, m := range matches {
			m.Field, m.Kind = info.Fields[i].ID, info.Fields[i].Match
			e.Match = append(e.Match, m)
		}
		return e
	}
	selector := s.Profiles[0].ID
	loopback := Addr(netip.MustParseAddr("2001:db8:ff::1"))
	node := table("node")
	node.Default, node.Action = true, action("set_node", loopback, Uint(124))
	station := table("my_station", Match{Value: MAC([6]byte{2, 0, 0, 0, 0, 1})})
	station.Action = action("accept_station")
	route := table("ipv6_route", Match{Value: Uint(0)}, Match{Value: Addr(netip.MustParseAddr("2001:db8::")), Bits: 32})
	route.Action = action("forward", Uint(1), Uint(0))
	spread := table("ipv6_route", Match{Value: Uint(0)}, Match{Value: Addr(netip.MustParseAddr("2001:db8:1::")), Bits: 48})
	spread.Action = action("ecmp_group", Uint(7))
	anywhere := table("ipv6_route", Match{Value: Uint(0)}) // a prefix of length 0 is left out
	anywhere.Action = action("forward", Uint(2), Uint(513))
	ecmp := table("ecmp", Match{Value: Uint(7)})
	ecmp.Group = 7
	return []Entity{
		CloneSession{ID: 511, Replicas: []Replica{{Port: 510}}},
		MulticastGroup{ID: 64, Replicas: []Replica{{Port: 3, Instance: 1}, {Port: 509, Instance: 256}}},
		MulticastGroup{ID: 66},
		ActionMember{Profile: selector, ID: 1, Action: action("forward", Uint(1), Uint(0))},
		ActionMember{Profile: selector, ID: 2, Action: action("forward", Uint(256), Uint(1))},
		ActionGroup{Profile: selector, ID: 7, Members: []WeightedMember{{ID: 1, Weight: 1}, {ID: 2, Weight: 2}}},
		station, route, spread, anywhere, ecmp, node,
	}
}
