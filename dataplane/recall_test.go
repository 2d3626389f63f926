package dataplane

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/test/seeds"
)

// TestRecalled compares packets that follow recorded paths with packets that run the nodes of the
// program. Packets come again, with other values in some places, while entries, members, groups and
// ports change.
func TestRecalled(t *testing.T) {
	first, count := seeds.Range(t, 20261127, 8)
	names, err := filepath.Glob("testdata/*.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(names, fabricJSON) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			all := fabricSeeds(t)
			if name != fabricJSON {
				all = append(all[:8:8], casePackets(t, strings.TrimSuffix(name, ".json")+".stf")...)
			}
			var recalled uint64
			programs := []*engine.Program{loadWith(t, name)}
			if p := loadPoisoned(t, name); p.Translated() {
				programs = append(programs, p)
			}
			for _, p := range programs {
				for seed := first; seed < first+count; seed++ {
					recalled += recallSeed(t, name, p, seed, all)
				}
			}
			t.Logf("%d packets have followed others", recalled)
			if recalled == 0 && name == fabricJSON {
				t.Error("no packet has followed another")
			}
		})
	}
}

// casePackets returns the packets of an STF case, or nothing if the file does not exist. Each
// packet gets 8 more octets: a packet needs 8 octets to follow a path.
func casePackets(t *testing.T, file string) (in []arrival) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, line := range regexp.MustCompile(`(?m)^packet (\d+) ([0-9a-fA-F ]+)$`).FindAllSubmatch(text,
		-1) {
		port, err := strconv.ParseUint(string(line[1]), 10, 32)
		frame, err2 := hex.DecodeString(strings.ReplaceAll(string(line[2]), " ", ""))
		if err != nil || err2 != nil {
			t.Fatalf("%s: %s", file, line[0])
		}
		in = append(in, arrival{uint32(port), append(frame, 8, 7, 6, 5, 4, 3, 2, 1)})
	}
	return in
}

// recallSeed runs the packets of a seed and returns how many have followed others.
func recallSeed(t *testing.T, name string, p *engine.Program, seed uint64, all []arrival) uint64 {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	s, got := twins(t, name, p, Config{Seed: 1, QueueDepth: 4}, rng.Uint64())
	s[0].ctx.SetPaths(engine.PathsAlways)
	var pool []arrival
	for range 12 {
		in := all[rng.IntN(len(all))]
		if rng.IntN(2) == 0 {
			in.frame = mutate(rng, in.frame)
		}
		if rng.IntN(3) > 0 {
			in.port = uint32(rng.IntN(4))
		}
		pool = append(pool, in)
	}
	now := time.Duration(0)
	for range 400 {
		in := pool[rng.IntN(len(pool))]
		switch what := rng.IntN(80); {
		case what < 20:
			in.frame = mutate(rng, in.frame)
		case what < 22:
			pool[rng.IntN(len(pool))].frame = mutate(rng, in.frame)
		case what == 22:
			change(rng, s)
		}
		if now += time.Duration(rng.IntN(3)) * time.Millisecond; len(in.frame) == 0 {
			continue
		}
		for i := range s {
			got[i].out = nil
			s[i].Receive(now, in.port, in.frame)
			s[i].Advance(now)
		}
		if !slices.Equal(got[0].out, got[1].out) || s[0].Stats() != s[1].Stats() {
			t.Fatalf("seed %d, port %d, %x:\n got %v %+v\nwant %v %+v", seed, in.port, in.frame,
				got[0].out, s[0].Stats(), got[1].out, s[1].Stats())
		}
	}
	sameCells(t, seed, s)
	return s[0].ctx.Recalled()
}

