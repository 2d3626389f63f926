package gnmi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/dataplane/gnmi"
)

func jsonOf(text string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(text)}}
}

func text(s string) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: s}}
}

func truth(v bool) *gpb.TypedValue {
	return &gpb.TypedValue{Value: &gpb.TypedValue_BoolVal{BoolVal: v}}
}

func update(p *gpb.Path, v *gpb.TypedValue) []*gpb.Update {
	return []*gpb.Update{{Path: p, Val: v}}
}

// config returns the settings of an interface by Get.
func (b *bed) config(name string) string {
	b.t.Helper()
	resp, err := b.client.Get(b.ctx, &gpb.GetRequest{Type: gpb.GetRequest_CONFIG,
		Encoding: gpb.Encoding_JSON_IETF, Path: []*gpb.Path{path(name, "config")}})
	if err != nil {
		b.t.Fatal(err)
	}
	var c struct {
		Enabled     bool   `json:"openconfig-interfaces:enabled"`
		Description string `json:"openconfig-interfaces:description"`
		MTU         int    `json:"openconfig-interfaces:mtu"`
	}
	if err := json.Unmarshal(resp.GetNotification()[0].GetUpdate()[0].GetVal().GetJsonIetfVal(),
		&c); err != nil {
		b.t.Fatal(err)
	}
	return fmt.Sprintf("%v %q %d", c.Enabled, c.Description, c.MTU)
}

// TestSet checks each operation in each form of a value.
func TestSet(t *testing.T) {
	b := newBed(t)
	follow := b.subscribe(&gpb.SubscriptionList{Subscription: on(gpb.SubscriptionMode_ON_CHANGE,
		path("eth1", "config/description"))})
	b.expect(follow, "sync")
	for _, c := range []struct {
		name string
		req  *gpb.SetRequest
		want string // of eth1
		told string // to a subscriber to its description; empty: nothing
	}{
		{"a leaf", &gpb.SetRequest{Update: update(path("eth1", "config/description"), text("to T1"))},
			`true "to T1" 0`, "eth1 config/description to T1"},
		{"an object keeps the rest",
			&gpb.SetRequest{Update: update(path("eth1", "config"),
				jsonOf(`{"openconfig-interfaces:enabled": false, "name": "eth1"}`))}, `false "to T1" 0`, ""},
		{"a replacement does not",
			&gpb.SetRequest{Replace: update(path("eth1", "config"),
				jsonOf(`{"description": "again", "type": "iana-if-type:ethernetCsmacd", "openconfig-p4rt:id": 1}`))}, `true "again" 0`, "eth1 config/description again"},
		{"from the root", &gpb.SetRequest{Prefix: &gpb.Path{Target: "s1", Origin: "openconfig"},
			Update: update(&gpb.Path{},
				jsonOf(`{"openconfig-interfaces:interfaces": {"interface": [{"name": "eth1", "config": {"enabled": false}}, {"name": "eth2", "config": {"description": "two"}}]}}`))}, `false "again" 0`, ""},
		{"a delete comes first", &gpb.SetRequest{Delete: []*gpb.Path{path("eth1", "config/enabled")},
			Update: update(path("eth1", "config/description"), text("third"))}, `true "third" 0`,
			"eth1 config/description third"},
		{"what is not there may be deleted",
			&gpb.SetRequest{Delete: []*gpb.Path{path("eth9", "config"), path("eth1", "config/mtu")}},
			`true "third" 0`, ""},
		{"a wildcard", &gpb.SetRequest{Delete: []*gpb.Path{path("*", "config/description")}}, `true "" 0`,
			""},
	} {
		resp, err := b.client.Set(b.ctx, c.req)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if n := len(c.req.Delete) + len(c.req.Replace) + len(c.req.Update); len(resp.GetResponse()) != n || resp.GetTimestamp() == 0 {
			t.Errorf("%s: %v", c.name, resp)
		}
		if got := b.config("eth1"); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
		if c.told != "" {
			b.expect(follow, c.told)
		}
	}
	if got := b.config("eth2"); got != `true "" 0` {
		t.Errorf("eth2 is %s", got)
	}
	m, err := follow.Recv()
	if d := m.GetUpdate().GetDelete(); err != nil || len(d) != 1 ||
		d[0].GetElem()[3].GetName() != "description" {
		t.Errorf("%v, %v; want that the description is deleted", m, err)
	}
}

