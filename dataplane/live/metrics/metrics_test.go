package metrics

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/p4rt"
)

type fake struct {
	snapshot live.Snapshot
	server   p4rt.ServerStats
	err      error
}

func (f *fake) Snapshot(context.Context) (live.Snapshot, error) { return f.snapshot, f.err }
func (f *fake) Stats() p4rt.ServerStats                         { return f.server }

func scrape(f *fake) (status int, text string) {
	w := httptest.NewRecorder()
	New(Config{Switch: f, Server: f, DeviceID: 7, Version: "v1", Interfaces: map[uint32]string{1: "veth0"}}).
		ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Code, w.Body.String()
}

func TestScrape(t *testing.T) {
	_, text := scrape(&fake{
		snapshot: live.Snapshot{
			Switch: dataplane.Stats{Received: 10, Transmitted: 8, QueueFull: 3, Recirculated: 2},
			Device: p4rt.Stats{PacketIns: 4},
			Ports: []live.PortSnapshot{
				{Port: 1, Up: true, PortStats: live.PortStats{Received: 9, RxOctets: 900, RxDropped: 5, RxLost: live.Losses{Overrun: 21, Oversize: 22}, Sent: 7, SentOctets: 700, TxDropped: 1}},
				{Port: 2},
			},
			Queues:     []dataplane.QueueState{{Port: 1, Priority: 3, Packets: 11, Depth: 64}},
			Tables:     []live.TableState{{Name: "ingress.routes", Entries: 12, Size: 1024}},
			NoSuchPort: 6,
		},
		server: p4rt.ServerStats{Streams: 2, Updates: 13, Calls: map[p4rt.Call]uint64{{Method: "Write", Code: "NotFound"}: 3}},
	})
	for _, want := range []string{
		`weft_build_info{device_id="7",version="v1"} 1`,
		`weft_dataplane_port_packets_total{direction="in",interface="veth0",port="1"} 9`,
		`weft_dataplane_port_packets_total{direction="out",interface="veth0",port="1"} 7`,
		`weft_dataplane_port_octets_total{direction="in",interface="veth0",port="1"} 900`,
		`weft_dataplane_port_octets_total{direction="out",interface="veth0",port="1"} 700`,
		`weft_dataplane_port_drops_total{direction="in",interface="veth0",port="1",reason="queue_full"} 5`,
		`weft_dataplane_port_drops_total{direction="in",interface="veth0",port="1",reason="overrun"} 21`,
		`weft_dataplane_port_drops_total{direction="in",interface="veth0",port="1",reason="oversize"} 22`,
		`weft_dataplane_port_drops_total{direction="out",interface="veth0",port="1",reason="refused"} 1`,
		`weft_dataplane_port_up{interface="veth0",port="1"} 1`,
		`weft_dataplane_port_up{interface="",port="2"} 0`,
		`weft_dataplane_packets_total{direction="in"} 10`,
		`weft_dataplane_packets_total{direction="out"} 8`,
		`weft_dataplane_drops_total{reason="queue_full"} 3`,
		`weft_dataplane_drops_total{reason="no_such_port"} 6`,
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

// Every metric is in docs/cli.md.
func TestDocumented(t *testing.T) {
	document, err := os.ReadFile("../../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text := scrape(&fake{
		snapshot: live.Snapshot{Ports: []live.PortSnapshot{{}}, Queues: []dataplane.QueueState{{}}, Tables: []live.TableState{{}}},
		server:   p4rt.ServerStats{Calls: map[p4rt.Call]uint64{{}: 1}},
	})
	names := regexp.MustCompile(`(?m)^# HELP (weft_\w+)`).FindAllStringSubmatch(text, -1)
	if len(names) < 18 {
		t.Errorf("%d metrics only", len(names))
	}
	for _, m := range names {
		if !strings.Contains(string(document), "`"+m[1]+"`") {
			t.Errorf("docs/cli.md: nothing about %s", m[1])
		}
	}
}

// A switch that is closing costs its own metrics only.
func TestScrapeFails(t *testing.T) {
	status, text := scrape(&fake{err: errors.New("closed")})
	if status != 200 || !strings.Contains(text, "\nweft_p4runtime_streams 0") || strings.Contains(text, "weft_dataplane_packets_total") {
		t.Errorf("status %d\n%s", status, text)
	}
}

// Every drop that the switch counts has its reason here.
func TestAllDrops(t *testing.T) {
	var s dataplane.Stats
	v := reflect.ValueOf(&s).Elem()
	want, other := 0, map[string]bool{
		"Received": true, "Transmitted": true, "Recirculated": true, "Resubmitted": true, "Cloned": true, "Replicated": true, "Multicast": true,
		"OutOfRange": true,
	}
	for i := range v.NumField() {
		if !other[v.Type().Field(i).Name] {
			v.Field(i).SetUint(uint64(i))
			want += i
		}
	}
	got := 0
	for _, d := range drops(&s) {
		got += int(d.n)
	}
	if got != want {
		t.Errorf("the reasons miss a field of dataplane.Stats: %+v", drops(&s))
	}
}
