package dataplane

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// oracle configures this switch and, in the words of simple_switch_CLI, BMv2's
// simple_switch alike, and compares what leaves both.
type oracle struct {
	*rig
	json  string
	cli   strings.Builder
	nodes int
	in    []arrival
	mask  func(string) string // hides what may differ
}

type arrival struct {
	port  uint32
	frame []byte
}

// newOracle skips the test where simple_switch is not installed.
func newOracle(t *testing.T, json string) *oracle {
	for _, exe := range []string{"simple_switch", "simple_switch_CLI"} {
		if _, err := exec.LookPath(exe); err != nil {
			t.Skipf("%s is not on the PATH: nothing to compare with", exe)
		}
	}
	t.Parallel() // most of the time is waiting
	if !strings.Contains(json, "/") {
		json = filepath.Join("testdata", json+".json")
	}
	o := &oracle{rig: newRigWith(t, loadFile(t, json), Config{Seed: 1, Priorities: 1}), json: json}
	o.say("set_queue_depth 1000000")
	return o
}

func (o *oracle) say(format string, args ...any) { fmt.Fprintf(&o.cli, format+"\n", args...) }

func num(b []byte) string { return fmt.Sprintf("0x%x", new(big.Int).SetBytes(b)) }

func (o *oracle) insert(table string, keys []string, prio int32, call ActionCall) {
	o.rig.insert(table, keys, prio, call)
	t := o.p.Tables()[o.table(table)]
	e := o.entry(keys, prio, call)
	var ks []string
	for i, m := range e.Match {
		switch t.Keys[i].Match {
		case Exact:
			ks = append(ks, num(m.Value))
		case LPM:
			ks = append(ks, fmt.Sprintf("0x%0*x/%d", (t.Keys[i].Width+3)/4, new(big.Int).SetBytes(m.Value), m.PrefixLen))
		case Ternary:
			ks = append(ks, num(m.Value)+"&&&"+num(m.Mask))
		case Range:
			hi := m.High
			if len(hi) == 0 {
				hi = lowMask(t.Keys[i].Width)
			}
			ks = append(ks, num(m.Value)+"->"+num(hi))
		}
	}
	suffix := ""
	if o.p.tables[o.table(table)].needsPriority() {
		suffix = fmt.Sprint(" ", 1_000_000-prio)
	}
	o.say("table_add %s %s %s => %s%s", t.Name, o.p.Actions()[call.Action].Name, strings.Join(ks, " "), args(call), suffix)
}

func args(call ActionCall) string {
	var as []string
	for _, a := range call.Args {
		as = append(as, num(a))
	}
	return strings.Join(as, " ")
}

func (o *oracle) setDefault(table string, call ActionCall) {
	o.rig.setDefault(table, call)
	o.say("table_set_default %s %s %s", o.p.Tables()[o.table(table)].Name, o.p.Actions()[call.Action].Name, args(call))
}

func (o *oracle) group(g MulticastGroup) {
	if err := o.s.InsertMulticastGroup(g); err != nil {
		o.t.Fatal(err)
	}
	o.say("mc_mgrp_create %d", g.ID)
	for _, r := range g.Replicas {
		o.say("mc_node_create %d %d", r.Instance, r.Port)
		o.say("mc_node_associate %d %d", g.ID, o.nodes)
		o.nodes++
	}
}

func (o *oracle) session(id uint16, port uint32) {
	if err := o.s.InsertCloneSession(CloneSession{ID: id, Replicas: []Replica{{Port: port}}}); err != nil {
		o.t.Fatal(err)
	}
	o.say("mirroring_add %d %d", id, port)
}

func (o *oracle) packet(port uint32, frame []byte) { o.in = append(o.in, arrival{port, frame}) }

// compare puts the packets through both switches and compares what leaves, per
// port and without regard to order: BMv2's threads have none between packets.
// ports are all those that may see traffic.
func (o *oracle) compare(ports []uint32) {
	o.t.Helper()
	ours := map[uint32][]string{}
	for _, a := range o.in {
		o.sent = nil
		o.s.Receive(o.now, a.port, a.frame)
		o.s.Advance(o.now)
		for _, s := range o.sent {
			ours[s.port] = append(ours[s.port], s.data)
		}
		o.now += time.Microsecond
	}
	theirs := o.simpleSwitch(ports)
	total := 0
	for _, p := range ports {
		a, b := ours[p], theirs[p]
		if o.mask != nil {
			for _, l := range [][]string{a, b} {
				for i := range l {
					l[i] = o.mask(l[i])
				}
			}
		}
		slices.Sort(a)
		slices.Sort(b)
		total += len(a)
		onlyOurs, onlyTheirs := subtract(a, b), subtract(b, a)
		if len(onlyOurs)+len(onlyTheirs) == 0 {
			continue
		}
		o.t.Errorf("port %d: %d packets here, %d from simple_switch; %d only here, %d only there",
			p, len(a), len(b), len(onlyOurs), len(onlyTheirs))
		for i, s := range [][]string{onlyOurs, onlyTheirs} {
			for _, x := range s[:min(3, len(s))] {
				o.t.Logf("%s: %s", []string{"only here", "only there"}[i], x)
			}
		}
	}
	o.t.Logf("%d packets in, %d out", len(o.in), total)
}

