package metrics

import (
	"context"
	"errors"
	"flag"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/drop"
	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/test/reference"
)

var update = flag.Bool("update", false, "write docs/reference/switch-metrics.md")

type fake struct {
	snapshot live.Snapshot
	server   p4rt.ServerStats
	err      error
}

func (f *fake) Snapshot(context.Context) (live.Snapshot, error) { return f.snapshot, f.err }
func (f *fake) Stats() p4rt.ServerStats                         { return f.server }

func scrape(f *fake) (status int, text string) {
	w := httptest.NewRecorder()
	New(Config{Switch: f, Server: f, DeviceID: 7, Version: "v1",
		Interfaces: map[uint32]string{1: "veth0"}}).
		ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Code, w.Body.String()
}

func TestScrape(t *testing.T) {
	_, text := scrape(&fake{
		snapshot: live.Snapshot{
			Switch: dataplane.Stats{Received: 10, Transmitted: 8, Drops: drop.Counts{drop.QueueFull: 3},
				Recirculated: 2, NoSession: 14, Runaway: 15},
			Device: p4rt.Stats{PacketIns: 4},
			Ports: []live.PortSnapshot{
				{Port: 1, Up: true, PortStats: live.PortStats{Received: 9, RxOctets: 900, RxDropped: 5,
					RxLost: live.Losses{Overrun: 21, Oversize: 22}, Sent: 7, SentOctets: 700, TxDropped: 1}},
				{Port: 2},
			},
			Queues:     []dataplane.QueueState{{Port: 1, Priority: 3, Packets: 11, Depth: 64}},
			Tables:     []live.TableState{{Name: "ingress.routes", Entries: 12, Size: 1024}},
			NoSuchPort: 6,
		},
		server: p4rt.ServerStats{Streams: 2, Updates: 13,
			Calls: map[p4rt.Call]uint64{{Method: "Write", Code: "NotFound"}: 3}},
	})
	for _, want := range []string{
		`weft_build_info{device_id="7",version="v1"} 1`,
		`weft_dataplane_port_packets_total{direction="in",interface="veth0",port="1"} 9`,
		`weft_dataplane_port_packets_total{direction="out",interface="veth0",port="1"} 7`,
		`weft_dataplane_port_octets_total{direction="in",interface="veth0",port="1"} 900`,
		`weft_dataplane_port_octets_total{direction="out",interface="veth0",port="1"} 700`,
		`weft_dataplane_port_drops_total{direction="in",interface="veth0",port="1",` +
			`reason="input_full"} 5`,
		`weft_dataplane_port_drops_total{direction="in",interface="veth0",port="1",reason="overrun"} 21`,
		`weft_dataplane_port_drops_total{direction="in",interface="veth0",port="1",reason="oversize"} 22`,
		`weft_dataplane_port_drops_total{direction="out",interface="veth0",port="1",` +
			`reason="transmit_refused"} 1`,
		`weft_dataplane_port_up{interface="veth0",port="1"} 1`,
		`weft_dataplane_port_up{interface="",port="2"} 0`,
		`weft_dataplane_packets_total{direction="in"} 10`,
		`weft_dataplane_packets_total{direction="out"} 8`,
		`weft_dataplane_drops_total{reason="queue_full"} 3`,
		`weft_dataplane_drops_total{reason="no_such_port"} 6`,
		`weft_dataplane_clones_without_session_total 14`,
		`weft_dataplane_runaway_actions_total 15`,
		`weft_dataplane_passes_total{kind="recirculate"} 2`,
		`weft_dataplane_queue_packets{port="1",priority="3"} 11`,
		`weft_dataplane_queue_depth{port="1",priority="3"} 64`,
		`weft_dataplane_table_entries{table="ingress.routes"} 12`,
		`weft_dataplane_table_size{table="ingress.routes"} 1024`,
		`weft_p4runtime_packets_total{direction="in"} 4`,
		`weft_p4runtime_streams 2`,
		`weft_p4runtime_updates_total 13`,
		`weft_p4runtime_calls_total{code="NotFound",method="Write"} 3`,
		`go_goroutines `,
	} {
		if !strings.Contains(text, "\n"+want) {
			t.Errorf("no line %s", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// TestReference: docs/reference/switch-metrics.md has the metrics of a switch and its drop reasons.
func TestReference(t *testing.T) {
	f := &fake{
		snapshot: live.Snapshot{Ports: []live.PortSnapshot{{}}, Queues: []dataplane.QueueState{{}},
			Tables: []live.TableState{{}}},
		server: p4rt.ServerStats{Calls: map[p4rt.Call]uint64{{}: 1}},
	}
	samples := make(chan prometheus.Metric, 1024)
	(&collector{Config: Config{Switch: f, Server: f}, ctx: t.Context()}).Collect(samples)
	close(samples)
	var all []*prometheus.Desc
	for m := range samples {
		all = append(all, m.Desc())
	}
	drops := "\n## Drop reasons\n\n[dataplane.md](../dataplane.md#drop-reasons) has the rules.\n\n" +
		reference.Head("reason", "counted by", "the packet was dropped because")
	for r := range drop.Reasons() {
		drops += reference.Row("`"+r.String()+"`", r.CountedBy(), r.Text())
	}
	reference.Page(t, "../../..", "switch-metrics.md", "# Metrics of a switch\n\nGenerated from the "+
		"program by `go test ./dataplane/live/metrics -update`. `weft switch --http-addr` serves them "+
		"([cli.md](../cli.md#switch)).\n\n"+reference.Metrics(all)+drops, *update)
}

// A switch that is closing costs its own metrics only.
func TestScrapeFails(t *testing.T) {
	status, text := scrape(&fake{err: errors.New("closed")})
	if status != 200 || !strings.Contains(text, "\nweft_p4runtime_streams 0") ||
		strings.Contains(text, "weft_dataplane_packets_total") {
		t.Errorf("status %d\n%s", status, text)
	}
}

// Every count that a switch, a port or the server keeps is a metric: each
// field holds a number of its own, which must appear.
func TestNothingForgotten(t *testing.T) {
	f := &fake{
		snapshot: live.Snapshot{Ports: []live.PortSnapshot{{}}, Queues: []dataplane.QueueState{{}},
			Tables: []live.TableState{{}}},
		server: p4rt.ServerStats{Calls: map[p4rt.Call]uint64{{Method: "Write", Code: "OK"}: 999_999}},
	}
	next, names := uint64(1_000_000), map[string]string{"999999": "ServerStats.Calls"}
	assign := func(v reflect.Value, name string) {
		next++
		if v.CanInt() {
			v.SetInt(int64(next))
		} else {
			v.SetUint(next)
		}
		names[strconv.FormatUint(next, 10)] = name
	}
	eachNumber(reflect.ValueOf(&f.snapshot).Elem(), "Snapshot", assign)
	eachNumber(reflect.ValueOf(&f.server).Elem(), "ServerStats", assign)
	_, text := scrape(f)
	shown := map[string]bool{}
	for _, line := range strings.Split(text, "\n") {
		if at := strings.LastIndexByte(line, ' '); at >= 0 && strings.HasPrefix(line, "weft_") {
			v, err := strconv.ParseFloat(line[at+1:], 64)
			if err != nil {
				t.Errorf("%s: %v", line, err)
			}
			shown[strconv.FormatUint(uint64(v), 10)] = true
		}
	}
	for value, name := range names {
		if !shown[value] {
			t.Errorf("no metric shows %s", name)
		}
	}
	if len(names) < 30 {
		t.Errorf("%d fields only", len(names))
	}
}

// eachNumber calls f for every integer in a struct, but for those that name
// something.
func eachNumber(v reflect.Value, name string, f func(v reflect.Value, name string)) {
	switch {
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			switch field := v.Type().Field(i).Name; field {
			case "Port", "Priority": // labels
			default:
				eachNumber(v.Field(i), strings.TrimPrefix(name+"."+field, "."), f)
			}
		}
	case v.Kind() == reflect.Slice, v.Kind() == reflect.Array:
		for i := range v.Len() {
			if v.Kind() == reflect.Array && strings.HasSuffix(name, ".Drops") && i == int(drop.None) {
				continue
			}
			eachNumber(v.Index(i), name, f)
		}
	case v.CanInt(), v.CanUint():
		f(v, name)
	}
}