// TestSetDisables checks that disabling a port takes the link down at both ends, and enabling
// brings the link up again.
func TestSetDisables(t *testing.T) {
	b := newBed(t)
	state := b.subscribe(&gpb.SubscriptionList{Subscription: []*gpb.Subscription{
		{Path: path("eth1", "state/admin-status")}, {Path: path("eth1", "state/oper-status")},
	}})
	b.expect(state, "eth1 state/admin-status UP, eth1 state/oper-status UP", "sync")
	far := make(chan bool, 4)
	b.cables[0].B.Attach(func([][]byte) {}, func(up bool) { far <- up })
	is := map[string]string{"admin-status": "UP", "oper-status": "UP"}
	until := func(want string) { // the two change one after the other, or are reported together
		t.Helper()
		for is["admin-status"] != want || is["oper-status"] != want {
			m, err := state.Recv()
			if err != nil {
				t.Fatal(err)
			}
			for report := range strings.SplitSeq(tell(m.GetUpdate()), ", ") {
				leaf, value, _ := strings.Cut(strings.TrimPrefix(report, "eth1 state/"), " ")
				if before, ok := is[leaf]; !ok || before == value {
					t.Fatalf("%s is no change of %v", report, is)
				}
				is[leaf] = value
			}
		}
	}
	for _, up := range []bool{false, true} {
		if _, err := b.client.Set(b.ctx, &gpb.SetRequest{Update: update(path("eth1", "config/enabled"),
			truth(up))}); err != nil {
			t.Fatal(err)
		}
		word := map[bool]string{false: "DOWN", true: "UP"}[up]
		until(word)
		if got := <-far; got != up {
			t.Errorf("the far end is up: %t, want %t", got, up)
		}
	}
	// Both ends are on again, and the cable is cut.
	b.cables[0].SetUp(false)
	if _, err := b.client.Set(b.ctx, &gpb.SetRequest{Update: update(path("eth1", "config/enabled"),
		truth(true))}); err != nil {
		t.Fatal(err)
	}
}

// slowPorts is a port whose settings take until they are let go.
type slowPorts struct {
	begun, rest chan struct{}
}

func (slowPorts) Ports(context.Context, gnmi.Parts) ([]gnmi.Port, error) {
	return []gnmi.Port{{Name: "eth1", Number: 1}}, nil
}

func (s slowPorts) Configure(ctx context.Context, _ []gnmi.Change) error {
	close(s.begun)
	<-s.rest
	return ctx.Err()
}

// TestSetGivenUp checks that a Set in progress ends, and that the server notices, even if the
// client has given up.
func TestSetGivenUp(t *testing.T) {
	s, ports := gnmi.NewServer(gnmi.System{}), slowPorts{make(chan struct{}), make(chan struct{})}
	s.Register(grpc.NewServer(), ports)
	ctx, giveUp := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := s.Set(ctx, &gpb.SetRequest{
			Update: update(path("eth1", "config/enabled"), truth(false))})
		done <- err
	}()
	<-ports.begun
	giveUp()
	close(ports.rest)
	if err := <-done; err != nil {
		t.Error(err)
	}
	resp, err := s.Get(t.Context(), &gpb.GetRequest{Encoding: gpb.Encoding_PROTO,
		Path: []*gpb.Path{path("eth1", "config/enabled")}})
	if err != nil {
		t.Fatal(err)
	}
	if v := resp.GetNotification()[0].GetUpdate()[0].GetVal(); v.GetBoolVal() {
		t.Errorf("the port shows %v, and is disabled", v)
	}
}

