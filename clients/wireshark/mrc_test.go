// Package wireshark tests the dissector of MRC against this project's own parser, by way of tshark.
package wireshark

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/lab/demo/mrc"
	"github.com/weft-sdn/weft/packet"
)

// fields are the compared fields, in the order of the columns.
var fields = []string{
	"mrc.bth.opcode", "mrc.bth.se", "mrc.bth.m", "mrc.bth.pad", "mrc.bth.tver", "mrc.bth.pkey",
	"mrc.bth.qpn", "mrc.bth.a", "mrc.bth.rtx", "mrc.bth.ts", "mrc.bth.psn",
	"mrc.meth.rqmsn", "mrc.meth.msn", "mrc.tseth.timestamp", "mrc.tseth.tsr", "mrc.tseth.ftype",
	"mrc.reth.va", "mrc.reth.rkey", "mrc.reth.length", "mrc.immdt", "mrc.aeth.syndrome",
	"mrc.aeth.msn",
	"mrc.seth.mark", "mrc.seth.probe", "mrc.seth.ack_psn_offset", "mrc.seth.ev", "mrc.seth.spdcid",
	"mrc.seth.dpdcid", "mrc.seth.cack_psn", "mrc.seth.cc_type",
	"mrc.seth.mpr", "mrc.seth.sack_offset", "mrc.seth.bitmap",
	"mrc.nscc.timestamp", "mrc.nscc.ooo_count", "mrc.nscc.restore_cwnd", "mrc.nscc.rcv_cwnd_pen",
	"mrc.nscc.rcvd_bytes",
	"mrc.neth.reason", "mrc.neth.vendor", "mrc.neth.ev", "mrc.neth.spdcid", "mrc.neth.dpdcid",
	"mrc.neth.psn", "mrc.neth.cc_type", "mrc.neth.timestamp",
	"mrc.peth.vendor", "mrc.peth.id", "mrc.peth.spdcid", "mrc.peth.dpdcid",
	"mrc.erth.op", "mrc.erth.vendor", "mrc.erth.ports", "mrc.eeth.op", "mrc.eeth.timestamp",
	"mrc.ev", "mrc.trimmed", "mrc.icrc",
}

// expected returns the fields that the parser finds, by name. whole says that the capture has the
// frame to its end.
func expected(p *packet.MRC, whole bool) map[string]int64 {
	out := map[string]int64{}
	set := func(name string, v any) {
		var n int64
		switch v := v.(type) {
		case bool:
			if v {
				n = 1
			}
		case uint8:
			n = int64(v)
		case uint16:
			n = int64(v)
		case int16:
			n = int64(v)
		case uint32:
			n = int64(v)
		case uint64:
			n = int64(v)
		default:
			panic(fmt.Sprintf("%s: %T", name, v))
		}
		out["mrc."+name] = n
	}
	b := p.BTH
	set("bth.opcode", uint8(b.Opcode))
	set("bth.se", b.Solicited)
	set("bth.m", b.MigReq)
	set("bth.pad", b.PadCount)
	set("bth.tver", b.TVer)
	set("bth.pkey", b.PKey)
	set("bth.qpn", b.DestQPN)
	set("bth.a", b.AckReq)
	set("bth.rtx", b.Retransmission)
	set("bth.ts", b.Timestamped)
	set("bth.psn", b.PSN)
	set("ev", uint32(p.EV()))
	set("trimmed", p.Trim != packet.NotTrimmed)
	tseth := func(t packet.TSETH) {
		set("tseth.timestamp", t.Timestamp)
		set("tseth.tsr", t.OwnUnit)
		set("tseth.ftype", t.Type)
	}
	if p.Headers.Is(packet.ExtMETH) {
		set("meth.rqmsn", p.METH.RQMSN)
		set("meth.msn", p.METH.MSN)
	}
	if p.Headers.Is(packet.ExtTSETH) {
		tseth(p.TSETH)
	}
	if p.Headers.Is(packet.ExtRETH) {
		set("reth.va", p.RETH.VA)
		set("reth.rkey", p.RETH.RKey)
		set("reth.length", p.RETH.DMALength)
	}
	if p.Headers.Is(packet.ExtImmDt) {
		set("immdt", uint32(p.ImmDt))
	}
	if p.Headers.Is(packet.ExtAETH) {
		set("aeth.syndrome", uint8(p.AETH.Syndrome))
		set("aeth.msn", p.AETH.MSN)
	}
	if h := p.SETH; p.Headers.Is(packet.ExtSETH) {
		set("seth.mark", uint8(h.Mark))
		set("seth.probe", h.Probe)
		set("seth.ack_psn_offset", h.AckPSNOffset)
		set("seth.ev", uint32(h.Entropy))
		set("seth.spdcid", h.SPDCID)
		set("seth.dpdcid", h.DPDCID)
		set("seth.cack_psn", h.CackPSN)
		set("seth.cc_type", uint8(h.CCType))
		set("seth.mpr", h.MPR)
		set("seth.sack_offset", h.SACKOffset)
		set("seth.bitmap", h.SACKBitmap)
		if n, err := h.NSCC(); err == nil {
			set("nscc.timestamp", n.Timestamp)
			set("nscc.ooo_count", n.OOOCount)
			set("nscc.restore_cwnd", n.RestoreCwnd)
			set("nscc.rcv_cwnd_pen", n.RcvCwndPenalty)
			set("nscc.rcvd_bytes", n.RcvdBytes)
		}
	}
	if h := p.NETH; p.Headers.Is(packet.ExtNETH) {
		set("neth.reason", uint8(h.Reason))
		set("neth.vendor", h.VendorInfo)
		set("neth.ev", uint32(h.Entropy))
		set("neth.spdcid", h.SPDCID)
		set("neth.dpdcid", h.DPDCID)
		set("neth.psn", h.PSN)
		set("neth.cc_type", uint8(h.CCType))
		set("neth.timestamp", h.Timestamp)
	}
	if h := p.PETH; p.Headers.Is(packet.ExtPETH) {
		set("peth.vendor", h.VendorInfo)
		set("peth.id", h.ProbeID)
		set("peth.spdcid", h.SPDCID)
		set("peth.dpdcid", h.DPDCID)
		tseth(h.TSETH)
	}
	if h := p.ERTH; p.Headers.Is(packet.ExtERTH) {
		set("erth.op", uint8(h.Op))
		set("erth.vendor", h.VendorInfo)
		if h.Op == packet.EndpointPortStatus {
			set("erth.ports", uint32(h.Ports))
		}
		tseth(h.TSETH)
	}
	if h := p.EETH; p.Headers.Is(packet.ExtEETH) {
		set("eeth.op", uint8(h.Op))
		set("eeth.timestamp", h.Timestamp)
	}
	if whole && p.Trim == packet.NotTrimmed {
		set("icrc", p.ICRC)
	}
	return out
}

