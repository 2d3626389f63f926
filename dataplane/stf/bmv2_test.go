//go:build linux

package stf

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/test/bmv2"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestCasesOnBMv2 runs the project's own cases on BMv2's simple_switch, so that the cases expect
// the behavior of BMv2.
func TestCasesOnBMv2(t *testing.T) {
	bmv2.RequireFiles(t)
	cases, err := filepath.Glob("../testdata/*.stf")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, script := range cases {
		name := strings.TrimSuffix(filepath.Base(script), ".stf")
		t.Run(name, func(t *testing.T) {
			t.Parallel() // most of the time is waiting
			program, _, _ := strings.Cut(name, ".")
			b := newOnBMv2(t, load(t, filepath.Join("../testdata", program+".json"), script))
			b.play()
		})
	}
}

// TestGeneratedOnBMv2 runs the cases that p4testgen made on simple_switch: it sends what the
// embedded switch sends.
func TestGeneratedOnBMv2(t *testing.T) {
	bmv2.RequireFiles(t)
	for _, p := range generatedCases(t) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel() // most of the time is waiting
			newOnBMv2(t, loadText(t, compiled, p.name, p.text)).play()
		})
	}
}

// TestVariantsOnBMv2 runs variants of the generated cases on simple_switch: it sends, counts and
// keeps what the embedded switch does, but for times. WEFT_VARIANTS=all runs all, which takes half
// an hour; without it some are run.
func TestVariantsOnBMv2(t *testing.T) {
	bmv2.RequireFiles(t)
	program, err := engine.Load(p4.JSON())
	if err != nil {
		t.Fatal(err)
	}
	all := os.Getenv("WEFT_VARIANTS") == "all"
	for i, p := range generatedCases(t) {
		for _, v := range variantsOf(t, program, p.name, p.text) {
			if !all && (i%4 != 0 || v.number != i/4%variants) {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", p.name, v.number), func(t *testing.T) {
				t.Parallel() // most of the time is waiting
				if late := v.later(t, program); late.settled() != v.settled() {
					t.Skip("skipped: it goes by when the packet arrives")
				}
				for _, s := range v.sent {
					v.statements = append(v.statements, Statement{s.line, Expect{s.port,
						Pattern{Digits: hex.EncodeToString(s.frame), Exact: true}}})
				}
				b := newOnBMv2(t, loaded{compiled, "", &Case{v.statements}, program})
				var want []string
				for _, c := range v.cells {
					switch {
					case c.value == "":
						b.files.After = append(b.files.After, fmt.Sprintf("counter_read %s %d", c.array, c.index))
					case !times[c.array[strings.LastIndexByte(c.array, '.')+1:]]:
						b.files.After = append(b.files.After, fmt.Sprintf("register_read %s %d", c.array, c.index))
					default:
						continue
					}
					if n, err := strconv.ParseUint(c.value, 10, 64); err == nil { // its API has signed numbers
						c.value = fmt.Sprint(min(n, math.MaxInt64))
					}
					want = append(want, c.String())
				}
				said := b.run()
				if got := cellsSaid(said); !slices.Equal(got, want) {
					t.Errorf("simple_switch has\n%s\nwant\n%s", strings.Join(got, "\n"),
						strings.Join(want, "\n"))
				}
				if t.Failed() {
					t.Logf("the variant: %+v", v.statements)
				}
			})
		}
	}
}

// later returns a variant whose packets arrive a few seconds later, like packets at simple_switch.
func (v *variant) later(t *testing.T, program *engine.Program) *variant {
	t.Helper()
	r, err := played(program, v.statements, 3*pause)
	if err != nil {
		t.Fatal(err)
	}
	return &variant{v.number, v.statements, r.sent, r.cells(t, v.statements)}
}

// settled returns what a variant leads to, but for times.
func (v *variant) settled() string {
	w := *v
	w.cells = slices.DeleteFunc(slices.Clone(v.cells), func(c cell) bool {
		return times[c.array[strings.LastIndexByte(c.array, '.')+1:]]
	})
	return w.String()
}

// times are the registers that hold times of the switch.
var times = map[string]bool{"lldp_next": true, "nd_next": true, "connect_next": true,
	"icmp_next": true, "pfc_seen_at": true, "group_nack_time": true, "cnp_start": true}