// change changes something that packets meet, in both switches.
func change(rng *rand.Rand, s [2]*Switch) {
	p := s[0].Program()
	what, port, id := rng.IntN(8), uint32(rng.IntN(4)), rng.Uint64()
	table := rng.IntN(max(1, len(p.Tables())))
	for i := range s {
		rng := rand.New(rand.NewPCG(id, 0))
		switch what {
		case 0:
			s[i].SetPortUp(port, rng.IntN(2) == 0)
			continue
		case 1:
			s[i].ModifyMulticastGroup(MulticastGroup{ID: uint16(port),
				Replicas: []Replica{{Port: rng.Uint32N(4), Instance: uint16(rng.IntN(4))}}})
			continue
		case 2:
			rate := uint64(rng.IntN(2) * 1000)
			s[i].SetQueueRate(engine.NoPort, -1, rate)
			continue
		case 3:
			if n := len(p.ValueSets()); n > 0 {
				set := rng.IntN(n)
				v := make([]byte, (p.ValueSets()[set].Width+7)/8)
				v[len(v)-1] = byte(rng.IntN(4))
				s[i].SetValueSet(set, [][]byte{v})
			}
			continue
		}
		if len(p.Tables()) == 0 || len(p.Tables()[table].Actions) == 0 {
			continue
		}
		switch e := randomEntry(rng, p, table); {
		case what == 4 && e.Target.Kind == engine.TargetAction:
			s[i].SetDefaultEntry(table, e.Target)
		case len(p.Tables()[table].Keys) == 0:
		case what == 5:
			for have := range s[i].Entries(table) {
				have.Target = e.Target
				s[i].ModifyEntry(table, have)
				break
			}
		case what == 6:
			for have := range s[i].Entries(table) {
				s[i].DeleteEntry(table, have.Match, have.Priority)
				break
			}
		default:
			s[i].InsertEntry(table, e)
		}
	}
}

// TestRecalledTrees sends writes down a tree to receivers of the switch: the numbers and payloads
// differ from write to write, and some writes are corrupt. A switch with paths still computes every
// ICRC, and sends octet by octet the same frames as a switch without paths.
func TestRecalledTrees(t *testing.T) {
	untraced(t)
	const packets = 400
	rng := rand.New(rand.NewPCG(seeds.One(t, 20261127), 0))
	for _, n := range []int{1, 2, 5, 32} {
		var beds [2]*bed
		for i := range beds {
			beds[i] = edgeRig(t, n)
			beds[i].s.ctx.SetPaths([]engine.PathMode{engine.PathsAlways, engine.PathsOff}[i])
		}
		var payloads [3]string
		dropped := 0
		for range packets {
			for i, size := range []int{64, 300, 4096} {
				b := make([]byte, size)
				for k := range b {
					b[k] = byte(rng.Uint32())
				}
				payloads[i] = hex.EncodeToString(b)
			}
			frame := unhex(t, treePacket(t, rng.Uint32N(1<<24), payloads[rng.IntN(3)]))
			if rng.IntN(8) == 0 {
				frame[14+40+24+rng.IntN(len(frame)-14-40-24)] ^= 1 << rng.IntN(8)
			}
			var got [2][]sent
			for i, r := range beds {
				got[i] = r.send(1, hex.EncodeToString(frame))
			}
			if !slices.Equal(got[0], got[1]) {
				t.Fatalf("%d receivers, %x:\n got %v\nwant %v", n, frame, got[0], got[1])
			}
			if len(got[0]) == 0 {
				dropped++
			}
			if got := beds[0].s.Stats(); got != beds[1].s.Stats() {
				t.Fatalf("%d receivers: %+v; want %+v", n, got, beds[1].s.Stats())
			}
		}
		sameCells(t, 0, [2]*Switch{beds[0].s, beds[1].s})
		if got := beds[0].s.ctx.Recalled(); got < packets*3/4 || dropped == 0 {
			t.Errorf("%d receivers: %d packets of %d have followed others, %d were dropped", n, got,
				packets, dropped)
		}
	}
}

