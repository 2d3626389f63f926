package dataplane

import (
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestP4CSuite runs the STF cases of p4c's own suite. P4C_STF names a folder of
// compiled programs (NAME.json) and P4C_DIR the folder with their NAME.stf; the
// test is skipped when they are not set.
func TestP4CSuite(t *testing.T) {
	compiled, cases := os.Getenv("P4C_STF"), os.Getenv("P4C_DIR")
	if compiled == "" || cases == "" {
		t.Skip("P4C_STF and P4C_DIR are not set")
	}
	files, err := filepath.Glob(filepath.Join(compiled, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no programs in %s: %v", compiled, err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		t.Run(name, func(t *testing.T) {
			script, err := os.ReadFile(filepath.Join(cases, name+".stf"))
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			p, err := LoadProgram(b)
			if err != nil {
				t.Fatal(err)
			}
			newSTF(t, p).run(string(script))
		})
	}
}

// stf interprets an STF script.
type stf struct {
	*rig
	nodes    []MulticastGroup // by handle: the replicas of one node
	expected map[uint32][]string
	any      map[uint32]bool
	got      map[uint32][]string
}

func newSTF(t *testing.T, p *Program) *stf {
	return &stf{rig: newRigWith(t, p, Config{Seed: 1, Priorities: 1}), expected: map[uint32][]string{},
		any: map[uint32]bool{}, got: map[uint32][]string{}}
}

func (x *stf) run(script string) {
	for n, line := range strings.Split(script, "\n") {
		if i := strings.Index(line, "#"); i >= 0 {
			line = line[:i]
		}
		if f := strings.Fields(line); len(f) > 0 {
			x.line(n+1, strings.ToLower(f[0]), f[1:], strings.TrimSpace(line))
		}
	}
	var ports []uint32
	for p := range x.expected {
		ports = append(ports, p)
	}
	for p := range x.got {
		if !slices.Contains(ports, p) {
			ports = append(ports, p)
		}
	}
	slices.Sort(ports)
	for _, p := range ports {
		if x.any[p] {
			continue
		}
		want, got := x.expected[p], x.got[p]
		if len(want) != len(got) {
			x.t.Errorf("port %d: %d packets, want %d\n got %v\nwant %v", p, len(got), len(want), got, want)
			continue
		}
		for i := range want {
			if !samePacket(want[i], got[i]) {
				x.t.Errorf("port %d, packet %d:\n got %s\nwant %s", p, i, got[i], want[i])
			}
		}
	}
}

// samePacket compares with * wild and $ as the end; without $ more may follow.
func samePacket(want, got string) bool {
	end := strings.HasSuffix(want, "$")
	want = strings.TrimSuffix(want, "$")
	if len(got) < len(want) || end && len(got) != len(want) {
		return false
	}
	for i := range want {
		if want[i] != '*' && want[i] != got[i] {
			return false
		}
	}
	return true
}

var (
	addLine    = regexp.MustCompile(`^\S+\s+("[^"]+"|\S+)\s+(?:(\d+)\s+)?(.*?)\s*("[^"]+"|[\w.$]+)\s*\(([^)]*)\)(?:\s*=.*)?$`)
	matchField = regexp.MustCompile(`("[^"]+"|[^\s:]+)\s*:\s*(\S+)`)
)

func (x *stf) line(n int, cmd string, f []string, line string) {
	num := func(i int) uint32 {
		v, err := strconv.ParseUint(f[i], 0, 32)
		if err != nil {
			x.t.Fatalf("line %d: %v", n, err)
		}
		return uint32(v)
	}
	check := func(err error) {
		if err != nil {
			x.t.Errorf("line %d: %v", n, err)
		}
	}
	switch cmd {
	case "packet":
		for _, s := range x.send(num(0), strings.Join(f[1:], "")) {
			x.got[s.port] = append(x.got[s.port], s.data)
		}
	case "expect":
		p := num(0)
		if len(f) == 1 {
			x.any[p] = true
		}
		x.expected[p] = append(x.expected[p], strings.ToLower(strings.Join(f[1:], "")))
	case "add", "setdefault":
		m := addLine.FindStringSubmatch(line)
		if m == nil {
			x.t.Fatalf("line %d: cannot read %q", n, line)
		}
		t := x.table(unquote(m[1]))
		call := x.actionCall(t, unquote(m[4]), m[5])
		if cmd == "setdefault" {
			check(x.s.SetDefaultEntry(t, Target{Action: call}))
			return
		}
		e := x.keys(t, m[3])
		e.Target.Action = call
		if x.p.tables[t].needsPriority() {
			prio, _ := strconv.Atoi(m[2])
			e.Priority = int32(prio + 1)
		}
		check(x.s.InsertEntry(t, e))
	case "mc_mgrp_create":
		check(x.s.InsertMulticastGroup(MulticastGroup{ID: uint16(num(0))}))
	case "mc_node_create":
		var g MulticastGroup
		for i := range f[1:] {
			g.Replicas = append(g.Replicas, Replica{Port: num(i + 1), Instance: uint16(num(0))})
		}
		x.nodes = append(x.nodes, g)
	case "mc_node_associate":
		g, err := x.s.MulticastGroup(uint16(num(0)))
		check(err)
		g.Replicas = append(g.Replicas, x.nodes[num(1)].Replicas...)
		check(x.s.ModifyMulticastGroup(g))
	case "mirroring_add":
		check(x.s.InsertCloneSession(CloneSession{ID: uint16(num(0)), Replicas: []Replica{{Port: num(1)}}}))
	case "mirroring_add_mc":
		g, err := x.s.MulticastGroup(uint16(num(1)))
		check(err)
		check(x.s.InsertCloneSession(CloneSession{ID: uint16(num(0)), Replicas: g.Replicas}))
	case "register_write":
		check(x.s.SetRegister(x.register(f[0]), int(num(1)), big.NewInt(int64(num(2))).Bytes()))
	case "wait", "mirroring_get", "register_read", "register_reset", "no_packet",
		"meter_get_rates", "meter_set_rates", "meter_array_set_rates":
	default:
		x.t.Fatalf("line %d: unknown command %q", n, cmd)
	}
}