var cellSaid = regexp.MustCompile(
	`(\S+)\[(\d+)\]= +(?:\((\d+) bytes, (\d+) packets\)|(\d+))`)

// cellsSaid returns the counters and registers read by simple_switch_CLI, in the format of cells.
func cellsSaid(said string) (out []string) {
	for _, m := range cellSaid.FindAllStringSubmatch(said, -1) {
		c := cell{array: m[1]}
		c.index, _ = strconv.Atoi(m[2])
		if m[5] != "" {
			c.value = m[5]
		} else {
			c.counts.Bytes, _ = strconv.ParseUint(m[3], 10, 64)
			c.counts.Packets, _ = strconv.ParseUint(m[4], 10, 64)
		}
		out = append(out, c.String())
	}
	return out
}

// TestMutatedCasesOnBMv2 puts packets like those of the cases, with octets
// changed at random, through the embedded switch and simple_switch.
func TestMutatedCasesOnBMv2(t *testing.T) {
	bmv2.RequireFiles(t)
	cases, err := filepath.Glob("../testdata/*.stf")
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	const packets = 1000
	// The value of an invalid header in BMv2 is left over from earlier packets.
	besides := map[string]string{
		"basic":    "its case changes the switch between packets",
		"emit":     "simple_switch ends at a failed assertion",
		"hash":     "it hashes headers that may not be there",
		"metadata": "it looks at how full the queues are",
		"stack":    "it reads elements that may not be there",
		"varbit":   "it hashes headers that may not be there",
	}
	for i, script := range cases {
		name := strings.TrimSuffix(filepath.Base(script), ".stf")
		t.Run(name, func(t *testing.T) {
			program, _, _ := strings.Cut(name, ".")
			if why := besides[program]; why != "" {
				t.Skip("skipped: " + why)
			}
			t.Parallel()
			b := newOnBMv2(t, load(t, filepath.Join("../testdata", program+".json"), script))
			rng := rand.New(rand.NewPCG(uint64(i), seeds.One(t, 0)))
			var seeds []Packet
			var all []Statement
			for _, s := range b.c.Statements {
				switch do := s.Do.(type) {
				case Packet:
					seeds = append(seeds, do)
				case Expect, CheckCounter, NoPacket, Wait:
				default:
					all = append(all, s)
				}
			}
			for n := range packets {
				p := seeds[rng.IntN(len(seeds))]
				p.Frame = slices.Clone(p.Frame)
				for range 1 + rng.IntN(3) {
					p.Frame[rng.IntN(len(p.Frame))] = byte(rng.Uint32())
				}
				all = append(all, Statement{n, p})
			}
			b.c.Statements = all
			r := newRun(newSwitch(b.r.program))
			r.sw.SetOutput(r)
			for _, s := range all {
				if err := r.do(s.Do); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range r.sent {
				b.c.Statements = append(b.c.Statements,
					Statement{s.line, Expect{s.port, Pattern{Digits: hex.EncodeToString(s.frame), Exact: true}}})
			}
			b.play()
		})
	}
}

// onBMv2 writes a case in the words of simple_switch_CLI.
type onBMv2 struct {
	t     *testing.T
	r     *run // to look names up
	c     *Case
	files bmv2.Files
	want  map[uint32][]expected
	check []CheckCounter
	ids   map[string]int // entries by name: the handle
	n     map[string]int // entries of a table
}

func newOnBMv2(t *testing.T, l loaded) *onBMv2 {
	b := &onBMv2{t: t, r: &run{program: l.program}, c: l.c, want: map[uint32][]expected{},
		ids: map[string]int{}, n: map[string]int{}}
	b.files.Program, b.files.OutOfRange = l.path, filepath.Base(l.path) == "arrays.json"
	b.say("set_queue_depth 100000")
	return b
}

func (b *onBMv2) say(format string, args ...any) {
	b.files.Commands = append(b.files.Commands, fmt.Sprintf(format, args...))
}

func (b *onBMv2) play() { b.counters(b.run()) }

// run plays the case, and returns what was said of counters and registers afterwards.
func (b *onBMv2) run() string {
	ports := map[uint32]bool{}
	lines := map[int]bool{}
	for _, s := range b.c.Statements {
		switch do := s.Do.(type) {
		case Packet:
			ports[do.Port] = true
			lines[s.Line] = true
			b.files.Packets = append(b.files.Packets, bmv2.Arrival{Port: do.Port, Frame: do.Frame})
		case Expect:
			ports[do.Port] = true
			b.want[do.Port] = append(b.want[do.Port], expected{do.Pattern, s.Line})
			b.files.Expected++
		case CheckCounter:
			b.check = append(b.check, do)
			b.checkCounter(do)
		case NoPacket, Wait:
		default:
			if len(b.files.Packets) > 0 {
				b.t.Skip("skipped: the switch is changed between packets, which files cannot follow")
			}
			if err := b.configure(do); err != nil {
				b.t.Fatalf("line %d: %v", s.Line, err)
			}
		}
	}
	for p := range uint32(8) { // where a wrong packet might go
		ports[p] = true
	}
	b.files.Ports = slices.Sorted(maps.Keys(ports))
	out, said := b.files.Run(b.t)
	for _, port := range b.files.Ports {
		b.compare(port, out[port])
	}
	return said
}

// compare pairs what left a port with what is expected, in any order: the
// threads of simple_switch have none between packets.
func (b *onBMv2) compare(port uint32, frames [][]byte) {
	want := b.want[port]
	for _, f := range frames {
		if i := slices.IndexFunc(want, func(e expected) bool { return e.differs(f) == "" }); i >= 0 {
			want = slices.Delete(want, i, i+1)
			continue
		}
		b.t.Errorf("port %d: simple_switch sent, and nobody expects\n%x", port, f)
	}
	for _, e := range want {
		b.t.Errorf("line %d: port %d: simple_switch did not send\n%s", e.line, port, &e.Pattern)
	}
}

func (b *onBMv2) configure(do any) error {
	switch s := do.(type) {
	case Add:
		return b.add(s)
	case AddIndirect:
		keys, prio, err := b.keys(s.Add)
		verb := "table_indirect_add"
		if s.Group {
			verb += "_with_group"
		}
		b.say("%s %s %s => %d%s", verb, b.tableName(s.Table), keys, s.To, prio)
		return err
	case SetDefault:
		i, err := b.r.table(s.Table)
		if err != nil {
			return err
		}
		action, args, err := b.action(b.r.call(i, s.Action))
		b.say("table_set_default %s %s %s", b.tableName(s.Table), action, args)
		return err
	case Group:
		b.say("mc_mgrp_create %d", s.ID)
	case Node:
		b.say("mc_node_create %d %s", s.RID, numbers(s.Ports))
	case Associate:
		b.say("mc_node_associate %d %d", s.Group, s.Node)
	case Mirror:
		switch {
		case s.Port != nil:
			b.say("mirroring_add %d %d", s.Session, *s.Port)
		case s.Group != nil:
			b.say("mirroring_add_mc %d %d", s.Session, *s.Group)
		}
	case Array:
		// It may be a time: packets arrive at pause on the case's clock, and no earlier on that of
		// simple_switch, which starts within another.
		b.files.Arrive = 2 * pause
		return b.array(s)
	case AddToSet:
		b.say("pvs_add %s %#x", s.Set, s.Value)
	case Member:
		i, err := b.r.profile(s.Profile)
		if err != nil {
			return err
		}
		info := &b.r.program.Profiles()[i]
		action, args, err := b.action(b.r.callOf("", info.Actions, s.Action))
		b.say("act_prof_create_member %s %s %s", info.Name, action, args)
		return err
	case MemberGroup:
		b.say("act_prof_create_group %s", s.Profile)
	case Join:
		b.say("act_prof_add_member_to_group %s %d %d", s.Profile, s.Member, s.Group)
	default:
		return fmt.Errorf("%T cannot be said to simple_switch", do)
	}
	return nil
}

func numbers(ns []uint32) string {
	var all []string
	for _, n := range ns {
		all = append(all, fmt.Sprint(n))
	}
	return strings.Join(all, " ")
}

func (b *onBMv2) tableName(name string) string {
	i, err := b.r.table(name)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.r.program.Tables()[i].Name
}

func (b *onBMv2) action(call engine.ActionCall, err error) (name, args string, _ error) {
	if err != nil {
		return "", "", err
	}
	var all []string
	for _, a := range call.Args {
		all = append(all, hexOf(a))
	}
	return b.r.program.Actions()[call.Action].Name, strings.Join(all, " "), nil
}

func hexOf(v []byte) string {
	if len(v) == 0 {
		return "0x0"
	}
	return fmt.Sprintf("0x%x", v)
}

func (b *onBMv2) add(s Add) error {
	keys, prio, err := b.keys(s)
	if err != nil {
		return err
	}
	i, err := b.r.table(s.Table)
	if err != nil {
		return err
	}
	action, args, err := b.action(b.r.call(i, s.Action))
	name := b.tableName(s.Table)
	b.say("table_add %s %s %s => %s%s", name, action, keys, args, prio)
	if s.ID != "" {
		b.ids[s.ID] = b.n[name]
	}
	b.n[name]++
	return err
}

// keys are the keys of an entry; in simple_switch_CLI the smallest priority
// wins.
func (b *onBMv2) keys(s Add) (keys, prio string, err error) {
	i, err := b.r.table(s.Table)
	if err != nil {
		return "", "", err
	}
	e, err := b.r.keys(i, s)
	if err != nil {
		return "", "", err
	}
	var all []string
	for k, info := range b.r.program.Tables()[i].Keys {
		m := e.Match[k]
		switch info.Match {
		case engine.Exact:
			all = append(all, hexOf(m.Value))
		case engine.LPM:
			// The command line wants all digits.
			v := make([]byte, (info.Width+7)/8)
			copy(v[len(v)-len(m.Value):], m.Value)
			all = append(all, fmt.Sprintf("0x%x/%d", v, m.PrefixLen))
		case engine.Ternary:
			all = append(all, hexOf(m.Value)+"&&&"+hexOf(m.Mask))
		case engine.Range:
			if len(m.High) == 0 && len(m.Value) == 0 {
				m.High = ones(info.Width).Bytes()
			}
			all = append(all, hexOf(m.Value)+"->"+hexOf(m.High))
		}
	}
	if e.Priority > 0 {
		prio = fmt.Sprintf(" %d", 1_000_000-int(e.Priority))
	}
	return strings.Join(all, " "), prio, nil
}

func (b *onBMv2) array(s Array) error {
	var rates []string
	for _, r := range s.Rates {
		rates = append(rates, strconv.FormatFloat(r.PerMicrosecond, 'f', -1, 64)+":"+fmt.Sprint(r.Burst))
	}
	switch s.Kind + "_" + s.Verb {
	case "meter_set_rates":
		b.say("meter_set_rates %s %d %s", s.Name, s.Index, strings.Join(rates, " "))
	case "meter_array_set_rates":
		b.say("meter_array_set_rates %s %s", s.Name, strings.Join(rates, " "))
	case "register_write":
		value := s.Values[0]
		if value.IsUint64() {
			value = big.NewInt(int64(value.Uint64())) // its API has signed numbers of 64 bits
		}
		b.say("register_write %s %d %v", s.Name, s.Index, value)
	case "register_reset":
		b.say("register_reset %s", s.Name)
	case "counter_write":
		b.say("counter_write %s %d %v %v", s.Name, s.Index, s.Values[0], s.Values[1])
	}
	return nil
}

func (b *onBMv2) checkCounter(s CheckCounter) {
	index := fmt.Sprint(s.Index)
	if s.Index == nil {
		index = fmt.Sprint(b.ids[s.ID])
	}
	b.files.After = append(b.files.After, fmt.Sprintf("counter_read %s %s", s.Counter, index))
}

var counterSaid = regexp.MustCompile(`\((\d+) bytes, (\d+) packets\)`)

// counters compares simple_switch_CLI's counters with the expectation.
func (b *onBMv2) counters(said string) {
	found := counterSaid.FindAllStringSubmatch(said, -1)
	if len(found) != len(b.check) {
		b.t.Errorf("%d counters in %q, want %d", len(found), said, len(b.check))
		return
	}
	for i, c := range b.check {
		got := found[i][2]
		if c.Unit == "bytes" {
			got = found[i][1]
		}
		if c.Op == "==" && c.Value.String() != got {
			b.t.Errorf("counter %s(%v): %s %s, want %v", c.Counter, c.Index, got, c.Unit, c.Value)
		}
	}
}
