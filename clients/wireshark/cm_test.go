package wireshark

import (
	"bytes"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/packet/cm"
)

var update = flag.Bool("update", false, "write testdata/cm.pcap anew")

// exchange is how a source connects to a group, and leaves it; another is refused.
func exchange() []cm.Frame {
	host, proxy := netip.MustParseAddr("2001:db8:1::1"), netip.MustParseAddr("2001:db8:ffff::1")
	req := cm.REQ{LocalID: 0x11, ServiceID: cm.ServiceID(4242), CAGUID: 0x020000fffe000001,
		QPN: 0x1A2B, RemoteTimeout: 20, StartingPSN: 0x987654, LocalTimeout: 20, RetryCount: 7,
		PKey: packet.DefaultPKey, PathMTU: cm.MTU4096, RNRRetryCount: 7, MaxCMRetries: 15,
		LocalLID: cm.NoLID, RemoteLID: cm.NoLID, LocalGID: host, RemoteGID: proxy, HopLimit: 64,
		ACKTimeout: 18}
	ip := cm.IP{SrcPort: 40000, Src: host, Dst: proxy}
	join := cm.Join{HasToken: true, Token: [cm.TokenLen]byte{1, 2, 3}}
	copy(req.Private[:], join.Append(ip.Append(nil)))
	rep := cm.REP{LocalID: 0x22, RemoteID: 0x11, QPN: 0xD00D, StartingPSN: 0xFFFFF0,
		TargetACKDelay: 15, Failover: cm.FailoverUnsupported, RNRRetryCount: 7,
		CAGUID: 0x5766740000000001}
	copy(rep.Private[:], cm.Offer{MTU: cm.MTU4096, RKey: 7, BaseVA: 0x10000, Length: 1 << 26,
		Epoch: 9}.Append(nil))
	refused := cm.REJ{RemoteID: 0x12, Of: cm.OfREQ, Reason: cm.InvalidServiceID}

	var out []cm.Frame
	add := func(fromHost bool, tid uint64, m cm.Message) {
		f := cm.Frame{IPv6: packet.IPv6{HopLimit: 64, Src: proxy, Dst: host}, SrcPort: 0xC000,
			PKey: packet.DefaultPKey, PSN: uint32(len(out)), SourceQPN: cm.GSI,
			Ethernet: packet.Ethernet{Dst: packet.MAC{2, 0, 0, 0, 1, 1}, Src: packet.MAC{2, 0, 0, 0, 2, 1}},
			MAD:      cm.MAD{TID: tid, Message: m}}
		if fromHost {
			f.IPv6.Src, f.IPv6.Dst = f.IPv6.Dst, f.IPv6.Src
			f.Ethernet.Src, f.Ethernet.Dst = f.Ethernet.Dst, f.Ethernet.Src
		}
		out = append(out, f)
	}
	add(true, 1, req)
	add(false, 1, cm.MRA{LocalID: 0x22, RemoteID: 0x11, Of: cm.OfREQ, ServiceTimeout: 20})
	add(false, 1, rep)
	add(true, 1, cm.RTU{LocalID: 0x11, RemoteID: 0x22})
	add(true, 2, cm.DREQ{LocalID: 0x11, RemoteID: 0x22, QPN: 0xD00D})
	add(false, 2, cm.DREP{LocalID: 0x22, RemoteID: 0x11})
	req.LocalID, req.ServiceID = 0x12, cm.ServiceID(4243)
	add(true, 3, req)
	add(false, 3, refused)
	return out
}

// TestConnectionManager: the codec writes testdata/cm.pcap, and tshark's own dissector of RDMA CM
// reads every field correctly.
func TestConnectionManager(t *testing.T) {
	golden := filepath.Join("testdata", "cm.pcap")
	var pcap bytes.Buffer
	w := pcapgo.NewWriter(&pcap)
	if err := w.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for i, f := range exchange() {
		b := f.Append(nil)
		info := gopacket.CaptureInfo{Timestamp: time.Unix(int64(i), 0), CaptureLength: len(b),
			Length: len(b)}
		if err := w.WritePacket(info, b); err != nil {
			t.Fatal(err)
		}
	}
	if *update {
		if err := os.WriteFile(golden, pcap.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(pcap.Bytes(), want) {
		t.Errorf("%s differs from what the codec writes: go test -update", golden)
	}

	require(t)
	const in = "infiniband."
	cases := []struct {
		frame  int
		fields []string
		want   string
	}{
		{0, []string{"bth.opcode", "bth.destqp", "bth.p_key", "deth.q_key", "deth.srcqp",
			"mad.mgmtclass", "mad.classversion", "mad.method", "mad.transactionid"},
			"100 0x000001 65535 0x0000000080010000 0x00000001 0x07 0x02 0x03 0x0000000000000001"},
		{0, []string{"cm.req.serviceid.dport", "cm.req.localcaguid", "cm.req.localqpn",
			"cm.req.remoteresptout", "cm.req.transpsvctype", "cm.req.startpsn",
			"cm.req.localresptout", "cm.req.retrcount", "cm.req.pppmtu", "cm.req.rnrretrcount",
			"cm.req.maxcmretr", "cm.req.prim_hoplim", "cm.req.prim_localacktout"},
			"0x1092 0x020000fffe000001 0x001a2b 0x14 0x00 0x987654 0x14 0x07 0x05 0x07 0x0f 0x40 0x12"},
		{0, []string{"cm.req.ip_cm.ipv", "cm.req.ip_cm.sport", "cm.req.ip_cm.sip6",
			"cm.req.ip_cm.dip6"}, "0x06 0x9c40 2001:db8:1::1 2001:db8:ffff::1"},
		{2, []string{"cm.rep.remotecommid", "cm.rep.localqpn",
			"cm.rep.startpsn", "cm.rep.respres", "cm.rep.initdepth", "cm.rep.tgtackdelay",
			"cm.rep.failoveracc", "cm.rep.rnrretrcount", "cm.rep.localcaguid"},
			"0x00000011 0x00d00d 0xfffff0 0x00 0x00 0x0f 0x01 0x07 0x5766740000000001"},
		{3, []string{"cm.rtu.localcommid", "cm.rtu.remotecommid"},
			"0x00000011 0x00000022"},
		{4, []string{"cm.dreq.localcommid", "cm.dreq.remotecommid",
			"cm.req.remoteqpneecn"}, "0x00000011 0x00000022 0x00d00d"},
		{5, []string{"cm.drsp.localcommid", "cm.drsp.remotecommid"},
			"0x00000022 0x00000011"},
		{7, []string{"cm.rej.localcommid", "cm.rej.remotecommid",
			"cm.rej.msgrej", "cm.rej.reason"}, "0x00000000 0x00000012 0x00 0x0008"},
	}
	var names []string
	for _, c := range cases {
		for _, f := range c.fields {
			names = append(names, in+f)
		}
	}
	frames, at := dissect(t, golden, append(names, in+"mad.attributeid")...), 0
	for i, f := range exchange() {
		want := fmt.Sprintf("0x%04x", uint16(f.MAD.Message.Attribute()))
		if got := frames[i][len(names)]; got != want {
			t.Errorf("frame %d: attribute %s, want %s", i, got, want)
		}
	}
	for _, c := range cases {
		got := strings.Join(frames[c.frame][at:at+len(c.fields)], " ")
		if at += len(c.fields); got != c.want {
			t.Errorf("frame %d, %v:\n got %s\nwant %s", c.frame, c.fields, got, c.want)
		}
	}
}
