//go:build linux

package afpacket

import (
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/p4rt"
)

// forwardTo2 makes frames without a match leave by port 2, as in the tests of package live.
const forwardTo2 = `device_id: 1 updates { type: MODIFY entity { table_entry { table_id: 37974470
	is_default_action: true
	action { action { action_id: 33244565 params { param_id: 1 value: "\x02" } } } } } }`

// program loads the program of package p4rt's tests with forwardTo2.
func program(t *testing.T, r *live.Runner) {
	t.Helper()
	text, err := os.ReadFile("../../p4rt/testdata/entities.p4info.txtpb")
	must(t, err)
	info := &configv1.P4Info{}
	must(t, prototext.Unmarshal(text, info))
	json, err := os.ReadFile("../../p4rt/testdata/entities.json")
	must(t, err)
	req := &p4v1.WriteRequest{}
	must(t, prototext.Unmarshal([]byte(forwardTo2), req))
	var failed error
	must(t, r.WithDevice(t.Context(), func(now time.Duration, d *p4rt.Device) {
		failed = errors.Join(d.SetPipeline(now, &p4v1.SetForwardingPipelineConfigRequest{
			DeviceId: 1, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
			Config: &p4v1.ForwardingPipelineConfig{P4Info: info, P4DeviceConfig: json},
		}), d.Write(now, req))
	}))
	must(t, failed)
}

// TestSwitch: a switch on polled ports forwards frames in order, rests without losing any, is told
// of links, goes on when an interface has come back, and closes.
func TestSwitch(t *testing.T) {
	ns := namespace(t)
	must(t, ns.Veth("va", "s1", 9000))
	must(t, ns.Veth("vb", "s2", 9000))
	ports := map[uint32]live.Port{}
	for n, name := range map[uint32]string{1: "s1", 2: "s2"} {
		must(t, ns.Do(func() (err error) {
			ports[n], err = OpenPolled(name, slog.New(slog.DiscardHandler))
			return err
		}))
	}
	r, err := live.Start(live.Config{Device: p4rt.Config{ID: 1}, Ports: ports})
	must(t, err)
	defer r.Close()
	program(t, r)
	a, b := open(t, ns, "va"), open(t, ns, "vb")
	a.attach()
	b.attach()
	var frames [][]byte
	for i := range 300 {
		frames = append(frames, numbered(i, 64+29*i))
	}
	for range 10 {
		a.send(t, frames...)
		b.want(t, frames...)
	}
	// The switch counts frames after sending, perhaps after they have arrived here. An answer from the
	// switch's goroutine comes after the counting.
	_, err = r.Snapshot(t.Context())
	must(t, err)
	if s := r.PortStats(1); s.Received != 3000 || s.RxDropped != 0 || s.RxLost != (live.Losses{}) {
		t.Errorf("port 1 counts %+v", s)
	}
	if s := r.PortStats(2); s.Sent != 3000 || s.TxDropped != 0 {
		t.Errorf("port 2 counts %+v", s)
	}
	link := func(want bool) { // until the switch knows
		for up := !want; up != want; {
			s, err := r.Snapshot(t.Context())
			must(t, err)
			up = s.Ports[0].Up
		}
	}
	must(t, ns.Delete("va"))
	link(false)
	must(t, ns.Veth("va", "s1", 9000))
	c := open(t, ns, "va")
	c.attach()
	link(true)
	c.send(t, frames...)
	b.want(t, frames...)
}

// TestFirstFrame: an interface that was down, and is up again, takes the first frame.
func TestFirstFrame(t *testing.T) {
	ns := namespace(t)
	a, b := pair(t, ns, 1500)
	f := numbered(1, 100)
	for range 3 {
		must(t, a.SetEnabled(false))
		a.wantLink(t, false)
		b.wantLink(t, false)
		must(t, a.SetEnabled(true))
		a.wantLink(t, true)
		b.wantLink(t, true)
		a.send(t, f)
		b.want(t, f)
	}
}
