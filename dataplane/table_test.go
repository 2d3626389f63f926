package dataplane

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weft-sdn/weft/dataplane/engine"

	"github.com/weft-sdn/weft/dataplane/bitfield"
	"github.com/weft-sdn/weft/dataplane/drop"
)

func TestBadEntries(t *testing.T) {
	r := newBed(t, "basic")
	route, acl := r.table("route"), r.table("acl")
	fwd := r.call("forward", "0001")
	for _, c := range []struct {
		name  string
		table int
		e     engine.Entry
		want  error
	}{
		{"too few match fields", route, r.entry(key("0001"), 0, fwd), engine.ErrBadValue},
		{"value too wide", route, r.entry(key("010001", "*"), 0, fwd), engine.ErrBadValue},
		{"prefix too long", route, r.entry(key("0001", addrA+"/129"), 0, fwd), engine.ErrBadValue},
		{"bits beyond the prefix", route, r.entry(key("0001", addrA+"/64"), 0, fwd), engine.ErrBadValue},
		{"priority where there is none", route, r.entry(key("0001", "*"), 5, fwd), engine.ErrBadValue},
		{"no priority where one is needed", acl, r.entry(key("*", "*", "01"), 0, r.call("drop")),
			engine.ErrBadValue},
		{"bits outside the mask", acl, r.entry(key("03&01", "*", "01"), 1, r.call("drop")),
			engine.ErrBadValue},
		{"empty range", acl, r.entry(key("*", "05-04", "01"), 1, r.call("drop")), engine.ErrBadValue},
		{"range end too wide", acl, r.entry(key("*", "05-100000", "01"), 1, r.call("drop")),
			engine.ErrBadValue},
		{"argument too wide", route, r.entry(key("0001", "*"), 0, r.call("forward", "0200")),
			engine.ErrBadValue},
		{"argument missing", route, r.entry(key("0001", "*"), 0, engine.ActionCall{Action: fwd.Action}),
			engine.ErrBadValue},
		{"another table's action", route, r.entry(key("0001", "*"), 0, r.call("set_vrf", "0001")),
			engine.ErrBadValue},
		{"no such action", route, r.entry(key("0001", "*"), 0, engine.ActionCall{Action: 999}),
			engine.ErrBadValue},
		{"no such table", 999, r.entry(key("0001", "*"), 0, fwd), engine.ErrNotFound},
		{"idle timeout where there is none", route, func() engine.Entry {
			e := r.entry(key("0001", "*"), 0, fwd)
			e.IdleTimeout = 1
			return e
		}(), engine.ErrBadValue},
	} {
		if err := r.s.InsertEntry(c.table, c.e); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if n := r.s.EntryCount(route) + r.s.EntryCount(acl); n != 0 {
		t.Errorf("%d entries after refusals", n)
	}
	for i := range 8 {
		r.insert("route", key(fmt.Sprintf("%04x", i), "*"), 0, fwd)
	}
	if err := r.s.InsertEntry(route, r.entry(key("0009", "*"), 0, fwd)); !errors.Is(err,
		engine.ErrFull) {
		t.Errorf("a ninth entry of eight: %v", err)
	}
	if err := r.s.ModifyEntry(route, r.entry(key("0009", "*"), 0, fwd)); !errors.Is(err,
		engine.ErrNotFound) {
		t.Errorf("change of an absent entry: %v", err)
	}
	if err := r.s.DeleteEntry(route, r.entry(key("0009", "*"), 0, fwd).Match, 0); !errors.Is(err,
		engine.ErrNotFound) {
		t.Errorf("removal of an absent entry: %v", err)
	}
	if err := r.s.SetDefaultEntry(route, engine.Target{Action: fwd}); !errors.Is(err,
		engine.ErrConst) {
		t.Errorf("change of a constant default: %v", err)
	}
}

func TestDefaultEntry(t *testing.T) {
	r := newBed(t, "basic")
	tab := r.table("port")
	g, changed, err := r.s.DefaultEntry(tab)
	if err != nil || changed || string(g.Action.Args[0]) != "\x00\x01" {
		t.Fatalf("%+v %v %v", g, changed, err)
	}
	r.setDefault("port", r.call("set_vrf", "0002"))
	g, changed, _ = r.s.DefaultEntry(tab)
	if !changed || string(g.Action.Args[0]) != "\x00\x02" {
		t.Errorf("%+v %v", g, changed)
	}
	r.insert("route", key("0002", "*"), 0, r.call("forward", "0004"))
	r.expect(1, ethIPv6+ipAB, sent{4, ethIPv6 + ipAB})
	if err := r.s.ResetDefaultEntry(tab); err != nil {
		t.Fatal(err)
	}
	r.expect(1, ethIPv6+ipAB)
}

func TestControlWithoutProgram(t *testing.T) {
	s := New(Config{}, &sink{})
	if err := s.InsertEntry(0, engine.Entry{}); !errors.Is(err, engine.ErrNoProgram) {
		t.Error(err)
	}
	if _, err := s.Counter(engine.Element(0, 0)); !errors.Is(err, engine.ErrNoProgram) {
		t.Error(err)
	}
	if err := s.InsertMember(0, engine.Member{}); !errors.Is(err, engine.ErrNoProgram) {
		t.Error(err)
	}
	s.Receive(0, 1, []byte{1})
	if _, pending := s.Advance(0); pending || s.Stats().Drops[drop.NoProgram] != 1 {
		t.Errorf("%+v", s.Stats())
	}
}

func TestReplicationControl(t *testing.T) {
	s := New(Config{}, &sink{})
	g := MulticastGroup{ID: 7, Replicas: []Replica{{Port: 1, Instance: 1}, {Port: 1, Instance: 2}}}
	check := func(what string, err, want error) {
		t.Helper()
		if !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	check("insert", s.InsertMulticastGroup(g), nil)
	check("again", s.InsertMulticastGroup(g), engine.ErrExists)
	check("group 0", s.InsertMulticastGroup(MulticastGroup{}), engine.ErrBadValue)
	check("the same copy twice",
		s.ModifyMulticastGroup(MulticastGroup{ID: 7, Replicas: []Replica{{Port: 1}, {Port: 1}}}),
		engine.ErrBadValue)
	check("change of none", s.ModifyMulticastGroup(MulticastGroup{ID: 8}), engine.ErrNotFound)
	got, err := s.MulticastGroup(7)
	if err != nil || len(got.Replicas) != 2 {
		t.Errorf("%+v %v", got, err)
	}
	check("delete", s.DeleteMulticastGroup(7), nil)
	check("delete again", s.DeleteMulticastGroup(7), engine.ErrNotFound)
	c := CloneSession{ID: 5, Replicas: []Replica{{Port: 1}}, ClassOfService: 3, PacketLength: 100}
	check("session", s.InsertCloneSession(c), nil)
	check("session again", s.InsertCloneSession(c), engine.ErrExists)
	check("session too large", s.InsertCloneSession(CloneSession{ID: 0x8000}), engine.ErrBadValue)
	check("class of service", s.InsertCloneSession(CloneSession{ID: 6, ClassOfService: 8}),
		engine.ErrBadValue)
	n := 0
	for x := range s.CloneSessions() {
		if x.PacketLength != 100 || x.ClassOfService != 3 {
			t.Errorf("%+v", x)
		}
		n++
	}
	if n != 1 {
		t.Errorf("%d sessions", n)
	}
	check("session change", s.ModifyCloneSession(CloneSession{ID: 9}), engine.ErrNotFound)
	check("session delete", s.DeleteCloneSession(5), nil)
	check("session delete again", s.DeleteCloneSession(5), engine.ErrNotFound)
}

// lowMask is the mask of all bits of a field.
func lowMask(width int) []byte { return bitfield.Prefix(width, width) }

// and is the bitwise and of values of equal length.
func and(a, b []byte) []byte {
	c := make([]byte, len(a))
	for i := range a {
		c[i] = a[i] & b[i]
	}
	return c
}
