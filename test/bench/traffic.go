package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/packet"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/test/drive"
	"github.com/weft-sdn/weft/test/worktree"
)

// besideEnv names commits, separated by commas: their switches get the same traffic in turns.
const besideEnv = "WEFT_BENCH_BESIDE"

const (
	trafficTurns = 5
	trafficSeed  = 52
	// An update after every 1,000 packets: 1,000 a second of a switch that is given a million packets.
	trafficEvery = 1000
	trafficCycle = 1 << 15 // packets at least 78 octets long
	requestCycle = 1 << 9  // packets with payloadOctets
)

// A trafficRow is a role with the traffic of a fabric: no two packets are alike.
type trafficRow struct {
	role
	destinations int
	ports        int            // by which packets come and leave
	updates      []entry.Entity // put in place of entries of the role, in turn
}

// trafficRows returns the traffic that is measured.
func trafficRows() []trafficRow {
	rng := rand.New(rand.NewPCG(trafficSeed, 0))
	var rows []trafficRow
	for _, n := range []int{1, 256, 10_000} {
		rows = append(rows, spraying(rng, n, 1))
	}
	updated := rows[len(rows)-1]
	for _, port := range []uint32{downPort + 1, downPort} {
		for i := range 256 {
			updated.updates = append(updated.updates, routeTo(receiverAddr(i), port))
		}
	}
	rows = append(rows, updated, spraying(rng, 10_000, 32),
		trafficRow{role: varied(rng, replicating(2), requestCycle)},
		trafficRow{role: varied(rng, delivering(2), requestCycle)})
	for _, n := range []int{2, 5, 32} {
		rows = append(rows, trafficRow{role: unordered(rng, n)})
	}
	return append(rows, mixing(rng))
}

// spraying is IPv6 routes to n destinations: queue pairs whose packets have one flow label and port
// each of 256, as EVs have, by Zipf's law with exponent 1.1. The packets come by so many ports, and
// leave by as many, but at least two.
func spraying(rng *rand.Rand, n, ports int) trafficRow {
	r := trafficRow{role: role{name: "forward", copies: 1, packets: 200_000,
		entries: base(max(ports, downPort) + 1)}, destinations: n, ports: ports}
	for i := range n {
		r.entries = append(r.entries, routeTo(receiverAddr(i), downPort+uint32(i%max(2, ports))))
	}
	zipf := rand.NewZipf(rng, 1.1, 1, uint64(n-1))
	psn := make([]uint32, n)
	for range trafficCycle {
		i := int(zipf.Uint64())
		p := roce(packet.BTH{Opcode: packet.OpWriteMiddle, DestQPN: receiverQPN + uint32(i), PSN: psn[i]})
		psn[i]++
		p.IPv6.Src, p.IPv6.Dst = sourceAddr, receiverAddr(i)
		p.Payload = imix(rng, len(p.Append(nil)))
		spray(rng, &p)
		r.in = append(r.in, wire{upPort + uint32(len(r.in)%ports), p.Append(nil)})
	}
	return r
}

// imix returns a random payload for a frame of the simple IMIX: 7 of 12 frames have the least
// length with headers, 4 have 594 octets, and 1 has 1,518.
func imix(rng *rand.Rand, headers int) []byte {
	switch n := rng.IntN(12); {
	case n == 0:
		return noise(rng, 1518-headers)
	case n < 5:
		return noise(rng, 594-headers)
	}
	return nil
}

