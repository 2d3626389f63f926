package gnmi

import (
	"slices"
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
	for part := range strings.SplitSeq(strings.Trim(text, "/"), "/") {
		if part == "" {
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

// below are the leaves that a pattern selects, as people write them.
func below(p pattern) string {
	var out []string
	for _, i := range p.leaves {
		out = append(out, strings.Join(leaves[i].path, "/"))
	}
	return strings.Join(out, " ")
}

const counters = "state/counters/in-pkts state/counters/in-octets state/counters/in-discards state/counters/in-errors " +
	"state/counters/out-pkts state/counters/out-octets state/counters/out-discards"

func TestPaths(t *testing.T) {
	const state = "state/name state/ifindex state/id state/admin-status state/oper-status " + counters
	for _, c := range []struct{ prefix, path, name, want string }{
		{"", "/interfaces/interface[name=eth1]/state/oper-status", "eth1", "state/oper-status"},
		{"/interfaces", "interface[name=eth1]/state/oper-status", "eth1", "state/oper-status"},
		{"/interfaces/interface[name=eth1]", "state/ifindex", "eth1", "state/ifindex"},
		{"", "/openconfig-interfaces:interfaces/interface/state/openconfig-p4rt:id", "", "state/id"},
		{"", "/interfaces/interface[name=*]/state/oper-status", "", "state/oper-status"},
		{"", "/interfaces/interface/state/oper-status", "", "state/oper-status"},
		{"", "/interfaces/interface[name=eth1]/state", "eth1", state},
		{"", "/interfaces/interface[name=eth1]/state/counters", "eth1", counters},
		{"", "/interfaces/interface[name=eth1]/name", "eth1", "name"},
		{"", "/", "", "name " + state},
		{"", "/*/*/*/oper-status", "", "state/oper-status"},
		{"", "/.../oper-status", "", "state/oper-status"},
		{"", "/interfaces/.../.../name", "", "name state/name"},
		{"", "/.../interface[name=eth2]/.../counters", "eth2", counters},
	} {
		p, err := compile(pathTo(t, c.prefix), pathTo(t, c.path))
		if err != nil || p.name != c.name || below(p) != c.want {
			t.Errorf("%s below %q is of %q, %s, %v; want %q, %s", c.path, c.prefix, p.name, below(p), err, c.name, c.want)
		}
	}
}

func TestBadPaths(t *testing.T) {
	deep := strings.Repeat("/*", maxElems+1)
	for _, c := range []struct {
		path *gpb.Path
		want string
	}{
		{pathTo(t, "/interfaces/interface[name=eth1]/config"), "path /interfaces/interface[name=eth1]/config: no such leaf"},
		{pathTo(t, "/interfaces/interface/state/oper-status/x"), "no such leaf"},
		{pathTo(t, "/%s%d"), "path /%s%d: no such leaf"},
		{pathTo(t, "/interfaces[name=eth1]/interface"), "key name of interfaces; want no key but name, of interface"},
		{pathTo(t, "/interfaces/interface[id=1]"), "key id of interface"},
		{pathTo(t, "/.../*[name=a]/*[name=b]"), "key name of *"},
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
	for _, path := range []string{"/", "/interfaces/interface[name=*]/state/oper-status", "/.../*/..."} {
		for mode := range gpb.SubscriptionMode_name {
			b, err := proto.Marshal(&gpb.SubscriptionList{Subscription: []*gpb.Subscription{
				{Path: pathTo(f, path), Mode: gpb.SubscriptionMode(mode), SampleInterval: 1e9, HeartbeatInterval: 2e9},
			}})
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b)
		}
	}
	ports := []Port{{Name: "eth1", Number: 1, Up: true}, {Name: "*", Number: 2, Counters: &Counters{}}}
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
		r := newReport(start, list.GetPrefix(), list.GetEncoding())
		for _, s := range all {
			if len(s.leaves) == 0 || !slices.IsSorted(s.leaves) {
				t.Fatalf("leaves %v", s.leaves)
			}
			for _, now := range []time.Time{start, start.Add(minInterval)} {
				s.look(now)
				for i := range ports {
					s.take(&ports[i], r.add)
				}
			}
			if at, ok := s.next(); ok && !at.After(start.Add(minInterval)) {
				t.Fatalf("next at %v, before now", at)
			}
		}
	})
}