// responses are what branches answer: their PSNs run ahead of each other by up to a few, across the
// end of the PSNs; MSNs are others than those; some repeat, some are NAKs of each kind, some are
// corrupt.
func responses(t testing.TB, rng *rand.Rand, n, count int) (frames []string) {
	psn := make([]uint32, n)
	for i := range psn {
		psn[i] = 1<<24 - 20
	}
	for range count {
		b := rng.IntN(n)
		syndrome := uint32(0x1f)
		switch rng.IntN(16) {
		case 0: // the same again
		case 1:
			syndrome = 0x60 // the PSN is out of sequence
		case 2:
			syndrome = 0x20 | rng.Uint32N(4) // receiver not ready
		case 3:
			syndrome = rng.Uint32N(256)
		default:
			if behind := slices.Min(psn); psn[b]-behind < 4 || rng.IntN(4) == 0 {
				psn[b] += rng.Uint32N(3)
			}
		}
		bth := fmt.Sprintf("1100ffff00000077 00%06x", psn[b]&(1<<24-1))
		frame := macSwitch + macHost + "86dd" + roce(t, receiverAddr(b), proxyAddr, bth,
			fmt.Sprintf("%02x%06x", syndrome, (psn[b]*3+7)&(1<<24-1)))
		if rng.IntN(16) == 0 {
			raw := unhex(t, frame)
			raw[len(raw)-1-rng.IntN(12)] ^= 1
			frame = hex.EncodeToString(raw)
		}
		frames = append(frames, frame)
	}
	return frames
}

// TestRecalledResponses sends responses of branches in every order. After each response, a switch
// with paths must have the same registers as a switch without paths, and must have sent the same
// frames.
func TestRecalledResponses(t *testing.T) {
	untraced(t)
	rng := rand.New(rand.NewPCG(seeds.One(t, 20261128), 0))
	for _, n := range []int{1, 2, 5, 32} {
		var beds [2]*bed
		for i := range beds {
			beds[i] = edgeRig(t, n)
			beds[i].s.ctx.SetPaths([]engine.PathMode{engine.PathsAlways, engine.PathsOff}[i])
		}
		const count = 3000
		up := 0
		for k, frame := range responses(t, rng, n, count) {
			var got [2][]sent
			for i, r := range beds {
				got[i] = r.send(2, frame)
			}
			if up += len(got[0]); !slices.Equal(got[0], got[1]) {
				t.Fatalf("%d branches, response %d, %s:\n got %v\nwant %v", n, k, frame, got[0], got[1])
			}
			if got := beds[0].s.Stats(); got != beds[1].s.Stats() {
				t.Fatalf("%d branches, response %d: %+v; want %+v", n, k, got, beds[1].s.Stats())
			}
			if k%64 == 0 || k == count-1 {
				sameCells(t, 0, [2]*Switch{beds[0].s, beds[1].s})
			}
		}
		got := beds[0].s.ctx.Recalled()
		t.Logf("%d branches: %d of %d followed others, %d went up", n, got, count, up)
		if got < count/2 && n <= 5 || up < count/64 {
			t.Errorf("%d branches: %d of %d responses have followed others, %d went up", n, got, count, up)
		}
	}
}

// unordered has n branches acknowledge PSN after PSN in no order, each up to two ahead of the last,
// so many times round all there are.
func unordered(t testing.TB, n, rounds int) (frames []string) {
	rng, next := rand.New(rand.NewPCG(1, 0)), make([]int, n)
	for len(frames) < n*rounds {
		i := rng.IntN(n)
		if next[i] < min(rounds, slices.Min(next)+3) {
			frames = append(frames, ackPacket(t, i, uint32(next[i]*(1<<24/rounds))))
			next[i]++
		}
	}
	return frames
}

// TestRecalledLearned: a switch learns the octets in which responses differ, and the conditions
// with answers in no order. After 32,768 responses, every response follows a path; but responses
// from 32 branches run the program, because a path would be too long to be faster.
func TestRecalledLearned(t *testing.T) {
	untraced(t)
	for _, n := range []int{2, 5, 32} {
		l := newLoad(edgeRig(t, n), time.Microsecond, arrivals(t, 2, unordered(t, n, 1<<8)...)...)
		for range 1 << 15 {
			l.step()
		}
		before := l.r.s.ctx.Recalled()
		const packets = 1 << 13
		for range packets {
			l.step()
		}
		got := l.r.s.ctx.Recalled() - before
		if n < 32 && got < packets*15/16 || n == 32 && got > 0 {
			t.Errorf("%d branches: %d of %d responses follow others", n, got, packets)
		}
	}
}

