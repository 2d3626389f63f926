package gnmi

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

const (
	operStatus = "/interfaces/interface[name=*]/state/oper-status"
	inPackets  = "/interfaces/interface[name=*]/state/counters/in-pkts"
)

// A step of a subscription: at a time, with the port up or down and a count.
type step struct {
	at   time.Duration
	up   bool
	in   uint64
	want string // what is told
}

// TestSubscriptions: which values are told when.
func TestSubscriptions(t *testing.T) {
	const s, onChange, sample, target = time.Second, gpb.SubscriptionMode_ON_CHANGE,
		gpb.SubscriptionMode_SAMPLE, gpb.SubscriptionMode_TARGET_DEFINED
	for _, c := range []struct {
		name  string
		of    *gpb.Subscription
		steps []step
		next  time.Duration // after the last step; 0: none
	}{
		{"on change", &gpb.Subscription{Path: pathTo(t, operStatus), Mode: onChange}, []step{
			{0, true, 0, "UP"}, {s, true, 1, ""}, {2 * s, false, 1, "DOWN"}, {3 * s, false, 1, ""},
			{4 * s, true, 1, "UP"},
		}, 0},
		{"heartbeat", &gpb.Subscription{Path: pathTo(t, operStatus), Mode: onChange,
			HeartbeatInterval: uint64(2 * s)}, []step{
			{0, true, 0, "UP"}, {s, true, 0, ""}, {2 * s, true, 0, "UP"}, {3 * s, false, 0, "DOWN"},
			{4 * s, false, 0, "DOWN"},
		}, 6 * s},
		{"counters on change", &gpb.Subscription{Path: pathTo(t, inPackets), Mode: onChange}, []step{
			{0, true, 5, "5"}, {s, true, 5, ""}, {2 * s, true, 6, "6"},
		}, 3 * s},
		{"sample", &gpb.Subscription{Path: pathTo(t, inPackets), Mode: sample,
			SampleInterval: uint64(2 * s)}, []step{
			{0, true, 5, "5"}, {s, false, 6, ""}, {2 * s, true, 6, "6"}, {4 * s, true, 6, "6"},
		}, 6 * s},
		{"sample, as often as may be", &gpb.Subscription{Path: pathTo(t, inPackets), Mode: sample},
			[]step{
				{0, true, 5, "5"}, {minInterval, true, 5, "5"},
			}, 2 * minInterval},
		{"suppress redundant", &gpb.Subscription{Path: pathTo(t, inPackets), Mode: sample,
			SampleInterval: uint64(s), SuppressRedundant: true, HeartbeatInterval: uint64(3 * s)}, []step{
			{0, true, 5, "5"}, {s, true, 5, ""}, {2 * s, true, 7, "7"}, {3 * s, true, 7, "7"},
		}, 4 * s},
		{"sample with a heartbeat", &gpb.Subscription{Path: pathTo(t, inPackets), Mode: sample,
			SampleInterval: uint64(2 * s), HeartbeatInterval: uint64(3 * s)}, []step{
			{0, true, 5, "5"}, {2 * s, true, 5, "5"}, {3 * s, true, 5, ""}, {4 * s, true, 5, "5"},
		}, 6 * s},
		{"nothing", &gpb.Subscription{Path: pathTo(t, "/bgp"), Mode: onChange}, []step{
			{0, true, 5, ""}, {s, false, 6, ""}}, 0},
		{"as the switch likes", &gpb.Subscription{Path: pathTo(t,
			"/interfaces/interface[name=eth1]/state"), Mode: target, SampleInterval: uint64(3 * s)}, []step{
			{0, true, 1, "eth1 UP UP 1"}, {s, true, 2, ""}, {2 * s, false, 2, "DOWN"},
			{3 * s, false, 3, "3"},
		}, 6 * s},
	} {
		t.Run(c.name, func(t *testing.T) {
			all, err := subscriptionsOf(&gpb.SubscriptionList{Subscription: []*gpb.Subscription{c.of}})
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range c.steps {
				v := testView(Port{Name: "eth1", Number: 7, Up: at.up, Counters: &Counters{InPackets: at.in}})
				var told []string
				for _, s := range all {
					s.look(start.Add(at.at))
					tables[0].each(v, func(r *row) {
						s.take(0, r, func(_ *row, l int, v any) {
							switch path := leaves[l].path; path[len(path)-1].name {
							case "name", "admin-status", "oper-status", "in-pkts":
								told = append(told, fmt.Sprint(v))
							}
						})
					})
				}
				if got := strings.Join(told, " "); got != at.want {
					t.Errorf("at %v: %q, want %q", at.at, got, at.want)
				}
			}
			cl := client{subscriptions: all}
			if at, ok := cl.next(); ok != (c.next > 0) || ok && at != start.Add(c.next) {
				t.Errorf("next at %v, %v; want %v", at.Sub(start), ok, c.next)
			}
		})
	}
}

