package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/service"
)

// target is a gNMI server whose subscriptions a test serves.
type target struct {
	gpb.UnimplementedGNMIServer
	serve func(send func(*gpb.Notification) error, counters bool, end <-chan struct{}) error
}

func (x *target) Capabilities(context.Context, *gpb.CapabilityRequest) (*gpb.CapabilityResponse,
	error) {
	return &gpb.CapabilityResponse{GNMIVersion: "0.10.0",
		SupportedEncodings: []gpb.Encoding{gpb.Encoding_PROTO}}, nil
}

func (x *target) Subscribe(stream gpb.GNMI_SubscribeServer) error {
	req, err := stream.Recv()
	if err != nil {
		return err
	}
	counters := strings.Contains(req.GetSubscribe().GetSubscription()[0].GetPath().String(),
		"counters")
	return x.serve(func(n *gpb.Notification) error {
		err := stream.Send(&gpb.SubscribeResponse{Response: &gpb.SubscribeResponse_Update{Update: n}})
		if err == nil {
			err = stream.Send(&gpb.SubscribeResponse{
				Response: &gpb.SubscribeResponse_SyncResponse{SyncResponse: true}})
		}
		return err
	}, counters, stream.Context().Done())
}

// said is a notification of leaves of an interface.
func said(name string, leaves ...string) *gpb.Notification {
	n := &gpb.Notification{Timestamp: time.Now().UnixNano()}
	for i := 0; i < len(leaves); i += 2 {
		p := &gpb.Path{Elem: []*gpb.PathElem{{Name: "interfaces"},
			{Name: "interface", Key: map[string]string{"name": name}}}}
		for part := range strings.SplitSeq(leaves[i], "/") {
			p.Elem = append(p.Elem, &gpb.PathElem{Name: part})
		}
		v := &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: leaves[i+1]}}
		if number, err := strconv.ParseUint(leaves[i+1], 10, 64); err == nil {
			v.Value = &gpb.TypedValue_UintVal{UintVal: number}
		}
		n.Update = append(n.Update, &gpb.Update{Path: p, Val: v})
	}
	return n
}

// start serves a target on loopback until the test ends, and returns its address.
func (x *target) start(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	gpb.RegisterGNMIServer(s, x)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() { s.Stop(); <-served })
	return l.Addr().String()
}

