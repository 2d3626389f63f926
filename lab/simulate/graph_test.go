package simulate

import (
	"fmt"
	"testing"

	"github.com/weft-sdn/weft/controller/mrc/flows"
)

// TestGraphs: after a collective every rank has its result, and no rank sends data that has not
// arrived: each message waits for the messages that bring its data.
func TestGraphs(t *testing.T) {
	for _, c := range flows.Collectives() {
		for _, n := range []int{1, 2, 3, 4, 7, 8, 16} {
			for _, octets := range []int{5, 4096, 3<<20 + 1} {
				t.Run(fmt.Sprintf("%s, %d ranks, %d octets", c, n, octets), func(t *testing.T) {
					checkGraph(t, c, n, octets)
				})
			}
		}
	}
}

func checkGraph(t *testing.T, c Collective, n, octets int) {
	g := NewGraph(c, n, octets)
	if n == 1 {
		if len(g) != 0 {
			t.Fatalf("%d messages of one rank", len(g))
		}
		return
	}
	knows := make([]map[int]bool, n) // by rank: those whose data it has something of
	for r := range knows {
		knows[r] = map[int]bool{r: true}
	}
	carries := make([]map[int]bool, len(g))
	sent, received := make([]int, n), make([]int, n)
	for i, m := range g {
		if m.From == m.To || m.From < 0 || m.To < 0 || m.From >= n || m.To >= n {
			t.Fatalf("message %d from %d to %d", i, m.From, m.To)
		}
		carries[i] = map[int]bool{m.From: true}
		for _, before := range m.After {
			if before >= i || g[before].To != m.From {
				t.Fatalf("message %d of rank %d waits for message %d: %+v", i, m.From, before, g[before])
			}
			for r := range carries[before] {
				carries[i][r] = true
			}
		}
		for r := range carries[i] {
			knows[m.To][r] = true
		}
		sent[m.From] += m.Octets
		received[m.To] += m.Octets
	}
	all, most := 0, 0
	for r := range n {
		all, most = all+sent[r], max(most, sent[r])
		if want := c != flows.Pairwise && c != flows.Broadcast && c != flows.Pipeline; want &&
			len(knows[r]) != n {
			t.Errorf("rank %d has the data of %d of %d ranks", r, len(knows[r]), n)
		}
	}
	want := map[Collective]int{
		flows.AllReduceRing: 2 * (n - 1) * octets, flows.AllReduceTree: 2 * (n - 1) * octets,
		flows.ReduceScatter: (n - 1) * octets, flows.AllGather: (n - 1) * octets,
		flows.AllToAll: (n - 1) * octets,
		flows.Pairwise: n / 2 * 2 * octets, flows.Pipeline: 2 * (n - 1) * octets,
		flows.Broadcast: (n - 1) * octets,
	}[c]
	if all != want {
		t.Errorf("%d octets are sent in all, want %d", all, want)
	}
	if least := 2 * (n - 1) * (octets / n); c == flows.AllReduceRing && most > least+2*(n-1) {
		t.Errorf("a rank sends %d octets, want about %d", most, least)
	}
	if c == flows.Broadcast && (received[n-1] != octets || !knows[n-1][0]) {
		t.Errorf("the last rank has %d octets of the first one, want %d", received[n-1], octets)
	}
	if c == flows.Pairwise && (received[0] != octets || !knows[0][1]) {
		t.Errorf("the first rank has %d octets of the second one, want %d", received[0], octets)
	}
	if c == flows.Pipeline && (received[n-1] != octets || received[0] != octets || !knows[n-1][0] ||
		!knows[0][n-1]) {
		t.Errorf("the stages have %d octets, want %d forwards and back", received, octets)
	}
}

// TestTreesShare: an inner rank in one tree of an all-reduce sits at a leaf in the other tree, so
// all ranks send about equal amounts.
func TestTreesShare(t *testing.T) {
	const n, octets = 16, 32 << 20
	sent := make([]int, n)
	for _, m := range NewGraph(flows.AllReduceTree, n, octets) {
		sent[m.From] += m.Octets
	}
	for r, of := range sent {
		if of > 2*octets {
			t.Errorf("rank %d sends %d octets, want at most %d: up by one tree and down to two", r, of,
				2*octets)
		}
	}
}

// TestAmounts: amounts are read as written, and refused with what would be right.
func TestAmounts(t *testing.T) {
	for text, want := range map[string]Size{"64MiB": 64 << 20, "100kB": 100e3, "1.5KiB": 1536,
		"7": 7, "0": 0} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err != nil || s != want {
			t.Errorf("%s is %d, %v, want %d", text, s, err, want)
		}
	}
	for _, text := range []string{"", "-1", "64MB/s", "1e30GB", "0.3", "NaN", "MiB"} {
		var s Size
		if err := s.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %d octets", text, s)
		}
	}
	var r Rate
	if err := r.UnmarshalText([]byte("400G")); err != nil || r != 400e9 || r.String() != "400G" {
		t.Errorf("400G is %d, %v, written %v", r, err, r)
	}
	if err := r.UnmarshalText([]byte("400Gb")); err == nil {
		t.Error("400Gb is a rate")
	}
	if s := Size(64 << 20); s.String() != "64MiB" {
		t.Errorf("64 MiB are written %v", s)
	}
}