func (x *stf) register(name string) int {
	for i, r := range x.p.Registers() {
		if r.Name == name {
			return i
		}
	}
	x.t.Fatalf("no register %q", name)
	return 0
}

func unquote(s string) string { return strings.Trim(s, `"`) }

func (x *stf) actionCall(t int, name, args string) ActionCall {
	for _, a := range x.p.Tables()[t].Actions {
		ai := x.p.Actions()[a]
		if ai.Name != name && !strings.HasSuffix(ai.Name, name) {
			continue
		}
		call := ActionCall{Action: a}
		vals := map[string]string{}
		for _, m := range matchField.FindAllStringSubmatch(strings.ReplaceAll(args, ",", " "), -1) {
			vals[unquote(m[1])] = m[2]
		}
		for _, p := range ai.Params {
			v, _, err := number(vals[p.Name])
			if err != nil {
				x.t.Fatalf("argument %s of %s: %v", p.Name, name, err)
			}
			call.Args = append(call.Args, v.Bytes())
		}
		return call
	}
	x.t.Fatalf("table %s has no action %q", x.p.Tables()[t].Name, name)
	return ActionCall{}
}

// number reads a constant; mask has ones where it has digits other than *.
func number(s string) (v, mask *big.Int, err error) {
	digits, bits := strings.ToLower(s), 0
	switch {
	case strings.HasPrefix(digits, "0x"):
		digits, bits = digits[2:], 4
	case strings.HasPrefix(digits, "0b"):
		digits, bits = digits[2:], 1
	default:
		v, ok := new(big.Int).SetString(digits, 10)
		if !ok {
			return nil, nil, fmt.Errorf("number %q", s)
		}
		return v, nil, nil
	}
	v, mask = new(big.Int), new(big.Int)
	ones := int64(1<<bits - 1)
	for _, c := range digits {
		v.Lsh(v, uint(bits))
		mask.Lsh(mask, uint(bits))
		if c == '*' {
			continue
		}
		d, err := strconv.ParseInt(string(c), 16, 64)
		if err != nil {
			return nil, nil, err
		}
		v.Or(v, big.NewInt(d))
		mask.Or(mask, big.NewInt(ones))
	}
	return v, mask, nil
}

// keys reads the match fields of an add line.
func (x *stf) keys(t int, text string) Entry {
	info := x.p.Tables()[t]
	e := Entry{Match: make([]Match, len(info.Keys))}
	for _, m := range matchField.FindAllStringSubmatch(text, -1) {
		name := strings.ReplaceAll(unquote(m[1]), "$", "")
		k := slices.IndexFunc(info.Keys, func(k KeyInfo) bool { return strings.ReplaceAll(k.Name, "$", "") == name })
		if k < 0 {
			k = slices.IndexFunc(info.Keys, func(k KeyInfo) bool {
				n := regexp.MustCompile(`\[(\d+)\]`).ReplaceAllString(strings.ReplaceAll(k.Name, "$", ""), "$1")
				return n == name || strings.HasSuffix(n, "."+name) || n == name+".valid"
			})
		}
		if k < 0 {
			x.t.Fatalf("table %s has no key %q", info.Name, name)
		}
		text, prefix, isPrefix := strings.Cut(m[2], "/")
		v, mask, err := number(text)
		if err != nil {
			x.t.Fatal(err)
		}
		f := Match{Value: v.Bytes()}
		switch width := info.Keys[k].Width; info.Keys[k].Match {
		case LPM:
			f.PrefixLen = width
			if isPrefix {
				f.PrefixLen, _ = strconv.Atoi(prefix)
			} else if mask != nil && strings.Contains(text, "*") {
				f.PrefixLen = 0
				for i := width - 1; i >= 0 && mask.Bit(i) == 1; i-- {
					f.PrefixLen++
				}
			}
		case Ternary:
			if mask == nil || !strings.Contains(text, "*") {
				mask = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), uint(width)), big.NewInt(1))
			}
			f.Mask = mask.Bytes()
		case Range:
			f.High = f.Value
		}
		e.Match[k] = f
	}
	return e
}
