package southbound

import (
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"testing"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/test/speech"
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
		cmd := exec.Command(bin, "--no-p4", "--device-id", "1", "--log-level", "off", "--thrift-port",
			"0",
			"--", "--grpc-server-addr", addr, "--cpu-port", "510")
		speech.Of(t, cmd)
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
	cfg.Target, cfg.DeviceID, cfg.Election, cfg.Pipeline = addr, 1, ElectionID{High: 1, Low: 2},
		pipeline
	ev := make(events, 1024)
	s, err := Open(t.Context(), cfg, ev.handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if !next[Ready](t, ev).Installed {
		t.Error("the pipeline was not installed on an empty switch")
	}
	want := fabricEntities()
	wantAccepted(t)(s.Write(t.Context(), insert(want...)))
	contents := readBack(t, s, want)
	if len(contents.Unknown) > 0 {
		t.Errorf("BMv2 cannot read back %v", contents.Unknown)
	}

	wantAccepted(t)(s.Confirm(t.Context(), insert(want...)))

	refused, err := s.Write(t.Context(), insert(want[0], want[len(want)-2]))
	if err != nil || len(refused) != 2 {
		t.Errorf("inserting twice: %v, %v", refused, err)
	}
	for _, r := range refused {
		if r.Reason != entry.RefusedExists {
			t.Errorf("inserting twice: %+v", r)
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
	// The test misses one unwritten entity of each kind, and nothing else.
	wantAccepted(t)(s.Write(t.Context(), insert(want[0], want[2])))
	missed, err := s.Confirm(t.Context(), insert(want...))
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range want {
		there := slices.ContainsFunc(missed, func(r entry.Refusal) bool { return r.Update == i })
		if written := i == 0 || i == 2; written == there {
			t.Errorf("%s: missed %t, written %t", e, there, written)
		}
	}
	wantAccepted(t)(s.Write(t.Context(), insert(append([]entry.Entity{want[1]}, want[3:]...)...)))

	// Everything goes, in the reverse order of reference.
	var deletes []entry.Update
	for _, e := range slices.Backward(want) {
		deletes = append(deletes, entry.Update{Type: entry.Delete, Entity: e})
	}
	kept, err := s.Confirm(t.Context(), deletes)
	// all but the default action, which would be set back
	if n := len(want) - 1; err != nil || len(kept) != n {
		t.Errorf("before the deletion %d entities are still there, want %d: %v", len(kept), n, err)
	}
	wantAccepted(t)(s.Write(t.Context(), deletes))
	wantAccepted(t)(s.Confirm(t.Context(), deletes))
	left, err := s.ReadAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left.Entities {
		if e.Kind() != entry.KindDefault {
			t.Errorf("%s is left", e)
		}
	}
	cells, err := s.ReadCounters(t.Context(), "")
	if err != nil || len(cells) == 0 {
		t.Errorf("%d counter cells, %v", len(cells), err)
	}
}

// readBack compares the switch's entities with the wanted entities.
func readBack(t *testing.T, s *Session, want []entry.Entity) entry.Contents {
	t.Helper()
	contents, err := s.ReadAll(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	have := make(map[entry.Key]entry.Entity)
	for _, e := range contents.Entities {
		have[e.Key()] = e
	}
	for _, e := range want {
		if !entry.Equal(have[e.Key()], e) {
			t.Errorf("wrote     %v\nread back %v", e, have[e.Key()])
		}
		delete(have, e.Key())
	}
	for _, e := range have {
		if e.Kind() != entry.KindDefault {
			t.Errorf("%s was never written", e)
		}
	}
	return contents
}

// fabricEntities returns one entity of each kind and match kind in the fabric's program, in order
// of reference.
func fabricEntities() []entry.Entity {
	forward := func(port, neighbor uint64) entry.Action {
		return entry.Do(p4.ActionForward, entry.With("port", entry.Uint(port)),
			entry.With("neighbor", entry.Uint(neighbor)))
	}
	to := func(action entry.Action, prefix string) entry.Table {
		var m entry.Match
		if p := netip.MustParsePrefix(prefix); p.Bits() > 0 { // a prefix of length 0 is left out
			m = entry.Match{Field: "dst_addr", Kind: entry.MatchLPM, Value: entry.Addr(p.Addr()),
				Bits: p.Bits()}
		}
		return entry.In(p4.TableIpv6Route, action, entry.Exact("vrf", entry.Uint(0)), m)
	}
	node := entry.In(p4.TableNode,
		entry.Do(p4.ActionSetNode,
			entry.With("address", entry.Addr(netip.MustParseAddr("2001:db8:ff::1"))),
			entry.With("tlv_type", entry.Uint(124))))
	node.Default = true
	ecmp := entry.In(p4.TableEcmp, entry.Action{}, entry.Exact("group", entry.Uint(7)))
	ecmp.Group = 7
	return []entry.Entity{
		entry.Clone{ID: 511, Replicas: []entry.Replica{{Port: 510}}},
		entry.Copies(64, entry.Replica{Port: 3, Instance: 1}, entry.Replica{Port: 509, Instance: 256}),
		entry.Copies(66),
		entry.Member{Profile: p4.ActionProfileEcmpSelector, ID: 1, Action: forward(1, 0)},
		entry.Member{Profile: p4.ActionProfileEcmpSelector, ID: 2, Action: forward(256, 1)},
		entry.Group{Profile: p4.ActionProfileEcmpSelector, ID: 7, Members: []uint32{1, 2, 2}},
		entry.In(p4.TableMyStation, entry.Do(p4.ActionAcceptStation),
			entry.Exact("dst_addr", entry.MAC([6]byte{2, 0, 0, 0, 0, 1}))),
		to(forward(1, 0), "2001:db8::/32"),
		to(entry.Do(p4.ActionEcmpGroup, entry.With("group", entry.Uint(7))), "2001:db8:1::/48"),
		to(forward(2, 513), "::/0"),
		ecmp, node,
	}
}