// TestBadSets checks that the error of a bad Set names the fault and the accepted values, and that
// nothing changes.
func TestBadSets(t *testing.T) {
	b := newBed(t)
	good := &gpb.Update{Path: path("eth2", "config/description"), Val: text("must not stay")}
	for _, c := range []struct {
		req  *gpb.SetRequest
		want string
		code codes.Code
	}{
		{&gpb.SetRequest{Update: update(path("eth1", "config/mtu"), jsonOf(`70000`))},
			"path /interfaces/interface[name=eth1]/config/mtu: value 70000; want a number from 1 to 65535",
			codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "config/mtu"), jsonOf(`9000`))},
			"path /interfaces/interface[name=eth1]/config/mtu: value 9000; want none: the port has no " +
				"such setting", codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "config/enabled"), text("yes"))},
			`value "yes"; want true or false`, codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "config/description"),
			text(strings.Repeat("x", 256)))}, "want a string of at most 255 octets", codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "config/name"), text("eth7"))},
			`value "eth7"; want "eth1", which the switch has fixed`, codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "config/id"), jsonOf("9"))}, "value 9; want 1",
			codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth9", "config/enabled"), truth(true))},
			"no entry with key eth9", codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "state/oper-status"), text("UP"))},
			"it is state, which clients cannot set", codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "config"), text("x"))},
			"want json_val or json_ietf_val with an object", codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "config"), jsonOf(`[1]`))},
			"value [1]; want an object", codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "config"), jsonOf(`{"color": 1}`))},
			"config/color: no such element", codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "config"),
			jsonOf(`{"openconfig-bgp:enabled": true}`))}, "config/openconfig-bgp:enabled: no such element",
			codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "config"), jsonOf(`{"enabled": null}`))},
			"config/enabled: value null; want a string, boolean or whole number", codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "config"), jsonOf(`{} {}`))}, "something behind it",
			codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "config"), jsonOf(`{`))}, "value is no JSON",
			codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "config/enabled"), nil)}, "no value; want one of",
			codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("*", "config/enabled"), truth(true))},
			"wildcard in key name of interface; want one entry", codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(elems("interfaces/interface/config/enabled"), truth(true))},
			"interface has no key name; want interface[name=…]", codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(elems("interfaces"), jsonOf(`{"interface": [{"config": {}}]}`))},
			"has no name; want an object with it", codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(elems("interfaces"), jsonOf(`{"interface": {"name": "eth1"}}`))},
			"want a list of objects", codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(elems("interfaces"),
			jsonOf(`{"interface": [{"name": "eth1", "config": {"mtu": "x"}}]}`))},
			"path /interfaces/interface[name=eth1]/config/mtu: value \"x\"", codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "ethernet/config/port-speed"), text("SPEED_1MB"))},
			"want an ETHERNET_SPEED", codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "ethernet/config/port-speed"), text("SPEED_100GB"))},
			`config/port-speed: value "SPEED_100GB"; want none: the speed of the link is not known`,
			codes.InvalidArgument},
		{&gpb.SetRequest{Update: update(path("eth1", "ethernet/config/auto-negotiate"), truth(true))},
			"want none: the switch does not negotiate", codes.InvalidArgument},
		{&gpb.SetRequest{Delete: []*gpb.Path{path("eth1", "state")}},
			"it is state, which cannot be deleted", codes.InvalidArgument},
		{&gpb.SetRequest{Delete: []*gpb.Path{path("eth1", "config/name")}}, "it cannot be deleted",
			codes.InvalidArgument},
		{&gpb.SetRequest{Delete: []*gpb.Path{elems("bgp")}}, "no such leaf", codes.InvalidArgument},
		{&gpb.SetRequest{UnionReplace: update(path("eth1", "config"), jsonOf(`{}`))},
			"union_replace is not supported", codes.Unimplemented},
		{&gpb.SetRequest{Update: update(&gpb.Path{Origin: "cli"}, jsonOf(`{}`))},
			`origin "cli"; want openconfig`, codes.InvalidArgument},
		{&gpb.SetRequest{Extension: []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_Commit{
			Commit: &gnmi_ext.Commit{Id: "1"}}}}}, "extension commit", codes.Unimplemented},
		{&gpb.SetRequest{Delete: make([]*gpb.Path, 5000)}, "operations; want at most 4096",
			codes.InvalidArgument},
	} {
		c.req.Update = append([]*gpb.Update{good}, c.req.Update...)
		_, err := b.client.Set(b.ctx, c.req)
		if status.Code(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want %v, %s", err, c.code, c.want)
		}
		if got := b.config("eth2"); got != `true "" 0` {
			t.Fatalf("%v has changed eth2: %s", err, got)
		}
	}
}

// TestArbitration checks that the server refuses a Set from a former master.
func TestArbitration(t *testing.T) {
	b := newBed(t)
	master := func(role string, high, low uint64) []*gnmi_ext.Extension {
		return []*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_MasterArbitration{MasterArbitration: &gnmi_ext.MasterArbitration{
			Role: &gnmi_ext.Role{Id: role}, ElectionId: &gnmi_ext.Uint128{High: high, Low: low}}}}}
	}
	for i, c := range []struct {
		extension []*gnmi_ext.Extension
		want      codes.Code
	}{
		{master("", 0, 5), codes.OK},
		{master("", 0, 4), codes.PermissionDenied},
		{master("", 0, 5), codes.OK},
		{master("", 1, 0), codes.OK},
		{master("", 0, 9), codes.PermissionDenied},
		{master("ports", 0, 1), codes.OK}, // of another role
		{nil, codes.OK},                   // of a client that does not take part
		{[]*gnmi_ext.Extension{{Ext: &gnmi_ext.Extension_MasterArbitration{
			MasterArbitration: &gnmi_ext.MasterArbitration{}}}}, codes.InvalidArgument},
		{master(strings.Repeat("r", 257), 0, 1), codes.InvalidArgument},
	} {
		name := fmt.Sprintf("set %d", i)
		before := b.config("eth1")
		_, err := b.client.Set(b.ctx, &gpb.SetRequest{Extension: c.extension,
			Update: update(path("eth1", "config/description"), text(name))})
		if status.Code(err) != c.want {
			t.Errorf("%d: %v, want %v", i, err, c.want)
		}
		if c.want == codes.PermissionDenied && !strings.Contains(err.Error(), "the highest so far") {
			t.Error(err)
		}
		want := before
		if err == nil {
			want = fmt.Sprintf("true %q 0", name)
		}
		if got := b.config("eth1"); got != want {
			t.Errorf("%d: %s, want %s", i, got, want)
		}
	}
	for i := range 256 {
		_, err := b.client.Set(b.ctx, &gpb.SetRequest{Extension: master(fmt.Sprint(i), 0, 1)})
		if want := i >= 254; (status.Code(err) == codes.ResourceExhausted) != want {
			t.Fatalf("role %d: %v", i, err)
		}
	}
}