// TestRecalledFlows: of up to 4,096 flows in turn, at least nine of ten packets follow others after
// three packets of each flow, or 1,000 packets; also beside a crowd of other packets on another
// port.
func TestRecalledFlows(t *testing.T) {
	untraced(t)
	rng := rand.New(rand.NewPCG(seeds.One(t, 53), 0))
	for _, flows := range []int{1, 2, 10, 64, 100, 1000, 4096} {
		for _, crowd := range []int{0, 9} {
			in := make([]arrival, flows)
			for i := range in {
				in[i] = arrivals(t, 1, forward64)[0]
				binary.BigEndian.PutUint32(in[i].frame[14+36:], uint32(i)) // of the destination
			}
			l := newLoad(forwardingRig(t), time.Microsecond, in...)
			round := func() (followed int) {
				for range in {
					for range crowd {
						b := make([]byte, 14+rng.IntN(300))
						for i := range b {
							b[i] = byte(rng.Uint32())
						}
						l.r.s.Receive(l.r.now, 3, b)
						l.r.s.Advance(l.r.now)
					}
					before := l.r.s.ctx.Recalled()
					l.step()
					followed += int(l.r.s.ctx.Recalled() - before)
				}
				return followed
			}
			for range max(3, 1000/flows) {
				round()
			}
			const rounds = 5
			got := 0
			for range rounds {
				got += round()
			}
			if got < flows*rounds*9/10 {
				t.Errorf("%d flows, %d others to each packet: %d of %d packets follow others", flows, crowd,
					got, flows*rounds)
			}
		}
	}
}

// TestRecalledPorts: packets follow others whatever ports they come by and leave by, and each
// counts at its own. Packets of the controller's port, and packets to the drop port, go other ways.
func TestRecalledPorts(t *testing.T) {
	untraced(t)
	const ports, cpuPort, dropPort = 32, 510, 511
	var beds [2]*bed
	for i := range beds {
		r := forwardingRig(t)
		r.s.ctx.SetPaths([]engine.PathMode{engine.PathsEarned, engine.PathsOff}[i])
		for n := range ports {
			if n > 1 {
				r.insert("port", key(fmt.Sprintf("%04x", n)), 0, r.call("set_port", "00", "0000"))
			}
			to := uint32(n)
			if n == ports-1 {
				to = dropPort
			}
			r.insert("ipv6_route", key("0000", addrB[:30]+fmt.Sprintf("%02x/128", n)), 0,
				r.call("forward", fmt.Sprintf("%04x", to), "0007"))
		}
		beds[i] = r
	}
	frame := unhex(t, forward64)
	for n := range ports * ports {
		to, in := uint32(n/ports), uint32(1+n%ports)
		if frame[14+39] = byte(to); in == ports {
			in = cpuPort
		}
		got := beds[0].send(in, hex.EncodeToString(frame))
		want := beds[1].send(in, hex.EncodeToString(frame))
		leaves := in != cpuPort && to < ports-1
		if leaves != (len(want) == 1 && want[0].port == to) || !slices.Equal(got, want) {
			t.Fatalf("packet %d: got %v; want %v", n, got, want)
		}
	}
	sameCells(t, 0, [2]*Switch{beds[0].s, beds[1].s})
	if got := beds[0].s.ctx.Recalled(); got < ports*ports*9/10 {
		t.Errorf("%d of %d packets follow others", got, ports*ports)
	}
}

