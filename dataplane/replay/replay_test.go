package replay

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/engine"
)

// stamped is a packet of a capture.
type stamped struct {
	at   time.Duration // since epoch
	data string        // hexadecimal
}

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// capture is a pcap file in memory.
func capture(t testing.TB, writer func(io.Writer) *pcapgo.Writer, link layers.LinkType,
	packets ...stamped) []byte {
	t.Helper()
	var b bytes.Buffer
	w := writer(&b)
	if err := w.WriteFileHeader(0, link); err != nil {
		t.Fatal(err)
	}
	for _, p := range packets {
		frame, err := hex.DecodeString(strings.ReplaceAll(p.data, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		info := gopacket.CaptureInfo{Timestamp: epoch.Add(p.at), CaptureLength: len(frame),
			Length: len(frame)}
		if err := w.WritePacket(info, frame); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func micros(t testing.TB, packets ...stamped) []byte {
	t.Helper()
	return capture(t, pcapgo.NewWriter, layers.LinkTypeEthernet, packets...)
}

func file(t testing.TB, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// outputs are the packets in the files of a folder, by name.
func outputs(t *testing.T, dir string) map[string][]stamped {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_out.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]stamped{}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		r, err := pcapgo.NewReader(bytes.NewReader(text))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all[filepath.Base(path)] = nil
		for {
			frame, info, err := r.ReadPacketData()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			all[filepath.Base(path)] = append(all[filepath.Base(path)], stamped{info.Timestamp.Sub(epoch),
				hex.EncodeToString(frame)})
		}
	}
	return all
}

// load starts a switch with a program of dataplane's tests.
func load(t testing.TB, name string) *dataplane.Switch {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := engine.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	sw := dataplane.New(dataplane.Config{}, nil)
	sw.SetProgram(p)
	return sw
}

// replayed opens, runs and closes. Times are not looked at.
func replayed(t *testing.T, sw *dataplane.Switch, cfg Config) Result {
	t.Helper()
	r, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.Run(t.Context(), sw)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	if result.Seconds <= 0 || result.PPS <= 0 {
		t.Errorf("%v s, %v packets/s", result.Seconds, result.PPS)
	}
	if in, out := int64(result.Packets)+result.Copies, int64(result.Out+result.Dropped)+
		int64(result.Waiting); in != out {
		t.Errorf("%d packets with copies, %d accounted: %+v", in, out, result)
	}
	result.Seconds, result.PPS = 0, 0
	return result
}

// Frames that basic.p4 sends to port 7, 8 and 9, and one that it drops.
const (
	addresses = "020000000001020000000002"
	to7       = addresses + "0800"
	to8       = addresses + "0801"
	to9       = addresses + "9000"
	nowhere   = addresses + "1234"
)

func TestReplay(t *testing.T) {
	const us, ms = time.Microsecond, time.Millisecond
	dir := filepath.Join(t.TempDir(), "out")
	got := replayed(t, load(t, "basic"), Config{
		Inputs: []Input{
			{3, file(t, "b.pcap", micros(t, stamped{0, to7 + "03"}, stamped{5 * us, to7 + "05"},
				stamped{6 * us, nowhere}))},
			{1, file(t, "a.pcap", micros(t, stamped{0, to7 + "01"}, stamped{4 * us, to9},
				stamped{5 * us, to7 + "04"}, stamped{ms, to8}))},
		},
		OutDir: dir, CPUPort: 8,
	})
	want := Result{Packets: 7, Out: 6, Dropped: 1, Drops: map[string]uint64{"ingress": 1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	wantOut := map[string][]stamped{
		"1_out.pcap":   nil,
		"3_out.pcap":   nil,
		"7_out.pcap":   {{0, to7 + "01"}, {0, to7 + "03"}, {5 * us, to7 + "04"}, {5 * us, to7 + "05"}},
		"cpu_out.pcap": {{ms, to8}},
		"9_out.pcap":   {{4 * us, to9}},
	}
	if got := outputs(t, dir); !reflect.DeepEqual(got, wantOut) {
		t.Errorf("%v\nwant %v", got, wantOut)
	}
}

// TestRepeat: passes follow each other in time, and each run writes its own outputs.
func TestRepeat(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "5_out.pcap"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "5_in.pcap"), micros(t, stamped{time.Second, to7},
		stamped{2 * time.Second, to7}), 0o600); err != nil {
		t.Fatal(err)
	}
	got := replayed(t, load(t, "basic"), Config{Inputs: []Input{{1, filepath.Join(dir, "5_in.pcap")}},
		OutDir: dir, Repeat: 3})
	if got.Packets != 6 || got.Out != 6 {
		t.Errorf("%+v", got)
	}
	out := outputs(t, dir)
	if _, there := out["5_out.pcap"]; there {
		t.Error("the output of an earlier run is there")
	}
	var times []time.Duration
	for _, p := range out["7_out.pcap"] {
		times = append(times, p.at)
	}
	want := []time.Duration{
		time.Second, 2 * time.Second, 2*time.Second + passGap, 3*time.Second + passGap, 3*time.Second +
			2*passGap, 4*time.Second + 2*passGap,
	}
	if !reflect.DeepEqual(times, want) {
		t.Errorf("%v, want %v", times, want)
	}
}

// TestNanoseconds: an input with nanoseconds gives outputs with nanoseconds.
func TestNanoseconds(t *testing.T) {
	dir := t.TempDir()
	in := capture(t, pcapgo.NewWriterNanos, layers.LinkTypeEthernet, stamped{1, to7}, stamped{3, to7})
	replayed(t, load(t, "basic"),
		Config{Inputs: []Input{{1, file(t, "a.pcap", in)},
			{2, file(t, "b.pcap", micros(t, stamped{0, to7}))}}, OutDir: dir})
	want := []stamped{{0, to7}, {1, to7}, {3, to7}}
	if got := outputs(t, dir)["7_out.pcap"]; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestBigEndian: a capture from a machine that writes numbers the other way.
func TestBigEndian(t *testing.T) {
	in := micros(t, stamped{time.Second + time.Millisecond, to7})
	for at, n := 0, 4; at < 24+16; at += n {
		if n = 4; at == 4 || at == 6 { // version
			n = 2
		}
		slices.Reverse(in[at : at+n])
	}
	dir := t.TempDir()
	replayed(t, load(t, "basic"), Config{Inputs: []Input{{1, file(t, "a.pcap", in)}}, OutDir: dir})
	want := []stamped{{time.Second + time.Millisecond, to7}}
	if got := outputs(t, dir)["7_out.pcap"]; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestAccounts: copies, recirculation and every kind of drop add up, whatever
// the stamps.
func TestAccounts(t *testing.T) {
	for _, c := range []struct {
		name, packet string
		gap          time.Duration
		n            int
		want         Result
	}{
		{"multicast to 3", "03 00 00", 0, 100, Result{Out: 300, Copies: 200}},
		{"no such group", "09 00 00", 0, 100,
			Result{Dropped: 100, Drops: map[string]uint64{"no_multicast_group": 100}}},
		{"clone", "01 00 00", 0, 100, Result{Out: 200, Copies: 100}},
		{"clone and multicast", "08 00 00", 0, 100, Result{Out: 400, Copies: 300}},
		{"dropped in egress", "00 03 00", 0, 100,
			Result{Dropped: 100, Drops: map[string]uint64{"egress": 100}}},
		{"recirculated, all at once", "03 02 00", 0, 100_000, Result{Out: 300_000, Copies: 200_000}},
		{"for ever", "00 05 00", 0, 3, Result{Waiting: 3}},
		{"too many for ever", "00 05 00", time.Microsecond, 5000, Result{Waiting: 4096, Dropped: 904,
			Drops: map[string]uint64{"recirculation_full": 904}}},
		{"digests", "05 00 00", 0, 100, Result{Out: 100, Digests: 100}},
		{"empty", "", 0, 5, Result{Dropped: 5, Drops: map[string]uint64{"empty": 5}}},
		{"longer than a buffer", strings.Repeat("00", readBuffer+1), 0, 3,
			Result{Dropped: 3, Drops: map[string]uint64{"oversize": 3}}},
		{"jumbo", strings.Repeat("00", 10241), 0, 5,
			Result{Dropped: 5, Drops: map[string]uint64{"oversize": 5}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			sw := load(t, "copies")
			replicas := []dataplane.Replica{{Port: 1, Instance: 1}, {Port: 2, Instance: 2},
				{Port: 2, Instance: 3}}
			if err := sw.InsertMulticastGroup(dataplane.MulticastGroup{ID: 9,
				Replicas: replicas}); err != nil {
				t.Fatal(err)
			}
			for id := range uint16(2) {
				if err := sw.InsertCloneSession(dataplane.CloneSession{ID: 5 + id,
					Replicas: replicas[:1]}); err != nil {
					t.Fatal(err)
				}
			}
			var in []stamped
			for i := range c.n {
				in = append(in, stamped{time.Duration(i) * c.gap, c.packet})
			}
			got := replayed(t, sw, Config{Inputs: []Input{{1, file(t, "in.pcap", micros(t, in...))}},
				OutDir: t.TempDir()})
			c.want.Packets = uint64(c.n)
			if c.want.Drops == nil {
				c.want.Drops = map[string]uint64{}
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v\nwant %+v", got, c.want)
			}
		})
	}
}

// TestOpenErrors: Open refuses an unusable file before writing anything, and names the file and the
// reason.
func TestOpenErrors(t *testing.T) {
	good := micros(t, stamped{0, to7}, stamped{0, to7})
	long := func(at int, b ...byte) []byte {
		c := bytes.Clone(good)
		copy(c[at:], b)
		return c
	}
	same := t.TempDir()
	if err := os.WriteFile(filepath.Join(same, "1_out.pcap"), good, 0o600); err != nil {
		t.Fatal(err)
	}
	sealed := t.TempDir()
	if err := os.WriteFile(filepath.Join(sealed, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		cfg  Config
		want string
		is   error
	}{
		{"no input", Config{OutDir: t.TempDir()}, "no input", ErrConfig},
		{"no folder", Config{Inputs: []Input{{1, file(t, "a.pcap", good)}}}, "no folder", ErrConfig},
		{"passes", Config{Inputs: []Input{{1, file(t, "a.pcap", good)}}, OutDir: t.TempDir(), Repeat: -1},
			"-1 passes; want 1 or more", ErrConfig},
		{"port twice", Config{Inputs: []Input{{1, file(t, "a.pcap", good)}, {2, file(t, "b.pcap", good)},
			{1, file(t, "c.pcap", good)}}}, "port 1 has two inputs", nil},
		{"no file", Config{Inputs: []Input{{1, "nosuch.pcap"}}}, "open nosuch.pcap", os.ErrNotExist},
		{"empty", Config{Inputs: []Input{{1, file(t, "a.pcap", nil)}}},
			"a.pcap: not a capture that can be replayed: it ends within the header", ErrInput},
		{"half a header", Config{Inputs: []Input{{1, file(t, "a.pcap", good[:23])}}},
			"it ends within the header", ErrInput},
		{"text", Config{Inputs: []Input{{1, file(t, "a.pcap", []byte(strings.Repeat("frame ", 9)))}}},
			"not a pcap file", ErrInput},
		{"pcapng", Config{Inputs: []Input{{1, file(t, "a.pcap", []byte("\n\r\r\nfrob"))}}},
			"a.pcap: not a capture that can be replayed: it is pcapng; want pcap (editcap -F pcap)",
			ErrInput},
		{"gzip", Config{Inputs: []Input{{1, file(t, "a.pcap", []byte("\x1f\x8bfrob"))}}},
			"it is compressed; want pcap (gunzip)", ErrInput},
		{"link type", Config{Inputs: []Input{{1,
			file(t, "a.pcap", capture(t, pcapgo.NewWriter, layers.LinkTypeRaw, stamped{0, to7}))}}},
			"link type 101; want 1 (Ethernet)", ErrInput},
		{"cut", Config{Inputs: []Input{{1, file(t, "a.pcap", good[:24+16+3])}}},
			"packet 1: not a capture that can be replayed: the file ends within it", ErrInput},
		{"not captured whole", Config{Inputs: []Input{{1, file(t, "a.pcap", long(24+12, 200))}}},
			"packet 1: not a capture that can be replayed: 14 of its 200 octets", ErrInput},
		{"longer than it was", Config{Inputs: []Input{{1, file(t, "a.pcap", long(24+8, 200))}}},
			"packet 1: not a capture", ErrInput},
		{"as long as the world", Config{Inputs: []Input{{1,
			file(t, "a.pcap", long(24+8, 255, 255, 255, 255, 255, 255, 255, 255))}}},
			"packet 1: not a capture", ErrInput},
		{"over itself", Config{Inputs: []Input{{2, filepath.Join(same, "1_out.pcap")}}, OutDir: same},
			"1_out.pcap: the output is one of the inputs (port 2)", ErrOverwrite},
		{"no parent", Config{Inputs: []Input{{1, file(t, "a.pcap", good)}}, OutDir: "no/such/folder"},
			"mkdir no/such/folder", os.ErrNotExist},
		{"a file", Config{Inputs: []Input{{1, file(t, "a.pcap", good)}},
			OutDir: filepath.Join(sealed, "file")}, "not a directory", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.cfg.OutDir == "" && c.is != ErrConfig {
				c.cfg.OutDir = t.TempDir()
			}
			_, err := Open(c.cfg)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
				t.Fatalf("%v\nwant %q, %v", err, c.want, c.is)
			}
		})
	}
	if got, err := os.ReadFile(filepath.Join(same, "1_out.pcap")); err != nil ||
		!bytes.Equal(got, good) {
		t.Errorf("the input has changed: %d octets, %v", len(got), err)
	}
}

// TestRunErrors: Run finds faults late in the input too, and keeps the packets that left before.
func TestRunErrors(t *testing.T) {
	good := micros(t, stamped{0, to7}, stamped{0, to7}, stamped{0, to7})
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		in   []byte
		want string
		out  int
	}{
		{"cut", t.Context(), good[:len(good)-3],
			"packet 3: not a capture that can be replayed: the file ends within it", 2},
		{"cut in a header", t.Context(), good[:24+2*30+5], "packet 3: not a capture", 2},
		{"interrupted", cancelled, micros(t, make([]stamped, 5000)...), "context canceled", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			r, err := Open(Config{Inputs: []Input{{1, file(t, "a.pcap", c.in)}}, OutDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Run(c.ctx, load(t, "basic")); err == nil ||
				!strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
			if got := len(outputs(t, dir)["7_out.pcap"]); got != c.out {
				t.Errorf("%d packets out, want %d", got, c.out)
			}
		})
	}
}

// TestOutputErrors: an output that cannot be made or written ends the run.
func TestOutputErrors(t *testing.T) {
	dir := t.TempDir()
	r, err := Open(Config{Inputs: []Input{{1, file(t, "a.pcap", micros(t, stamped{0, to7}))}},
		OutDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "7_out.pcap"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Run(t.Context(), load(t, "basic")); !errors.Is(err, os.ErrExist) {
		t.Errorf("%v", err)
	}
	if err := r.Close(); !errors.Is(err, os.ErrExist) {
		t.Errorf("close: %v", err)
	}
}

// TestNoAllocations: a second pass over the inputs costs no allocation a packet.
func TestNoAllocations(t *testing.T) {
	var in []stamped
	for i := range 10_000 {
		in = append(in, stamped{time.Duration(i) * time.Microsecond, to7})
	}
	path := file(t, "a.pcap", micros(t, in...))
	dir := t.TempDir()
	sw := load(t, "basic")
	passes := func(n int) float64 {
		return testing.AllocsPerRun(1, func() {
			r, err := Open(Config{Inputs: []Input{{1, path}}, OutDir: dir, Repeat: n})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Run(t.Context(), sw); err != nil {
				t.Fatal(err)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
	if once, five := passes(1), passes(5); five-once > 100 {
		t.Errorf("%v allocations for one pass, %v for five of %d packets", once, five, len(in))
	}
}

func FuzzInput(f *testing.F) {
	f.Add(micros(f, stamped{0, to7}, stamped{5, to8}))
	f.Add(capture(f, pcapgo.NewWriterNanos, layers.LinkTypeEthernet, stamped{0, ""}))
	f.Add([]byte("\x1f\x8b\x08\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		path := file(t, "a.pcap", b)
		s, err := openSource(Input{1, path})
		for n := 0; err == nil && !s.done; n++ {
			if len(s.frame) > maxFrame {
				t.Fatalf("a frame of %d octets", len(s.frame))
			}
			err = s.next()
		}
		if err != nil && !strings.Contains(err.Error(), path) {
			t.Errorf("%v does not name the file", err)
		}
		if s != nil {
			s.file.Close()
		}
	})
}

func BenchmarkReplay(b *testing.B) {
	var in []stamped
	for i := range 10_000 {
		in = append(in, stamped{time.Duration(i) * time.Microsecond, to7 + strings.Repeat("00", 50)})
	}
	path := file(b, "a.pcap", micros(b, in...))
	r, err := Open(Config{Inputs: []Input{{1, path}}, OutDir: b.TempDir(),
		Repeat: max(1, b.N/len(in))})
	if err != nil {
		b.Fatal(err)
	}
	sw := load(b, "basic")
	b.ResetTimer()
	result, err := r.Run(b.Context(), sw)
	if err := errors.Join(err, r.Close()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(result.PPS, "packets/s")
	if result.Out != result.Packets {
		b.Fatal(fmt.Sprint(result))
	}
}
