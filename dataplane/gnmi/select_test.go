package gnmi

import (
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// pathTo reads "a/b[k=v]/c"; values have no slash.
func pathTo(t testing.TB, text string) *gpb.Path {
	t.Helper()
	p := &gpb.Path{}
	if text == "" {
		return p
	}
	for part := range strings.SplitSeq(strings.Trim(text, "/"), "/") {
		if part == "" && text == "/" {
			continue
		}
		name, key, keyed := strings.Cut(part, "[")
		e := &gpb.PathElem{Name: name}
		if keyed {
			k, v, ok := strings.Cut(strings.TrimSuffix(key, "]"), "=")
			if !ok {
				t.Fatalf("path %s: key %s", text, key)
			}
			e.Key = map[string]string{k: v}
		}
		p.Elem = append(p.Elem, e)
	}
	return p
}

// selected returns the selection of a pattern in readable form: "interface[eth1] state/name, …".
func selected(p pattern) string {
	var out []string
	for _, s := range p.all {
		path := tables[s.table].path
		at := path[len(path)-1].name
		for _, key := range s.keys {
			at += "[" + key + "]"
		}
		for _, l := range s.leaves {
			var below []string
			for _, e := range leaves[l].below {
				below = append(below, e.name)
			}
			out = append(out, at+" "+strings.Join(below, "/"))
		}
	}
	return strings.Join(out, ", ")
}

func TestPaths(t *testing.T) {
	for _, c := range []struct{ prefix, path, want string }{
		{"", "/interfaces/interface[name=eth1]/state/oper-status", "interface[eth1] state/oper-status"},
		{"/interfaces", "interface[name=eth1]/state/oper-status", "interface[eth1] state/oper-status"},
		{"/interfaces/interface[name=eth1]", "state/ifindex", "interface[eth1] state/ifindex"},
		{"", "/openconfig-interfaces:interfaces/interface/state/openconfig-p4rt:id",
			"interface[] state/id"},
		{"", "/interfaces/interface[name=*]/state/oper-status", "interface[] state/oper-status"},
		{"", "/interfaces/interface/state/oper-status", "interface[] state/oper-status"},
		{"", "/interfaces/interface[name=eth1]/ethernet/config",
			"interface[eth1] ethernet/config/auto-negotiate, interface[eth1] ethernet/config/port-speed"},
		{"", "/interfaces/interface[name=eth1]/name", "interface[eth1] name"},
		{"", "/*/*/*/oper-status", "interface[] state/oper-status, component[] state/oper-status"},
		{"", "/.../oper-status", "interface[] state/oper-status, component[] state/oper-status"},
		{"", "/interfaces/.../priority[id=3]/state/in-pause-frames",
			"priority[][3] state/in-pause-frames"},
		{"", "/.../interface[name=eth2]/.../priority/id", "priority[eth2][] id"},
		{"", "/qos/interfaces/interface[interface-id=eth2]/output/queues/queue[name=7]/state/trim-pkts",
			"queue[eth2][7] state/trim-pkts"},
		{"", "/.../queue[name=7]/state/trim-pkts", "queue[][7] state/trim-pkts"},
		{"", "/system/state/hostname", "system state/hostname"},
		{"", "/components/component[name=asic]/integrated-circuit/config",
			"component[asic] integrated-circuit/config/node-id"},
	} {
		p, err := compile(pathTo(t, c.prefix), pathTo(t, c.path))
		if err != nil || selected(p) != c.want {
			t.Errorf("%s below %q selects %s, %v; want %s", c.path, c.prefix, selected(p), err, c.want)
		}
	}
	all, err := compile(nil, pathTo(t, "/"))
	n := 0
	for _, s := range all.all {
		n += len(s.leaves)
	}
	if err != nil || n != len(leaves) {
		t.Errorf("/ selects %d leaves, %v; want all %d", n, err, len(leaves))
	}
}

func TestBadPaths(t *testing.T) {
	deep := strings.Repeat("/*", maxElems+1)
	for _, c := range []struct {
		path *gpb.Path
		want string
	}{
		{pathTo(t, "/interfaces/interface[name=eth1]/hold-time"),
			"path /interfaces/interface[name=eth1]/hold-time: no such leaf"},
		{pathTo(t, "/interfaces/interface/state/oper-status/x"), "no such leaf"},
		{pathTo(t, "/%s%d"), "path /%s%d: no such leaf"},
		{pathTo(t, "/interfaces[name=eth1]/interface"), "key name of interfaces; want none"},
		{pathTo(t, "/interfaces/interface[id=1]"), "key id of interface; want name"},
		{pathTo(t, "/...[name=a]/name"), "key name of ...; want none"},
		{pathTo(t, "/interfaces//state"), "without a name"},
		{pathTo(t, deep), "17 elements; want at most 16"},
		{&gpb.Path{Origin: "cli"}, `origin "cli"; want openconfig`},
		//lint:ignore SA1019 it is what is refused
		{&gpb.Path{Element: []string{"interfaces"}}, "deprecated field element; want elem"},
	} {
		_, err := compile(nil, c.path)
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want InvalidArgument, %s", err, c.want)
		}
	}
}

// FuzzSubscribe: whatever clients ask for is refused, or selects something and
// can be told.
func FuzzSubscribe(f *testing.F) {
	for _, path := range []string{"/", "/interfaces/interface[name=*]/state/oper-status", "/.../*/...",
		"/qos/.../queue[name=1]"} {
		for mode := range gpb.SubscriptionMode_name {
			b, err := proto.Marshal(&gpb.SubscriptionList{Subscription: []*gpb.Subscription{
				{Path: pathTo(f, path), Mode: gpb.SubscriptionMode(mode), SampleInterval: 1e9,
					HeartbeatInterval: 2e9},
			}})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	v := testView(Port{Name: "eth1", Number: 1, Up: true, Queues: make([]Queue, 2),
		Priorities: make([]Priority, 1)}, Port{Name: "*", Number: 2, Counters: &Counters{}})
	f.Fuzz(func(t *testing.T, b []byte) {
		var list gpb.SubscriptionList
		if proto.Unmarshal(b, &list) != nil {
			return
		}
		all, err := subscriptionsOf(&list)
		if err != nil {
			if status.Code(err) != codes.InvalidArgument {
				t.Fatal(err)
			}
			return
		}
		c := client{list: &list, subscriptions: all}
		for _, now := range []time.Time{start, start.Add(minInterval)} {
			v.at = now
			r := newReport(now, list.GetPrefix(), list.GetEncoding())
			for _, s := range all {
				s.look(now)
				for table := range tables {
					tables[table].each(v, func(row *row) { s.take(table, row, r.add) })
				}
			}
			if len(r.has) > c.cells(v) {
				t.Fatalf("%d values are sent, and %d selected", len(r.has), c.cells(v))
			}
		}
		for _, s := range all {
			if at, ok := s.next(); ok && !at.After(start.Add(minInterval)) {
				t.Fatalf("next at %v, before now", at)
			}
		}
	})
}

// testView is a switch with ports.
func testView(ports ...Port) *view {
	return &view{at: start, system: System{Hostname: "s1", Software: "v1", DeviceID: 1,
		Started: start}, ports: ports, settings: map[uint32]Settings{}}
}