// TestBadSubscriptions: errors name the fault and the right value.
func TestBadSubscriptions(t *testing.T) {
	many := make([]*gpb.Subscription, maxSubscriptions+1)
	for _, c := range []struct {
		all  []*gpb.Subscription
		want string
	}{
		{nil, "0 subscriptions; want 1 to 64"},
		{many, "65 subscriptions"},
		{[]*gpb.Subscription{{Path: pathTo(t, operStatus), Mode: 9}}, "mode 9"},
		{[]*gpb.Subscription{{Path: pathTo(t, operStatus), Mode: gpb.SubscriptionMode_SAMPLE,
			SampleInterval: 5}}, "sample_interval is 5 ns; want at least 100000000 ns, or 0"},
		{[]*gpb.Subscription{{Path: pathTo(t, operStatus), HeartbeatInterval: 1 << 63}},
			"heartbeat_interval is 9223372036854775808 ns"},
		{[]*gpb.Subscription{{Path: pathTo(t, "/interfaces[name=x]")}},
			"key name of interfaces; want none"},
	} {
		_, err := subscriptionsOf(&gpb.SubscriptionList{Subscription: c.all})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; want InvalidArgument, %s", err, c.want)
		}
	}
}

// TestEncodings: a value in every encoding (gNMI, section 2.3; RFC 7951, section 6.1).
func TestEncodings(t *testing.T) {
	for _, c := range []struct {
		v    any
		e    gpb.Encoding
		want string
	}{
		{"UP", gpb.Encoding_PROTO, `string_val:"UP"`},
		{uint32(7), gpb.Encoding_PROTO, "uint_val:7"},
		{uint64(7), gpb.Encoding_PROTO, "uint_val:7"},
		{"UP", gpb.Encoding_JSON, `json_val:"\"UP\""`},
		{uint64(7), gpb.Encoding_JSON, `json_val:"7"`},
		{uint32(7), gpb.Encoding_JSON_IETF, `json_ietf_val:"7"`},
		{uint64(7), gpb.Encoding_JSON_IETF, `json_ietf_val:"\"7\""`},
		{uint64(7), gpb.Encoding_ASCII, `ascii_val:"7"`},
		{true, gpb.Encoding_PROTO, "bool_val:true"},
		{true, gpb.Encoding_JSON_IETF, `json_ietf_val:"true"`},
		{ethernetPort, gpb.Encoding_PROTO, `string_val:"ethernetCsmacd"`},
		{ethernetPort, gpb.Encoding_JSON, `json_val:"\"ethernetCsmacd\""`},
		{ethernetPort, gpb.Encoding_JSON_IETF, `json_ietf_val:"\"iana-if-type:ethernetCsmacd\""`},
	} {
		if got := encode(c.v, c.e).String(); strings.ReplaceAll(got, " ", "") != c.want {
			t.Errorf("%v as %v is %s, want %s", c.v, c.e, got, c.want)
		}
		if err := checkEncoding(c.e); err != nil || !slices.Contains(encodings, c.e) {
			t.Error(err)
		}
	}
	if err := checkEncoding(gpb.Encoding_BYTES); status.Code(err) != codes.Unimplemented ||
		!strings.Contains(err.Error(), "BYTES; want one of") {
		t.Error(err)
	}
}