// random is a frame of an opcode with random fields.
func random(rng *rand.Rand, op packet.Opcode) packet.MRC {
	octets := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	p := packet.MRC{
		Ethernet: packet.Ethernet{Dst: packet.MAC{2, 0, 0, 0, 0, 2}, Src: packet.MAC{2, 0, 0, 0, 0, 1}},
		IPv6: packet.IPv6{TrafficClass: packet.TrafficClass(packet.DefaultDSCPClasses().Trimmable,
			packet.ECT0), HopLimit: 64,
			Src: netip.MustParseAddr("2001:db8::1"), Dst: netip.MustParseAddr("2001:db8::2")},
		UDP:     packet.UDP{DstPort: packet.RoCEPort},
		Payload: octets(rng.IntN(300)),
	}
	p.SetEV(packet.EV(rng.Uint32()))
	header := octets(64)
	header[0] = byte(op)
	p.BTH, _, _ = packet.ParseMRCBTH(header) // any octets parse
	p.METH, _, _ = packet.ParseMETH(octets(64))
	p.TSETH, _, _ = packet.ParseTSETH(octets(64))
	p.RETH, _, _ = packet.ParseRETH(octets(64))
	p.AETH, _, _ = packet.ParseAETH(octets(64))
	p.ImmDt, _, _ = packet.ParseImmDt(octets(64))
	p.SETH, _, _ = packet.ParseSETH(octets(64))
	p.NETH, _, _ = packet.ParseNETH(octets(64))
	p.PETH, _, _ = packet.ParsePETH(octets(64))
	p.ERTH, _, _ = packet.ParseERTH(octets(64))
	p.EETH, _, _ = packet.ParseEETH(octets(64))
	return p
}

// require skips a test without tshark.
func require(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not on the PATH: apt-get install tshark")
	}
	if _, err := os.Stat("mrc.lua"); err != nil { // go test runs again what it knows to have changed
		t.Fatal(err)
	}
}

