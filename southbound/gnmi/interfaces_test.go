package gnmi

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/protobuf/proto"
)

// ifPath reads "eth1 state/id", and "" as the whole tree.
func ifPath(text string) *gpb.Path {
	p := &gpb.Path{}
	name, below, leaf := strings.Cut(text, " ")
	if name == "" {
		return p
	}
	p.Elem = []*gpb.PathElem{{Name: "openconfig-interfaces:interfaces"},
		{Name: "interface", Key: map[string]string{"name": name}}}
	if leaf {
		for part := range strings.SplitSeq(below, "/") {
			p.Elem = append(p.Elem, &gpb.PathElem{Name: part})
		}
	}
	return p
}

func text(v string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: v}}
}
func uintVal(n uint64) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: n}}
}

// said is a notification of pairs of a path and a value: a string, an int, or a
// *gpb.TypedValue.
func said(pairs ...any) *gpb.Notification {
	n := &gpb.Notification{}
	for i := 0; i < len(pairs); i += 2 {
		u := &gpb.Update{Path: ifPath(pairs[i].(string))}
		switch v := pairs[i+1].(type) {
		case string:
			u.Val = text(v)
		case int:
			u.Val = uintVal(uint64(v))
		case *gpb.TypedValue:
			u.Val = v
		}
		n.Update = append(n.Update, u)
	}
	return n
}

func gone(paths ...string) *gpb.Notification {
	n := &gpb.Notification{}
	for _, p := range paths {
		n.Delete = append(n.Delete, ifPath(p))
	}
	return n
}

func jsonVal(s string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: []byte(s)}}
}

func ietfVal(s string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(s)}}
}

func openconfig() *interfaces { return &interfaces{tree: named("openconfig").tree} }