// noise returns n octets, a multiple of 4 or a little less.
func noise(rng *rand.Rand, n int) []byte {
	b := make([]byte, n&^3)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

// spray gives a packet one of 256 entropy values.
func spray(rng *rand.Rand, p *packet.RoCE) {
	ev := rng.Uint32() & 0xff
	p.IPv6.FlowLabel, p.UDP.SrcPort = 0x40000|ev*2053, 0xc000|uint16(ev)
}

// varied returns a role whose only packet is a request, with n of them: PSN after PSN, each with a
// payload and entropy of its own.
func varied(rng *rand.Rand, r role, n int) role {
	r.in, r.packets = nil, 1<<14
	for i := range n {
		p := request()
		p.BTH.PSN, p.Payload = uint32(i), noise(rng, payloadOctets)
		spray(rng, &p)
		p.Outer.FlowLabel = p.IPv6.FlowLabel
		r.in = append(r.in, wire{upPort, p.Append(nil)})
	}
	return r
}

// unordered returns the role of n branches that acknowledge PSN after PSN in no order, each up to
// two ahead of the last, with credits and entropy of their own.
func unordered(rng *rand.Rand, n int) role {
	r := aggregating(n)
	r.in, r.out, r.packets = nil, nil, 200_000
	const rounds = 1 << 10
	next := make([]uint32, n)
	for len(r.in) < n*rounds {
		i := rng.IntN(n)
		if next[i] == min(rounds, slices.Min(next)+3) {
			continue
		}
		psn := next[i] * (1 << 24 / rounds)
		next[i]++
		ack := roce(packet.BTH{Opcode: packet.OpAcknowledge, DestQPN: designatedQPN, PSN: psn})
		ack.IPv6.Src, ack.IPv6.Dst = receiverAddr(i), proxyAddr
		ack.AETH = packet.AETH{Syndrome: packet.ACKSyndrome(uint8(rng.UintN(31))), MSN: psn}
		spray(rng, &ack)
		r.in = append(r.in, wire{downPort, ack.Append(nil)})
	}
	return r
}

// mixing returns a switch in all of its roles. It forwards eight of ten packets; the others are a
// request to its End.MT segment and a response.
func mixing(rng *rand.Rand) trafficRow {
	ack := unordered(rng, 2)
	r, mt := spraying(rng, 256, 1), varied(rng, delivering(2), len(ack.in))
	r.name, r.packets = "mixed", 100_000
	has := map[entry.Key]bool{}
	for _, e := range r.entries {
		has[e.Key()] = true
	}
	for _, e := range slices.Concat(mt.entries, ack.entries) {
		if !has[e.Key()] {
			has[e.Key()] = true
			r.entries = append(r.entries, e)
		}
	}
	forwarded := r.in
	r.in = nil
	for i := range ack.in { // all PSNs once
		r.in = append(append(r.in, forwarded[8*i:8*i+8]...), mt.in[i], ack.in[i])
	}
	return r
}

// load returns what a driver takes.
func (r trafficRow) load() (l drive.Load, err error) {
	w, err := r.workload()
	if err != nil {
		return l, err
	}
	l = drive.Load{Program: w.program, Learn: r.packets / 4, Count: r.packets}
	if l.Info, err = proto.Marshal(w.info); err != nil {
		return l, err
	}
	for _, p := range r.in {
		l.Cycle = append(l.Cycle, drive.Packet{Port: p.port, Frame: p.frame})
	}
	for _, m := range w.entries {
		text, err := proto.Marshal(m)
		if err != nil {
			return l, err
		}
		l.Entries = append(l.Entries, text)
	}
	if r.updates == nil {
		return l, nil
	}
	l.Every = trafficEvery
	for _, e := range r.updates {
		m, err := written(entry.Update{Type: entry.Modify, Entity: e})
		if err != nil {
			return l, err
		}
		text, err := proto.Marshal(m[0])
		if err != nil {
			return l, err
		}
		l.Updates = append(l.Updates, text)
	}
	return l, nil
}

func (r trafficRow) params() []field {
	octets := 0
	for _, p := range r.in {
		octets += len(p.frame)
	}
	f := []field{{"octets", octets / len(r.in)}}
	switch {
	case r.branch > 0:
		f = append(f, field{"branches", r.branch})
	case r.copies > 1:
		f = append(f, field{"copies", r.copies})
	}
	if r.destinations > 0 {
		f = append(f, field{"destinations", r.destinations})
	}
	if r.ports > 1 {
		f = append(f, field{"ports", r.ports})
	}
	if r.updates != nil {
		f = append(f, field{"updates", 1_000_000 / trafficEvery})
	}
	return f
}

// A trafficSwitch gets the traffic in turns with others.
type trafficSwitch struct {
	name   string // of the commit
	driver string
	plain  bool
	learn  runs
	micros runs
	result drive.Result // of the last run
}

// traffic measures the processor time of a packet in the traffic of a fabric: of a switch with
// paths, of a switch without, and of the switches of other commits, in turns.
func traffic(ctx context.Context, out *report) (err error) {
	dir, err := os.MkdirTemp("", "weft-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	switches := []trafficSwitch{{}, {plain: true}}
	if switches[0].driver, err = buildDriver(ctx, ".", filepath.Join(dir, "driver")); err != nil {
		return err
	}
	switches[1].driver = switches[0].driver
	for _, commit := range strings.FieldsFunc(os.Getenv(besideEnv), func(c rune) bool {
		return c == ','
	}) {
		out.tell("traffic: building commit %s", commit)
		driver, err := driverOf(ctx, commit, filepath.Join(dir, fmt.Sprint("driver", len(switches))))
		if err != nil {
			return err
		}
		switches = append(switches, trafficSwitch{name: commit, driver: driver})
	}
	for _, r := range trafficRows() {
		if !out.wants("traffic/" + r.name) {
			continue
		}
		out.tell("traffic: %v", r)
		f, err := trafficOf(ctx, r, switches)
		if err != nil {
			return err
		}
		if err := out.print(f); err != nil {
			return err
		}
	}
	return nil
}

// trafficOf gives each switch the traffic of a row in turns.
func trafficOf(ctx context.Context, r trafficRow, switches []trafficSwitch) (f figure, err error) {
	l, err := r.load()
	if err != nil {
		return f, err
	}
	switches = slices.Clone(switches)
	for range trafficTurns {
		for i := range switches {
			s := &switches[i]
			l.Plain = s.plain
			if s.result, err = driven(ctx, s.driver, l); err != nil {
				return f, fmt.Errorf("%v: %s: %w", r, s.name, err)
			}
			s.learn, s.micros = append(s.learn, s.result.LearnMicros), append(s.micros, s.result.Micros)
			a, b := s.result, switches[0].result
			if a.Out != b.Out || a.Octets != b.Octets || a.Sum != b.Sum {
				return f, fmt.Errorf("%v: two switches send other packets: %+v (commit %q, without paths: %v) "+
					"and %+v", r, a, s.name, s.plain, b)
			}
		}
	}
	paths, plain := &switches[0], &switches[1]
	if in := l.Learn + l.Count + len(l.Cycle); r.copies > 0 && r.name != "mixed" &&
		paths.result.Out != in*r.copies {
		return f, fmt.Errorf("%v: %d packets out for %d in", r, paths.result.Out, in)
	}
	f = figure{bench: "traffic/" + r.name, unit: "us of processor", value: paths.micros.median(),
		more: append(r.params(), paths.micros.spread()...)}
	f.more = append(f.more, field{"learning", paths.learn.median()},
		field{"recalled", paths.result.Recalled}, field{"plain", plain.micros.median()},
		field{"plainLearning", plain.learn.median()},
		field{"ratio", paths.micros.median() / plain.micros.median()},
		field{"learningRatio", paths.learn.median() / plain.learn.median()})
	for i := range switches[2:] {
		s := &switches[2+i]
		f.more = append(f.more, field{s.name, s.micros.median()},
			field{s.name + "Ratio", paths.micros.median() / s.micros.median()})
	}
	return f, nil
}

// driven gives a load to a driver on one processor.
func driven(ctx context.Context, driver string, l drive.Load) (r drive.Result, err error) {
	cmd := exec.CommandContext(ctx, driver)
	var in, out, errs bytes.Buffer
	if err := gob.NewEncoder(&in).Encode(l); err != nil {
		return r, err
	}
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &in, &out, &errs
	if err := cmd.Run(); err != nil {
		return r, fmt.Errorf("%w: %s", err, errs.Bytes())
	}
	return r, json.Unmarshal(out.Bytes(), &r)
}

// buildDriver builds the driver of a source tree.
func buildDriver(ctx context.Context, tree, to string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", to,
		"./test/drive/driver")
	cmd.Dir = tree
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%v: %w: %s", cmd, err, text)
	}
	return to, nil
}

// driverOf builds today's driver with the switch of a commit.
func driverOf(ctx context.Context, commit, to string) (driver string, err error) {
	tree, remove, err := worktree.Add(".", commit)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, remove()) }()
	const folder = "test/drive"
	if err := os.RemoveAll(filepath.Join(tree, folder)); err != nil {
		return "", err
	}
	if err := os.CopyFS(filepath.Join(tree, folder), os.DirFS(folder)); err != nil {
		return "", err
	}
	return buildDriver(ctx, tree, to)
}