// dissect returns the fields of each frame of a file.
func dissect(t *testing.T, file string, names ...string) (frames [][]string) {
	t.Helper()
	args := []string{"-n", "-X", "lua_script:mrc.lua", "-r", file, "-T", "fields", "-E", "separator=;",
		"-E", "occurrence=l"}
	for _, name := range names {
		args = append(args, "-e", name)
	}
	cmd := exec.CommandContext(t.Context(), "tshark", args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil || strings.Contains(errs.String(), "Lua") {
		t.Fatalf("tshark: %v: %s", err, errs.String())
	}
	for line := range strings.Lines(out.String()) {
		frames = append(frames, strings.Split(strings.TrimSuffix(line, "\n"), ";"))
	}
	return frames
}

// compare compares what tshark and the parser say of a frame.
func compare(t *testing.T, i int, columns []string, want map[string]int64) {
	t.Helper()
	for k, name := range fields {
		text := columns[k]
		n, is := want[name]
		if !is || text == "" {
			if is || text != "" {
				t.Errorf("frame %d: %s is %q: want %d, there: %v", i, name, text, n, is)
			}
			continue
		}
		var got int64
		switch text {
		case "True":
			got = 1
		case "False":
		default:
			u, err := strconv.ParseUint(text, 0, 64)
			got = int64(u)
			if strings.HasPrefix(text, "-") {
				got, err = strconv.ParseInt(text, 0, 64)
			}
			if err != nil {
				t.Errorf("frame %d: %s is %q: %v", i, name, text, err)
				continue
			}
		}
		if got != n {
			t.Errorf("frame %d: %s is %s: want %d", i, name, text, n)
		}
	}
}

// TestDissector: tshark and the parser agree on frames of every opcode: trimmed frames, frames
// behind an outer header, and NACKs, which have the UDP length of the refused packet.
func TestDissector(t *testing.T) {
	require(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	trimmer := packet.Trimmer{Size: packet.MinTrimLen + 40, DSCP: packet.DefaultDSCPClasses()}
	var frames [][]byte
	for op := 0; op <= 0xff; op++ {
		opcode := packet.Opcode(op)
		if _, assigned := (packet.MRCBTH{Opcode: opcode}).Extensions(); !assigned {
			continue
		}
		for round := range 12 {
			p := random(rng, opcode)
			if round%2 == 0 {
				p.SETH.CCType = packet.CCTypeNSCC
			}
			if round == 2 {
				p.SetEV(packet.NewEV(3544, rng.Uint32())) // Teredo's port
			}
			if opcode == packet.OpMRCNACK && round%2 == 0 {
				p.UDP.Length = uint16(100 + rng.IntN(4000))
			}
			if round%3 == 1 {
				p.Encapsulated = true
				p.Outer = packet.IPv6{TrafficClass: p.IPv6.TrafficClass, FlowLabel: 5, HopLimit: 64,
					Src: p.IPv6.Src, Dst: netip.MustParseAddr("5f00:0:1::1")}
			}
			frame := p.Append(nil)
			if round%4 == 3 && p.BTH.Opcode <= packet.OpMRCWriteOnlyImmediate {
				var err error
				if frame, err = trimmer.Trim(frame, round%8 == 7); err != nil {
					t.Fatal(err)
				}
			}
			frames = append(frames, frame)
		}
	}
	file := write(t, frames)
	got := dissect(t, file, fields...)
	if len(got) != len(frames) {
		t.Fatalf("tshark shows %d frames of %d", len(got), len(frames))
	}
	for i, frame := range frames {
		p, _, err := packet.ParseMRC(frame, packet.DefaultMRCSettings())
		if err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
		compare(t, i+1, got[i], expected(&p, true))
	}
}

// write writes frames to a capture file.
func write(t *testing.T, frames [][]byte) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "mrc.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	w := pcapgo.NewWriter(file)
	if err := w.WriteFileHeader(65535, layers.LinkTypeEthernet); err != nil {
		t.Fatal(err)
	}
	for i, f := range frames {
		if err := w.WritePacket(gopacket.CaptureInfo{Timestamp: time.Unix(int64(i), 0),
			CaptureLength: len(f), Length: len(f)}, f); err != nil {
			t.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// TestDemo: tshark finds in the demo's captures what the parser finds, whose frames are cut behind
// their headers.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("the demo runs in real time: not under the race detector")
	}
	require(t)
	dir := t.TempDir()
	if _, err := mrc.Run(t.Context(), mrc.Options{Fabric: lab.ClosConfig{T0: 2, T1: 2, Hosts: 4},
		Bytes: 1 << 19, Pcap: dir}); err != nil {
		t.Fatal(err)
	}
	kinds := map[packet.Opcode]int{}
	for _, name := range []string{"P1-T0-1-P1-T1-1.pcap", "P1-T0-1-H1.pcap"} {
		file, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		r, err := pcapgo.NewReader(file)
		if err != nil {
			t.Fatal(err)
		}
		got := dissect(t, file.Name(), fields...)
		for i := range got {
			frame, info, err := r.ReadPacketData()
			if err != nil {
				t.Fatal(err)
			}
			if info.Length != info.CaptureLength {
				continue // the parser wants whole frames
			}
			p, _, err := packet.ParseMRC(frame, packet.DefaultMRCSettings())
			if err != nil {
				continue // ICMPv6
			}
			kinds[p.BTH.Opcode]++
			if compare(t, i+1, got[i], expected(&p, true)); t.Failed() {
				t.FailNow()
			}
		}
	}
	t.Logf("frames compared by opcode: %v", kinds)
	if kinds[packet.OpMRCSACK] == 0 {
		t.Error("the captures have no SACK")
	}
}
