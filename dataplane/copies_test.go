package dataplane

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// seen is the header copies.p4 puts in front of what leaves.
func seen(instance, port, rid int, kept, lost string, length int) string {
	return fmt.Sprintf("%02x%04x%04x%s%s%04x", instance, port, rid, kept, lost, length)
}

// copiesRig has clone sessions 5 (to port 7) and 6 (to ports 7 and 8), and
// multicast group 9 of three replicas, two of them at one port.
func copiesRig(t testing.TB) *bed {
	r := newBed(t, "copies")
	for _, c := range []CloneSession{
		{ID: 5, Replicas: []Replica{{Port: 7}}},
		{ID: 6, Replicas: []Replica{{Port: 7, Instance: 3}, {Port: 8, Instance: 4}}},
	} {
		if err := r.s.InsertCloneSession(c); err != nil {
			t.Fatal(err)
		}
	}
	g := MulticastGroup{ID: 9, Replicas: []Replica{{Port: 2, Instance: 1}, {Port: 3, Instance: 2},
		{Port: 2, Instance: 5}}}
	if err := r.s.InsertMulticastGroup(g); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCopies(t *testing.T) {
	for _, c := range []struct {
		name, in string
		out      []sent
	}{
		{"unicast", "00 00 10 aa", []sent{
			{1, seen(0, 1, 0, "11", "33", 4) + "0000 000010 aa"}}},
		{"clone in ingress: as received, no metadata", "01 00 10 aa", []sent{
			{7, seen(1, 7, 0, "00", "00", 4) + "0000 010010 aa"},
			{1, seen(0, 1, 0, "11", "33", 4) + "0000 0100ee aa"}}},
		{"clone in ingress, fields at its end preserved", "02 00 10 aa", []sent{
			{7, seen(1, 7, 0, "77", "00", 4) + "0000 020010 aa"},
			{1, seen(0, 1, 0, "77", "33", 4) + "0000 0200ee aa"}}},
		{"multicast", "03 00 10 aa", []sent{
			{2, seen(5, 2, 1, "11", "33", 4) + "0001 030010 aa"},
			{3, seen(5, 3, 2, "11", "33", 4) + "0000 030010 aa"},
			{2, seen(5, 2, 5, "11", "33", 4) + "0100 030010 aa"}}},
		{"resubmit", "04 00 10 aa", []sent{
			{1, seen(0, 1, 0, "11", "46", 4) + "0000 000010 aa"}}},
		{"truncate in ingress", "06 00 10 aabbccddeeff", []sent{
			{1, seen(0, 1, 0, "11", "33", 9)[:12]}}},
		{"mark_to_drop cancels multicast", "07 00 10 aa", nil},
		{"multicast and clone to two", "08 00 10 aa", []sent{
			{7, seen(1, 7, 3, "00", "00", 4) + "0000 080010 aa"},
			{8, seen(1, 8, 4, "00", "00", 4) + "0000 080010 aa"},
			{2, seen(5, 2, 1, "11", "33", 4) + "0001 080010 aa"},
			{3, seen(5, 3, 2, "11", "33", 4) + "0000 080010 aa"},
			{2, seen(5, 2, 5, "11", "33", 4) + "0100 080010 aa"}}},
		{"multicast group nobody configured", "09 00 10 aa", nil},
		{"clone in egress: as it is at the end", "00 01 10 aa", []sent{
			{1, seen(0, 1, 0, "11", "33", 4) + "0000 0001cc aa"},
			// The copy has the first one's header, and its length counts it.
			{7, seen(2, 7, 0, "11", "00", 15) + "0000 0001cc aa"}}},
		{"recirculate", "00 02 10 aa", []sent{
			{1, seen(0, 1, 0, "11", "44", 4) + "0000 0000bb aa"}}},
		{"drop in egress", "00 03 10 aa", nil},
		{"truncate in egress", "00 04 10 aa", []sent{{1, seen(0, 1, 0, "11", "33", 4)[:10]}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := copiesRig(t)
			got := r.send(4, c.in)
			for i := range c.out {
				c.out[i].data = strings.ReplaceAll(c.out[i].data, " ", "")
			}
			// Priorities differ between copies: compare per port.
			for _, l := range [][]sent{got, c.out} {
				slices.SortStableFunc(l, func(a, b sent) int { return int(a.port) - int(b.port) })
			}
			if !slices.Equal(got, c.out) {
				t.Errorf("\n got %v\nwant %v", got, c.out)
			}
		})
	}
}

func TestDigest(t *testing.T) {
	r := copiesRig(t)
	r.send(4, "05 00 10 aa")
	if want := unhex(t, "0004 10 112233445566778810"); len(r.digests) != 1 ||
		!bytes.Equal(r.digests[0], want) {
		t.Fatalf("digests %x, want %x", r.digests, want)
	}
	d := r.p.Digests()
	if len(d) != 1 || d[0].Name != "digest_t" || len(d[0].Fields) != 3 || d[0].Fields[2].Width != 72 {
		t.Fatalf("%+v", d)
	}
}

func TestCopiesAgainstSimpleSwitch(t *testing.T) {
	if testing.Short() {
		t.Skip("starts another process")
	}
	o := newOracle(t, "copies")
	o.session(5, 7)
	o.group(MulticastGroup{ID: 9, Replicas: []Replica{{Port: 2, Instance: 1}, {Port: 3, Instance: 2},
		{Port: 2, Instance: 5}}})
	const seed = 4
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		b := make([]byte, 3+rng.IntN(40))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		// simple_switch runs with one priority
		b[0], b[1], b[2] = byte(rng.IntN(10)), byte(rng.IntN(5)), b[2]&0xf8
		if b[0] == 5 || b[0] == 8 {
			b[0] = 0
		}
		o.packet(uint32(rng.IntN(2)), b)
	}
	// Queue depths depend on BMv2's threads: leave them out.
	o.mask = func(s string) string {
		if len(s) < 22 || s[0] != '0' {
			return s
		}
		return s[:18] + "____" + s[22:]
	}
	o.compare([]uint32{0, 1, 2, 3, 7})
}

