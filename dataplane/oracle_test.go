package dataplane

import (
	"encoding/hex"
	"fmt"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/engine"

	"github.com/weft-sdn/weft/test/bmv2"
)

// oracle configures this switch and, in the words of simple_switch_CLI, BMv2's
// simple_switch alike, and compares what leaves both.
type oracle struct {
	*bed
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
	bmv2.RequireFiles(t)
	t.Parallel() // most of the time is waiting
	if !strings.Contains(json, "/") {
		json = filepath.Join("testdata", json+".json")
	}
	o := &oracle{bed: newRigWith(t, loadFile(t, json), Config{Seed: 1, Priorities: 1}), json: json}
	o.say("set_queue_depth 1000000")
	return o
}

func (o *oracle) say(format string, args ...any) { fmt.Fprintf(&o.cli, format+"\n", args...) }

func num(b []byte) string { return fmt.Sprintf("0x%x", new(big.Int).SetBytes(b)) }

func (o *oracle) insert(table string, keys []string, prio int32, call engine.ActionCall) {
	o.bed.insert(table, keys, prio, call)
	t := o.p.Tables()[o.table(table)]
	e := o.entry(keys, prio, call)
	var ks []string
	for i, m := range e.Match {
		switch t.Keys[i].Match {
		case engine.Exact:
			ks = append(ks, num(m.Value))
		case engine.LPM:
			ks = append(ks, fmt.Sprintf("0x%0*x/%d", (t.Keys[i].Width+3)/4, new(big.Int).SetBytes(m.Value),
				m.PrefixLen))
		case engine.Ternary:
			ks = append(ks, num(m.Value)+"&&&"+num(m.Mask))
		case engine.Range:
			hi := m.High
			if len(hi) == 0 {
				hi = lowMask(t.Keys[i].Width)
			}
			ks = append(ks, num(m.Value)+"->"+num(hi))
		}
	}
	suffix := ""
	if slices.ContainsFunc(t.Keys, func(k engine.KeyInfo) bool { return k.Match >= engine.Ternary }) {
		suffix = fmt.Sprint(" ", 1_000_000-prio)
	}
	o.say("table_add %s %s %s => %s%s", t.Name, o.p.Actions()[call.Action].Name, strings.Join(ks, " "),
		args(call), suffix)
}

func args(call engine.ActionCall) string {
	var as []string
	for _, a := range call.Args {
		as = append(as, num(a))
	}
	return strings.Join(as, " ")
}

func (o *oracle) setDefault(table string, call engine.ActionCall) {
	o.bed.setDefault(table, call)
	o.say("table_set_default %s %s %s", o.p.Tables()[o.table(table)].Name,
		o.p.Actions()[call.Action].Name, args(call))
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
	if err := o.s.InsertCloneSession(CloneSession{ID: id,
		Replicas: []Replica{{Port: port}}}); err != nil {
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
	ours, sent := map[uint32][]string{}, 0
	for _, a := range o.in {
		o.sent = nil
		o.s.Receive(o.now, a.port, a.frame)
		o.s.Advance(o.now)
		sent += len(o.sent)
		for _, s := range o.sent {
			ours[s.port] = append(ours[s.port], s.data)
		}
		o.now += time.Microsecond
	}
	theirs := o.simpleSwitch(ports, sent)
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

// simpleSwitch runs the packets through BMv2.
func (o *oracle) simpleSwitch(ports []uint32, expected int) map[uint32][]string {
	o.t.Helper()
	f := bmv2.Files{Program: o.json, Commands: strings.Split(strings.TrimSpace(o.cli.String()), "\n"),
		Ports: ports, Expected: expected}
	for _, a := range o.in {
		f.Packets = append(f.Packets, bmv2.Arrival{Port: a.port, Frame: a.frame})
	}
	out, _ := f.Run(o.t)
	theirs := map[uint32][]string{}
	for port, frames := range out {
		for _, f := range frames {
			theirs[port] = append(theirs[port], hex.EncodeToString(f))
		}
	}
	return theirs
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