// TestBadTargets: the ports of one switch follow its gNMI, and its counters become a gapless
// history, while the targets of other switches flood, lie, stay silent or die.
func TestBadTargets(t *testing.T) {
	changes := make(chan string)
	good := &target{serve: func(send func(*gpb.Notification) error, counters bool,
		end <-chan struct{}) error {
		tick, began := time.NewTicker(time.Second), time.Now()
		defer tick.Stop()
		for octets := 0; ; octets += 1000 {
			if counters {
				n := said("eth1", "state/counters/in-octets", strconv.Itoa(octets))
				// whatever else the machine does
				n.Timestamp = began.Add(time.Duration(octets) * time.Millisecond).UnixNano()
				if err := send(n); err != nil {
					return err
				}
				select {
				case <-tick.C:
				case <-end:
					return nil
				}
				continue
			}
			if octets == 0 {
				if err := send(said("eth1", "state/id", "1", "state/oper-status", "UP")); err != nil {
					return err
				}
			}
			select {
			case is := <-changes:
				if err := send(said("eth1", "state/oper-status", is)); err != nil {
					return err
				}
			case <-end:
				return nil
			}
		}
	}}
	var flooded, lies, deaths atomic.Int64
	bad := map[string]*target{
		"flooding": {serve: func(send func(*gpb.Notification) error, _ bool, end <-chan struct{}) error {
			for i := 0; ; i++ {
				select {
				case <-end:
					return nil
				default:
				}
				if err := send(said("eth1", "state/id", "1", "state/oper-status", []string{"UP", "DOWN"}[i%2],
					"state/counters/in-octets", strconv.Itoa(i))); err != nil {
					return err
				}
				flooded.Add(1)
			}
		}},
		"lying": {serve: func(send func(*gpb.Notification) error, _ bool, end <-chan struct{}) error {
			lies.Add(1)
			n := said("eth1", "state/id", "18446744073709551615", "state/oper-status", "SIDEWAYS",
				"state/counters/in-octets", "many", "state", "7", "config/mtu", "x")
			n.Timestamp = -1
			n.Update = append(n.Update, &gpb.Update{}, nil,
				&gpb.Update{Path: &gpb.Path{Elem: []*gpb.PathElem{nil}}})
			if err := send(n); err != nil {
				return err
			}
			<-end
			return nil
		}},
		"silent": {serve: func(_ func(*gpb.Notification) error, _ bool, end <-chan struct{}) error {
			<-end
			return nil
		}},
		"dying": {serve: func(send func(*gpb.Notification) error, _ bool, _ <-chan struct{}) error {
			deaths.Add(1)
			_ = send(said("eth1", "state/id", "1", "state/oper-status", "UP"))
			return status.Error(codes.Unavailable, "dying")
		}},
	}
	text := fmt.Sprintf("bgp: {asn: 64512, routerId: 10.0.0.100}\napi: {listen: "+
		"'127.0.0.1:0'}\nswitches:\n- {name: good, address: '127.0.0.1:1', mac: '02:00:00:00:00:01', "+
		"gnmi: {address: %q, sample: 1s}}\n", good.start(t))
	mac := 1
	for name, x := range bad {
		mac++
		text += fmt.Sprintf("- {name: %s, address: '127.0.0.1:1', deviceId: %d, mac: "+
			"'02:00:00:00:00:%02x', gnmi: {address: %q, sample: 1s}}\n", name, mac, mac, x.start(t))
	}
	inv, err := inventory.Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := service.Start(t.Context(), service.Options{Inventory: *inv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	get := func(path string, into any) error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String()+
			path, nil)
		if err != nil {
			t.Fatal(err)
		}
		w, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			return err
		}
		defer w.Body.Close()
		if w.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", path, w.Status)
		}
		return json.NewDecoder(w.Body).Decode(into)
	}
	t.Cleanup(http.DefaultTransport.(*http.Transport).CloseIdleConnections)
	until := func(what string, ok func() bool) {
		t.Helper()
		// in real time: the API has no event for it
		for end := time.Now().Add(patience); !ok(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("never %s", what)
			}
		}
	}
	link := func(want string) {
		t.Helper()
		until("the port is "+want, func() bool {
			var p api.Port
			return get("/v1/switches/good/ports/1", &p) == nil && strings.EqualFold(p.Status.Oper, want)
		})
	}
	link("UP")
	until("the others have misbehaved", func() bool {
		return flooded.Load() > 1000 && lies.Load() > 0 && deaths.Load() > 3
	})
	for range 10 {
		for _, is := range []string{"DOWN", "UP"} {
			changes <- is
			link(is)
		}
	}
	var h api.History
	until("a history of five seconds", func() bool {
		err := get("/v1/telemetry/history?kind=port&metric=inBits&since=1m&name="+
			url.QueryEscape("good/1"), &h)
		n := 0
		for _, series := range h.Series {
			for _, v := range series.Values {
				if v != nil {
					n++
				}
			}
		}
		return err == nil && n >= 5
	})
	known := false
	for i, v := range h.Series[0].Values {
		if v == nil && known && i < len(h.Times)-2 {
			t.Errorf("a gap at %d of %v", i, h.Times)
		}
		known = known || v != nil
	}
	var g api.SwitchGNMI
	if err := get("/v1/switches/lying/gnmi", &g); err != nil || g.Ignored == 0 {
		t.Errorf("of the target that lies nothing is ignored: %+v, %v", g, err)
	}
}
