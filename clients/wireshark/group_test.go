package wireshark

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/resource"
	endpoint "github.com/weft-sdn/weft/host/cm"
	"github.com/weft-sdn/weft/internal/rdmacm"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/packet/cm"
)

// messages is a tap that keeps the frames of RDMA CM that hosts send and get.
type messages struct {
	hosts []string
	times []time.Duration
	seen  [][]byte
}

// Sent implements lab.Tap.
func (m *messages) Sent(now time.Duration, w *lab.Wire, frame []byte) {
	for _, h := range m.hosts {
		if (w.From == h || w.To == h) && cm.IsFrame(frame) {
			m.times, m.seen = append(m.times, now), append(m.seen, bytes.Clone(frame))
		}
	}
}

// Arrived implements lab.Tap.
func (*messages) Arrived(time.Duration, *lab.Wire, []byte) {}

// connecting is what a source S1 and a receiver R1, which listens, exchange with the controller in
// virtual time on Figure 1: S1 is refused with a false token, connects with the true one, and
// leaves. It returns the frames on the links of both hosts.
func connecting(t *testing.T) *messages {
	t.Helper()
	world, err := lab.NewWorld(lab.Figure1(), lab.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	control, err := lab.NewControl(world, lab.DefaultLatencies())
	if err != nil {
		t.Fatal(err)
	}
	if err := control.Start(); err != nil {
		t.Fatal(err)
	}
	tap := &messages{hosts: []string{"S1", "R1"}}
	world.AddTap(tap)
	wait := func(what string, done func() bool) {
		t.Helper()
		if !world.Run(world.Now()+time.Minute, done) {
			t.Fatalf("%s: not within a minute: %v", what, control.Err())
		}
	}
	hosts := make(map[string]*lab.HostNode)
	for _, name := range tap.hosts {
		if hosts[name], err = world.Host(name); err != nil {
			t.Fatal(err)
		}
	}
	wait("the switches", func() bool {
		for _, sw := range control.Core().Switches() {
			if !sw.Synced || sw.Settling {
				return false
			}
		}
		return true
	})

	const port, token = 4242, "open sesame"
	join := cm.Join{HasToken: true}
	copy(join.Token[:], token)
	memory := join
	memory.HasMemory, memory.RKey, memory.VA, memory.Length = true, 100, 0x1000, 8192
	source, receiver := hosts["S1"], hosts["R1"]
	receiver.CM.Listen(port, func(endpoint.Request) endpoint.Reply {
		return endpoint.Reply{Private: memory.Append(nil)}
	})
	proxy := netip.MustParseAddr("2001:db8:ffff::1")
	// The request goes out when its switch has what lets the answer pass: not beside that.
	asked := false
	control.Log = func(_ string, args ...any) {
		if len(args) != 4 { // the time, a switch, and the numbers of updates and of packets
			return
		}
		if updates, packets := args[2].(int), args[3].(int); packets > 0 && !asked {
			if asked = true; updates > 0 {
				t.Errorf("%v: the request goes to %v with %d updates", args[0], args[1], updates)
			}
		}
	}
	err = control.Change(func(core *controller.Core) error {
		_, _, err := core.Groups().Put("g", api.MulticastGroupSpec{ProxyAddress: proxy,
			DesignatedQPN: 0xD0D0, InitialPSN: 0xFFFFF0, BaseVA: 0x10000,
			Connect:   &api.GroupConnect{Port: port, MTU: 4096, Token: token},
			Source:    api.GroupSource{Address: source.Config().Addr},
			Receivers: []api.GroupReceiver{{Address: receiver.Config().Addr}},
		}, resource.Precondition{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	happened := func(h *lab.HostNode, kind rdmacm.Kind) func() bool {
		return func() bool {
			for _, e := range h.CM.Events() {
				if e.Kind == kind {
					return true
				}
			}
			return false
		}
	}
	connect := func(private cm.Join) (id uint32) {
		t.Helper()
		id, err := source.CM.Connect(world.Now(), proxy, port, private.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		source.Wake()
		return id
	}
	wait("the receiver", happened(receiver, rdmacm.Up))
	control.Log = nil
	connect(cm.Join{HasToken: true, Token: [cm.TokenLen]byte{1}})
	wait("the refusal", happened(source, rdmacm.Refused))
	id := connect(join)
	wait("the source", happened(source, rdmacm.Up))
	source.CM.Disconnect(world.Now(), id)
	source.Wake()
	wait("the end", happened(source, rdmacm.Down))
	return tap
}

// TestGroupExchange: testdata/group.pcap is what a source and a receiver exchange with the
// controller, as the stack of hosts, the switches and the controller do it in virtual time. tshark
// reads the names of messages and the values that ends tell each other.
func TestGroupExchange(t *testing.T) {
	golden := filepath.Join("testdata", "group.pcap")
	got := connecting(t)
	if *update {
		writeGroup(t, golden, got)
	}
	file, err := os.Open(golden)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := pcapgo.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var want [][]byte
	for b, _, err := r.ReadPacketData(); err == nil; b, _, err = r.ReadPacketData() {
		want = append(want, b)
	}
	if !reflect.DeepEqual(got.seen, want) {
		t.Errorf("%s has other frames than hosts and controller exchange: go test -update", golden)
	}

	require(t)
	compareGroup(t, golden, want)
}

func writeGroup(t *testing.T, name string, m *messages) {
	t.Helper()
	var pcap bytes.Buffer
	w := pcapgo.NewWriter(&pcap)
	if err := w.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for i, b := range m.seen {
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(0, 0).Add(m.times[i]),
			CaptureLength: len(b), Length: len(b)}, b); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(name, pcap.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// compareGroup compares names and fields of tshark with what the messages were made of: the spec of
// the group, and what ends tell each other.
func compareGroup(t *testing.T, golden string, frames [][]byte) {
	t.Helper()
	parse := func(i int) cm.Message {
		f, _, err := cm.ParseFrame(frames[i])
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		return f.MAD.Message
	}
	if len(frames) != 11 {
		t.Fatalf("%d frames, want 11", len(frames))
	}
	asked, answered := parse(0).(cm.REQ), parse(1).(cm.REP)
	refused, req, rep := parse(3).(cm.REQ), parse(5).(cm.REQ), parse(7).(cm.REP)
	const group, receiver, source = "2001:db8:ffff::1", "2001:db8:1:2::1", "2001:db8:1:1::1"
	id := func(n uint32) string { return fmt.Sprintf("0x%08x", n) }
	num := func(n uint32) string { return fmt.Sprintf("0x%06x", n) }
	ids := func(local, remote uint32) []string { return []string{id(local), id(remote)} }
	cases := []struct {
		name, from string // of the message as tshark has it, and its sender
		fields     []string
		want       []string
	}{
		{"ConnectRequest", group, []string{"req.serviceid.dport", "req.localqpn", "req.startpsn",
			"req.pppmtu", "req.ip_cm.sip6", "req.ip_cm.dip6"},
			[]string{"0x1092", "0x00d0d0", "0xfffff0", "0x05", group, receiver}},
		{"ConnectReply", receiver, []string{"rep.remotecommid", "rep.localqpn", "rep.startpsn"},
			[]string{id(asked.LocalID), num(answered.QPN), num(answered.StartingPSN)}},
		{"ReadyToUse", group, []string{"rtu.localcommid", "rtu.remotecommid"},
			ids(asked.LocalID, answered.LocalID)},
		{"ConnectRequest", source, []string{"req.serviceid.dport", "req.localqpn", "req.ip_cm.sip6"},
			[]string{"0x1092", num(refused.QPN), source}},
		{"ConnectReject", group, []string{"rej.localcommid", "rej.remotecommid", "rej.msgrej",
			"rej.reason"}, append(ids(rep.LocalID-1, refused.LocalID), "0x00", "0x001c")},
		{"ConnectRequest", source, []string{"req.serviceid.dport", "req.localqpn", "req.startpsn",
			"req.pppmtu"}, []string{"0x1092", num(req.QPN), num(req.StartingPSN), "0x05"}},
		{"MsgRcptAck", group, nil, nil},
		{"ConnectReply", group, []string{"rep.remotecommid", "rep.localqpn", "rep.startpsn",
			"rep.respres", "rep.initdepth", "rep.failoveracc", "rep.rnrretrcount"},
			[]string{id(req.LocalID), "0x00d0d0", "0xfffff0", "0x00", "0x00", "0x01", "0x07"}},
		{"ReadyToUse", source, []string{"rtu.localcommid", "rtu.remotecommid"},
			ids(req.LocalID, rep.LocalID)},
		{"DisconnectRequest", source, []string{"dreq.localcommid", "dreq.remotecommid",
			"req.remoteqpneecn"}, append(ids(req.LocalID, rep.LocalID), "0x00d0d0")},
		{"DisconnectReply", group, []string{"drsp.localcommid", "drsp.remotecommid"},
			ids(rep.LocalID, req.LocalID)},
	}
	columns := []string{"_ws.col.Info", "ipv6.src"}
	column := make(map[string]int) // tshark wants each once
	for _, c := range cases {
		for _, f := range c.fields {
			if _, has := column[f]; !has {
				column[f] = len(columns)
				columns = append(columns, "infiniband.cm."+f)
			}
		}
	}
	lines := dissect(t, golden, columns...)
	if len(lines) != len(cases) {
		t.Fatalf("tshark shows %d frames, want %d", len(lines), len(cases))
	}
	for i, got := range lines {
		c := cases[i]
		if name := "CM: " + c.name; got[0] != name || got[1] != c.from {
			t.Errorf("frame %d: %q from %s, want %q from %s", i, got[0], got[1], name, c.from)
		}
		for k, f := range c.fields {
			if v := got[column[f]]; v != c.want[k] {
				t.Errorf("frame %d, %s is %s, want %s", i, f, v, c.want[k])
			}
		}
	}
}