// subtract returns what sorted a has and sorted b has not.
func subtract(a, b []string) []string {
	var out []string
	for len(a) > 0 {
		switch {
		case len(b) == 0 || a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] == b[0]:
			a, b = a[1:], b[1:]
		default:
			b = b[1:]
		}
	}
	return out
}

// simpleSwitch runs the packets through BMv2 by way of pcap files.
func (o *oracle) simpleSwitch(ports []uint32) map[uint32][]string {
	t := o.t
	t.Helper()
	dir := t.TempDir()
	byPort := map[uint32]*bytes.Buffer{}
	for _, p := range ports {
		byPort[p] = pcapHeader()
	}
	for i, a := range o.in {
		pcapFrame(byPort[a.port], i, a.frame)
	}
	json, err := filepath.Abs(o.json)
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	thrift := ln.Addr().(*net.TCPAddr).Port
	ln.Close()
	argv := []string{"--use-files", fmt.Sprint(settleSeconds), "--thrift-port", fmt.Sprint(thrift), "--device-id", fmt.Sprint(thrift),
		"--log-level", "off"}
	for _, p := range ports {
		name := fmt.Sprintf("p%d", p)
		if err := os.WriteFile(filepath.Join(dir, name+"_in.pcap"), byPort[p].Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		argv = append(argv, "-i", fmt.Sprintf("%d@%s", p, name))
	}
	sw := exec.Command("simple_switch", append(argv, json)...)
	sw.Dir = dir
	var swOut bytes.Buffer
	sw.Stdout, sw.Stderr = &swOut, &swOut
	if err := sw.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sw.Process.Kill()
		_ = sw.Wait()
	}()
	begin := time.Now().Add((settleSeconds + 2) * time.Second) // packets flow before that
	deadline := time.Now().Add(20 * time.Second)
	for {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", thrift))
		if err == nil {
			c.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("simple_switch did not start: %s", swOut.String())
		}
		time.Sleep(20 * time.Millisecond) // another process: there is nothing to wait on
	}
	cli := exec.Command("simple_switch_CLI", "--thrift-port", fmt.Sprint(thrift))
	cli.Stdin = strings.NewReader(o.cli.String())
	out, err := cli.CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("Error")) || bytes.Contains(out, []byte("Invalid")) {
		t.Fatalf("simple_switch_CLI: %v\n%s", err, out)
	}
	if time.Now().After(begin.Add(-3 * time.Second)) {
		t.Skip("this machine is too busy: simple_switch was not configured in time")
	}
	// Done when the output files stop growing.
	last, still := -1, 0
	for still < 15 {
		n := 0
		for _, p := range ports {
			if fi, err := os.Stat(filepath.Join(dir, fmt.Sprintf("p%d_out.pcap", p))); err == nil {
				n += int(fi.Size())
			}
		}
		if n == last && time.Now().After(begin) {
			still++
		} else {
			last, still = n, 0
		}
		time.Sleep(100 * time.Millisecond)
	}
	_ = sw.Process.Signal(os.Interrupt)
	time.Sleep(300 * time.Millisecond)
	theirs := map[uint32][]string{}
	for _, p := range ports {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("p%d_out.pcap", p)))
		if err != nil {
			t.Fatal(err)
		}
		theirs[p] = pcapFrames(t, b)
	}
	return theirs
}

// settleSeconds is how long simple_switch waits before it reads packets.
const settleSeconds = 12

func pcapHeader() *bytes.Buffer {
	b := &bytes.Buffer{}
	for _, v := range []any{uint32(0xa1b2c3d4), uint16(2), uint16(4), uint32(0), uint32(0), uint32(65535), uint32(1)} {
		_ = binary.Write(b, binary.LittleEndian, v)
	}
	return b
}

func pcapFrame(b *bytes.Buffer, i int, frame []byte) {
	for _, v := range []uint32{uint32(i / 1_000_000), uint32(i % 1_000_000), uint32(len(frame)), uint32(len(frame))} {
		_ = binary.Write(b, binary.LittleEndian, v)
	}
	b.Write(frame)
}

func pcapFrames(t testing.TB, b []byte) []string {
	if len(b) < 24 {
		return nil
	}
	var out []string
	for b = b[24:]; len(b) >= 16; {
		n := int(binary.LittleEndian.Uint32(b[8:]))
		if len(b) < 16+n {
			t.Logf("a cut-off frame at the end of a pcap file")
			break
		}
		out = append(out, hex.EncodeToString(b[16:16+n]))
		b = b[16+n:]
	}
	return out
}

// mutate changes a frame at random.
func mutate(rng *rand.Rand, frame []byte) []byte {
	b := slices.Clone(frame)
	for range 1 + rng.IntN(3) {
		switch rng.IntN(6) {
		case 0:
			b = b[:rng.IntN(len(b)+1)]
		case 1:
			for range rng.IntN(30) {
				b = append(b, byte(rng.Uint32()))
			}
		default:
			if len(b) > 0 {
				// Mostly in the headers.
				i := rng.IntN(len(b))
				if rng.IntN(3) > 0 {
					i = rng.IntN(min(len(b), 140))
				}
				if rng.IntN(2) == 0 {
					b[i] ^= 1 << rng.IntN(8)
				} else {
					b[i] = byte(rng.Uint32())
				}
			}
		}
		if len(b) == 0 {
			return slices.Clone(frame[:1])
		}
	}
	return b
}