// TestRecalledUpdates: packets follow others while entries come, change and go, and each packet
// meets the entries as they are.
func TestRecalledUpdates(t *testing.T) {
	untraced(t)
	rng := rand.New(rand.NewPCG(seeds.One(t, 52), 0))
	var beds [2]*bed
	for i := range beds {
		beds[i] = forwardingRig(t)
		beds[i].s.ctx.SetPaths([]engine.PathMode{engine.PathsEarned, engine.PathsOff}[i])
	}
	r := beds[0]
	route, neighbor := r.table("ipv6_route"), r.table("neighbor")
	known := map[byte]bool{}
	frame := unhex(t, forward64)
	const packets = 4000
	for n := range packets {
		host, port := byte(rng.UintN(32)), fmt.Sprintf("%04x", 2+rng.UintN(3))
		at := key("0000", addrB[:30]+fmt.Sprintf("%02x/128", host))
		to := r.entry(at, 0, r.call("forward", port, "0007"))
		macs := r.entry(key("0007"), 0, r.call("set_macs", macSwitch,
			fmt.Sprintf("0000000000%02x", n%256)))
		what := rng.IntN(4)
		for _, b := range beds {
			var err error
			switch {
			case what == 0:
				err = b.s.ModifyEntry(neighbor, macs)
			case !known[host]:
				err = b.s.InsertEntry(route, to)
			case what == 1:
				err = b.s.DeleteEntry(route, to.Match, 0)
			default:
				err = b.s.ModifyEntry(route, to)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if what > 0 {
			known[host] = !known[host] || what > 1
		}
		frame[14+39] = byte(rng.UintN(32))
		got, want := r.send(1, hex.EncodeToString(frame)), beds[1].send(1, hex.EncodeToString(frame))
		if len(want) != 1 || !slices.Equal(got, want) {
			t.Fatalf("packet %d: got %v; want %v", n, got, want)
		}
	}
	sameCells(t, 0, [2]*Switch{r.s, beds[1].s})
	if got := r.s.ctx.Recalled(); got < packets*9/10 {
		t.Errorf("%d of %d packets follow others", got, packets)
	}
}

// TestRecalledLabels: packets in a flow follow each other with any flow labels and source ports,
// for example packets from a queue pair that sprays.
func TestRecalledLabels(t *testing.T) {
	untraced(t)
	rng := rand.New(rand.NewPCG(seeds.One(t, 52), 0))
	l := newLoad(forwardingRig(t), time.Microsecond, arrivals(t, 1, forward64)...)
	const packets = 10_000
	for range packets {
		b := l.in[0].frame
		b[15], b[16], b[17] = b[15]&0xf0|byte(rng.UintN(16)), byte(rng.Uint32()), byte(rng.Uint32())
		b[54], b[55] = byte(rng.Uint32()), byte(rng.Uint32())
		l.step()
	}
	if got := l.r.s.ctx.Recalled(); got < packets*9/10 {
		t.Errorf("%d of %d packets follow others", got, packets)
	}
}

// TestRecalledChanges: each control method that changes the treatment of a packet ends the path
// that the packet follows.
func TestRecalledChanges(t *testing.T) {
	untraced(t)
	var beds [2]*bed
	for i := range beds {
		beds[i] = forwardingRig(t)
		beds[i].s.ctx.SetPaths([]engine.PathMode{engine.PathsAlways, engine.PathsOff}[i])
	}
	r := beds[0]
	member := func(id uint32, port string) engine.Member {
		return engine.Member{ID: id, Action: r.call("forward", port, "0007")}
	}
	group := func(members ...uint32) engine.Group {
		g := engine.Group{ID: 1}
		for _, id := range members {
			g.Members = append(g.Members, engine.GroupMember{Member: id, Weight: 1, WatchPort: id})
		}
		return g
	}
	ecmp := r.entry(key("0001"), 0, engine.ActionCall{})
	ecmp.Target = engine.Target{Kind: engine.TargetGroup, Group: 1}
	host := r.entry(key("0000", addrB+"/128"), 0, r.call("ecmp_group", "0001"))
	other := r.entry(key("0000", addrB+"/128"), 0, r.call("forward", "0004", "0007"))
	route, groups, hash := r.table("ipv6_route"), r.table("ecmp"), r.table("ecmp_hash")
	multiplier := func(n string) engine.Target {
		return engine.Target{Action: r.call("set_multiplier", n)}
	}
	last := ""
	for i, step := range []struct {
		what    string
		do      func(s *Switch) error
		differs bool // from the packets before
	}{
		{"nothing", func(*Switch) error { return nil }, true},
		{"InsertMember", func(s *Switch) error { return s.InsertMember(0, member(3, "0003")) }, false},
		{"InsertMember", func(s *Switch) error { return s.InsertMember(0, member(5, "0005")) }, false},
		{"InsertGroup", func(s *Switch) error { return s.InsertGroup(0, group(3)) }, false},
		{"InsertEntry", func(s *Switch) error { return s.InsertEntry(groups, ecmp) }, false},
		{"InsertEntry", func(s *Switch) error { return s.InsertEntry(route, host) }, true},
		{"ModifyMember", func(s *Switch) error { return s.ModifyMember(0, member(3, "0006")) }, true},
		{"ModifyGroup", func(s *Switch) error { return s.ModifyGroup(0, group(5)) }, true},
		{"ModifyGroup", func(s *Switch) error { return s.ModifyGroup(0, group(3, 5)) }, true},
		{"SetPortUp", func(s *Switch) error { s.SetPortUp(3, false); return nil }, true},
		{"SetPortUp", func(s *Switch) error { s.SetPortUp(3, true); return nil }, true},
		{"SetDefaultEntry", func(s *Switch) error {
			return s.SetDefaultEntry(hash, multiplier("00000003"))
		}, true},
		{"ResetDefaultEntry", func(s *Switch) error { return s.ResetDefaultEntry(hash) }, true},
		{"ModifyEntry", func(s *Switch) error { return s.ModifyEntry(route, other) }, true},
		{"DeleteEntry", func(s *Switch) error { return s.DeleteEntry(route, host.Match, 0) }, true},
	} {
		for _, r := range beds {
			if err := step.do(r.s); err != nil {
				t.Fatalf("step %d, %s: %v", i, step.what, err)
			}
		}
		for n := range 4 {
			got, want := r.send(1, forward64), beds[1].send(1, forward64)
			if len(want) != 1 || !slices.Equal(got, want) || r.s.Stats() != beds[1].s.Stats() {
				t.Fatalf("step %d, after %s, packet %d: got %v %+v; want %v %+v", i, step.what, n, got,
					r.s.Stats(), want, beds[1].s.Stats())
			}
			now := fmt.Sprint(want)
			if n == 0 && (now != last) != step.differs {
				t.Errorf("step %d, %s: %s after %s", i, step.what, now, last)
			}
			last = now
		}
	}
	if got := r.s.ctx.Recalled(); got < 30 {
		t.Errorf("%d packets have followed others", got)
	}
}

// TestRecalledValueSets is the same for the value sets of a parser.
func TestRecalledValueSets(t *testing.T) {
	untraced(t)
	r := newBed(t, "valueset")
	r.s.ctx.SetPaths(engine.PathsAlways)
	set := slices.IndexFunc(r.p.ValueSets(), func(v engine.ValueSetInfo) bool {
		return v.Name == "P.kinds"
	})
	for i, step := range []struct {
		value []byte
		path  string
	}{{nil, "00"}, {[]byte{1, 0x22}, "02"}, {[]byte{1, 0x11}, "00"}} {
		var values [][]byte
		if step.value != nil {
			values = append(values, step.value)
		}
		if err := r.s.SetValueSet(set, values); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			r.expect(0, "9100000000000102030405", sent{1, step.path + "9100000000000102030405"})
		}
		if got := r.s.ctx.Recalled(); got == 0 && i > 0 {
			t.Error("no packet has followed another")
		}
	}
}

// TestRecalledGroups has each packet choose among the members of a group by its own fields.
func TestRecalledGroups(t *testing.T) {
	untraced(t)
	p := loadFile(t, "profile")
	s, got := twins(t, "profile", p, Config{Seed: 1}, 1)
	s[0].ctx.SetPaths(engine.PathsAlways)
	table := slices.IndexFunc(p.Tables(), func(i engine.TableInfo) bool {
		return i.Name == "I.by_flow"
	})
	set := slices.IndexFunc(p.Actions(), func(i engine.ActionInfo) bool { return i.Name == "I.set" })
	e := engine.Entry{Match: []engine.Match{{Value: []byte{0xab, 0xcd}}}}
	e.Target.Kind = engine.TargetActionSet
	for r := range byte(8) {
		e.Target.Set = append(e.Target.Set, engine.WeightedAction{Weight: 1,
			WatchPort: engine.NoPort, ActionCall: engine.ActionCall{Action: set, Args: [][]byte{{0, r}}}})
	}
	for i := range s {
		if err := s[i].InsertEntry(table, e); err != nil {
			t.Fatal(err)
		}
	}
	different := map[string]bool{}
	for n := range 20 * 32 {
		frame := []byte{byte(n / 64), 0xab, 0xcd, 0, 0, 0, byte(n % 32), 1, 2, 3}
		for i := range s {
			got[i].out = nil
			s[i].Receive(time.Duration(n)*time.Millisecond, 2, frame)
			s[i].Advance(time.Duration(n) * time.Millisecond)
		}
		if !slices.Equal(got[0].out, got[1].out) {
			t.Fatalf("%x: got %v; want %v", frame, got[0].out, got[1].out)
		}
		different[fmt.Sprint(got[0].out)[:8]] = true
	}
	if got := s[0].ctx.Recalled(); got == 0 || len(different) < 4 {
		t.Errorf("%d packets have followed others, and %v left", got, different)
	}
}

// TestRecalledWaiting has what changes while packets wait change what becomes of them: of a copy
// that waits to go through ingress once more, and of a packet in a queue.
func TestRecalledWaiting(t *testing.T) {
	untraced(t)
	var beds [2]*bed
	for i := range beds {
		beds[i] = edgeRig(t, 2)
		beds[i].s.ctx.SetPaths([]engine.PathMode{engine.PathsAlways, engine.PathsOff}[i])
		beds[i].s.budget = tokenBucket{rate: 1000, burst: 1, tokens: 1}
		beds[i].s.SetQueueRate(2, -1, 100)
	}
	route := beds[0].table("ipv6_route")
	entry := func(port string) engine.Entry {
		return beds[0].entry(key("0000", "20010db8000000000000000000000000/32"), 0,
			beds[0].call("forward", port, "0007"))
	}
	write := treePacket(t, 42, strings.Repeat("5a", 100))
	for n := range 24 {
		var got [2][]sent
		for i, r := range beds {
			step := func(d time.Duration) []sent {
				r.now, r.sent = r.now+d, nil
				r.s.Advance(r.now)
				return r.sent
			}
			out := append(r.send(1, write), r.send(1, forward64)...) // they wait for the rates
			if n%6 == 5 {
				if err := r.s.ModifyEntry(route, entry([]string{"0004", "0002"}[n/6%2])); err != nil {
					t.Fatal(err)
				}
				neighbor := r.entry(key("0007"), 0, r.call("set_macs", macSwitch,
					fmt.Sprintf("0000000000%02x", n)))
				if err := r.s.ModifyEntry(r.table("neighbor"), neighbor); err != nil {
					t.Fatal(err)
				}
			}
			for range 10 {
				out = append(out, step(10*time.Millisecond)...)
			}
			got[i] = out
		}
		if len(got[1]) != 3 || !slices.Equal(got[0], got[1]) {
			t.Fatalf("round %d: got %v, want %v", n, got[0], got[1])
		}
	}
	if got := beds[0].s.ctx.Recalled(); got < 12 {
		t.Errorf("%d packets have followed others", got)
	}
}

// untraced skips a test that counts packets that follow others: traced ones do not.
func untraced(t *testing.T) {
	t.Helper()
	if traceAll {
		t.Skip("every packet is traced")
	}
}

// keeper is an output that keeps the buffers of frames, and gives the switch others.
type keeper struct {
	s      *Switch
	frames [][]byte
}

func (k *keeper) Transmit(_ time.Duration, _ uint32, frame []byte) {
	k.frames = append(k.frames, frame)
	k.s.Replace(nil)
}

func (*keeper) Digest(time.Duration, int, [][]byte) {}

// TestExchange: frames whose buffers change hands leave like copied frames, and no later frame
// changes them, with a payload that stays in place and without.
func TestExchange(t *testing.T) {
	untraced(t)
	copied, moved := forwardingRig(t), forwardingRig(t)
	k := &keeper{s: moved.s}
	moved.s.SetOutput(k)
	var want []string
	for i := range 40 {
		frame := unhex(t, forward64)
		frame[len(frame)-1] = byte(i)
		if i%2 == 0 {
			frame = append(frame, bytes.Repeat([]byte{byte(i)}, 100)...)
		}
		for _, sent := range copied.send(1, hex.EncodeToString(frame)) {
			want = append(want, sent.data)
		}
		moved.s.Exchange(0, 1, frame)
		moved.s.Advance(0)
	}
	if len(want) != 40 || moved.s.ctx.Recalled() < 30 {
		t.Fatalf("%d frames left, %d followed others", len(want), moved.s.ctx.Recalled())
	}
	for i, frame := range k.frames {
		if hex.EncodeToString(frame) != want[i] {
			t.Errorf("frame %d: %x, want %s", i, frame, want[i])
		}
	}
}