// TestInterfaces: what notifications come to, in the forms that targets give them.
func TestInterfaces(t *testing.T) {
	two := said("eth1 state/id", 1, "eth1 state/oper-status", "UP", "eth2 state/id", 2,
		"eth2 state/oper-status", "DOWN")
	for _, c := range []struct {
		name    string
		said    []*gpb.Notification
		want    map[uint32]bool
		ignored uint64
	}{
		{"two ports", []*gpb.Notification{two}, map[uint32]bool{1: true, 2: false}, 0},
		{"a change", []*gpb.Notification{two, said("eth1 state/oper-status", "DOWN")},
			map[uint32]bool{1: false, 2: false}, 0},
		{"Stratum has the port in ifindex",
			[]*gpb.Notification{said("1/1/0 state/ifindex", 128, "1/1/0 state/oper-status", "UP")},
			map[uint32]bool{128: true}, 0},
		{"id before ifindex", []*gpb.Notification{said("Ethernet0 state/ifindex", 1001,
			"Ethernet0 state/oper-status", "UP", "Ethernet0 state/openconfig-p4rt:id", 5)},
			map[uint32]bool{5: true}, 0},
		{"prefix", []*gpb.Notification{{
			Prefix: ifPath("eth1"), Update: []*gpb.Update{
				{Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: "state"}, {Name: "id"}}}, Val: uintVal(1)},
				{Path: &gpb.Path{Elem: []*gpb.PathElem{{Name: "state"}, {Name: "oper-status"}}},
					Val: text("UP")},
			},
		}}, map[uint32]bool{1: true}, 0},
		{"JSON", []*gpb.Notification{said("a state/id", jsonVal("1"), "a state/oper-status",
			jsonVal(`"UP"`), "b state/id", ietfVal(`"2"`), "b state/oper-status",
			ietfVal(`"LOWER_LAYER_DOWN"`))}, map[uint32]bool{1: true, 2: false}, 0},
		{"signed and ASCII", []*gpb.Notification{said("a state/id",
			&gpb.TypedValue{Value: &gpb.TypedValue_IntVal{IntVal: 3}},
			"a state/oper-status", &gpb.TypedValue{Value: &gpb.TypedValue_AsciiVal{AsciiVal: "DORMANT"}})},
			map[uint32]bool{3: false}, 0},
		{"TESTING and NOT_PRESENT pass nothing",
			[]*gpb.Notification{said("a state/id", 1, "a state/oper-status", "TESTING", "b state/id", 2,
				"b state/oper-status", "NOT_PRESENT")}, map[uint32]bool{1: false, 2: false}, 0},
		{"UNKNOWN is nothing known", []*gpb.Notification{two, said("eth2 state/oper-status", "UNKNOWN")},
			map[uint32]bool{1: true}, 0},
		{"no number, no port", []*gpb.Notification{said("lo state/oper-status", "UP", "mgmt state/id", 0,
			"mgmt state/oper-status", "UP")}, map[uint32]bool{}, 0},
		{"one of two interfaces of a port is up",
			[]*gpb.Notification{said("a state/id", 1, "a state/oper-status", "DOWN", "b state/id", 1,
				"b state/oper-status", "UP")}, map[uint32]bool{1: true}, 0},
		{"a word that is none", []*gpb.Notification{two, said("eth1 state/oper-status", "up")},
			map[uint32]bool{2: false}, 1},
		{"a number that is none", []*gpb.Notification{two, said("eth1 state/id", "x", "eth2 state/id",
			&gpb.TypedValue{Value: &gpb.TypedValue_IntVal{IntVal: -1}})}, map[uint32]bool{}, 2},
		{"not asked for", []*gpb.Notification{two, said("eth1 state/mtu", 9000, "eth1 config/id", 7,
			"eth1 state", "x", "", "x", "* state/id", 4)}, map[uint32]bool{1: true, 2: false}, 4},
		{"the id of the configuration where the state has none",
			[]*gpb.Notification{said("a config/id", 4, "a state/ifindex", 9, "a state/oper-status", "UP")},
			map[uint32]bool{4: true}, 0},
		{"a port is deleted", []*gpb.Notification{two, gone("eth2")}, map[uint32]bool{1: true}, 0},
		{"a state is deleted", []*gpb.Notification{two, gone("eth2 state/oper-status", "eth1 config")},
			map[uint32]bool{1: true}, 0},
		{"numbers are deleted", []*gpb.Notification{two, gone("* state/id")}, map[uint32]bool{}, 0},
		{"all is deleted", []*gpb.Notification{two, gone("")}, map[uint32]bool{}, 0},
		{"deleted, then updated", []*gpb.Notification{two,
			{Delete: gone("").Delete, Update: two.Update[:2]}}, map[uint32]bool{1: true}, 0},
		{"something else is deleted",
			[]*gpb.Notification{two, {Delete: []*gpb.Path{{Elem: []*gpb.PathElem{{Name: "system"}}}}}},
			map[uint32]bool{1: true, 2: false}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := openconfig()
			for _, n := range c.said {
				if err := x.take(n); err != nil {
					t.Fatal(err)
				}
			}
			if got := (&State{Interfaces: x.all()}).Up(); !maps.Equal(got, c.want) ||
				x.ignored != c.ignored {
				t.Errorf("%v, %d ignored; want %v, %d", got, x.ignored, c.want, c.ignored)
			}
		})
	}
}

// TestInterfacesAreBounded: a switch cannot fill the controller's memory.
func TestInterfacesAreBounded(t *testing.T) {
	x := openconfig()
	for i := range maxInterfaces {
		if err := x.take(said(fmt.Sprintf("eth%d state/id", i), i+1)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"one-more", strings.Repeat("n", maxInterfaceName+1)} {
		if err := x.take(said(name+" state/id", 1)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%.20s: %v, want ErrMalformed", name, err)
		}
	}
}

// FuzzInterfaces: the watcher accepts or refuses any sequence of notifications, and reports only
// ports that an update has numbered.
func FuzzInterfaces(f *testing.F) {
	for _, n := range []*gpb.Notification{
		said("eth1 state/id", 1, "eth1 state/oper-status", "UP", "eth2 state/ifindex", ietfVal("2"),
			"eth2 state/oper-status", jsonVal(`"DOWN"`)),
		gone("eth1 state/oper-status", "*", ""),
		said("eth1 state/oper-status", "UNKNOWN", "eth1 state/id", "x"),
	} {
		b, err := proto.Marshal(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, b)
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x := openconfig()
		for _, raw := range [][]byte{a, b} {
			var n gpb.Notification
			if proto.Unmarshal(raw, &n) != nil {
				return
			}
			if x.take(&n) != nil {
				return
			}
		}
		for port := range (&State{Interfaces: x.all()}).Up() {
			found := false
			for _, i := range x.byName {
				found = found || i.Oper != OperUnknown && i.port() == port
			}
			if port == 0 || !found {
				t.Fatalf("port %d of %v", port, x.byName)
			}
		}
	})
}