func TestRecirculationBudget(t *testing.T) {
	r := newRigWith(t, loadFile(t, "copies"), Config{RecirculationRate: 1000, RecirculationBurst: 10})
	for range 25 {
		r.s.Receive(0, 1, unhex(t, "00 02 10"))
	}
	next, pending := r.s.Advance(0)
	if !pending || next <= 0 || next > 2*time.Millisecond {
		t.Fatalf("next %v, pending %v: want a wait of about 1 ms", next, pending)
	}
	if len(r.sent) != 10 {
		t.Fatalf("%d frames before the wait, want the burst of 10", len(r.sent))
	}
	for i := 0; pending; i++ {
		if i > 100 {
			t.Fatal("the packets that wait never leave")
		}
		next, pending = r.s.Advance(next)
	}
	if len(r.sent) != 25 {
		t.Fatalf("%d frames by %v, want 25", len(r.sent), next)
	}
}

func TestEndlessRecirculation(t *testing.T) {
	r := newRigWith(t, loadFile(t, "copies"), Config{RecirculationRate: 100_000,
		RecirculationBurst: 1000})
	r.s.Receive(0, 1, unhex(t, "00 05 10"))
	next, pending := r.s.Advance(0)
	for i := 0; next < 10*time.Millisecond; i++ {
		if !pending || i > 10_000 {
			t.Fatalf("step %d: next %v, pending %v", i, next, pending)
		}
		r.expectAt(next, 2, "00 00 18", sent{1, seen(0, 1, 0, "19", "33", 3) + "0000 000018"})
		next, pending = r.s.Advance(next)
	}
	if n := r.s.Stats().Recirculated; n < 1000 || n > 1000+1100 {
		t.Fatalf("%d recirculations in 10 ms at 100,000 a second beyond a burst of 1,000", n)
	}
}
