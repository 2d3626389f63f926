package gnmi

import (
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// FuzzSet checks that whatever clients send is refused with a reason or gives settings that Get can
// show.
func FuzzSet(f *testing.F) {
	seed := func(req *gpb.SetRequest) {
		b, err := proto.Marshal(req)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	const leaf = "/interfaces/interface[name=eth1]/config/"
	for _, v := range []*gpb.TypedValue{
		{Value: &gpb.TypedValue_StringVal{StringVal: "x"}},
		{Value: &gpb.TypedValue_UintVal{UintVal: 1500}}, {Value: &gpb.TypedValue_IntVal{IntVal: -1}},
		{Value: &gpb.TypedValue_BoolVal{}}, {Value: &gpb.TypedValue_JsonVal{JsonVal: []byte("9000")}}, {},
	} {
		for _, name := range []string{"mtu", "enabled", "description", "name"} {
			seed(&gpb.SetRequest{Update: []*gpb.Update{{Path: pathTo(f, leaf+name), Val: v}}})
		}
	}
	seed(&gpb.SetRequest{Delete: []*gpb.Path{pathTo(f, "/.../config")},
		Replace: []*gpb.Update{{Path: pathTo(f, "/"),
			Val: &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{
				JsonIetfVal: []byte(`{"openconfig-interfaces:interfaces":{"interface":[{"name":"eth1",` +
					`"config":{"mtu":1e3,"enabled":false},` +
					`"openconfig-if-ethernet:ethernet":{"config":{"port-speed":"openconfig-if-ethernet:SPEED_10GB"}}}]}}`)}}}}})
	f.Fuzz(func(t *testing.T, b []byte) {
		var req gpb.SetRequest
		if proto.Unmarshal(b, &req) != nil {
			return
		}
		v := testView(Port{Name: "eth1", Number: 1, Priorities: make([]Priority, 8),
			Queues: make([]Queue, 8)}, Port{Name: "eth2", Number: 2})
		e := editing{view: v, prefix: req.GetPrefix()}
		var err error
		for _, p := range req.GetDelete() {
			if err == nil {
				err = e.delete(p)
			}
		}
		for _, u := range req.GetReplace() {
			if err == nil {
				err = e.assign(u, true)
			}
		}
		for _, u := range req.GetUpdate() {
			if err == nil {
				err = e.assign(u, false)
			}
		}
		if err != nil && status.Code(err) != codes.InvalidArgument {
			t.Fatal(err)
		}
		for port, s := range v.settings {
			if port != 1 && port != 2 || len(s.Description) > maxDescription || s.Speed != 0 &&
				speedOf(s.Speed).name == "SPEED_UNKNOWN" {
				t.Fatalf("port %d has %+v", port, s)
			}
		}
		for table := range tables {
			tables[table].each(v, func(r *row) {
				for _, l := range tables[table].leaves {
					if value := leaves[l].value(r); value != nil && leaves[l].set != nil && !leaves[l].set.fixed {
						encode(value, gpb.Encoding_JSON_IETF)
					}
				}
			})
		}
	})
}
