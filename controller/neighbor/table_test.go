package neighbor

import (
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// fakeRules are the rules of ports with one prefix.
type fakeRules struct {
	refuses map[netip.Addr]Refusal
	others  []At
	down    map[At]bool
}

func (r *fakeRules) Refuses(_ At, a netip.Addr) Refusal { return r.refuses[a] }
func (r *fakeRules) Down(at At) bool                    { return r.down[at] }
func (r *fakeRules) Elsewhere(at At, _ netip.Addr) []At {
	return slices.DeleteFunc(slices.Clone(r.others), func(o At) bool { return o == at })
}

var (
	p1, p2, p3 = At{"leaf1", 1}, At{"leaf1", 2}, At{"leaf2", 1}
	m1, m2     = packet.MAC{2, 0, 0, 0, 0, 1}, packet.MAC{2, 0, 0, 0, 0, 2}
	a1         = netip.MustParseAddr("2001:db8:0:7::1")
)

func address(n int) netip.Addr {
	return netip.AddrFrom16([16]byte{0: 0x20, 1: 1, 2: 0xd, 3: 0xb8, 7: 7, 14: byte(n >> 8),
		15: byte(n)})
}

// bed is a table with its clock; said are changes as text.
type bed struct {
	*testing.T
	*Table
	rules *fakeRules
	now   time.Duration
}

func newBed(t *testing.T, others ...At) *bed {
	r := &fakeRules{refuses: make(map[netip.Addr]Refusal), others: others, down: make(map[At]bool)}
	return &bed{T: t, Table: NewTable(r), rules: r}
}

func (b *bed) claim(at At, m packet.MAC, how How) { b.Heard(b.now, Claim{at, a1, m, how}) }

// pass lets time pass.
func (b *bed) pass(d time.Duration) {
	for end := b.now + d; ; {
		at, ok := b.Next()
		if !ok || at > end {
			b.now = end
			return
		}
		b.now = at
		b.Tick(at)
	}
}

// want compares the output with the kinds of changes and the asked ports.
func (b *bed) want(what string, kinds []ChangeKind, asks ...At) Output {
	b.Helper()
	out := b.Take()
	var got []ChangeKind
	for _, c := range out.Changes {
		got = append(got, c.Kind)
	}
	var asked []At
	for _, a := range out.Asks {
		asked = append(asked, a.At)
	}
	if !slices.Equal(got, kinds) || !slices.Equal(asked, asks) {
		b.Errorf("%s: changes %v, asks %v; want %v, %v", what, got, asked, kinds, asks)
	}
	return out
}

func (b *bed) at(what string, at At, m packet.MAC) {
	b.Helper()
	got, ok := b.Binding(a1)
	if !ok || !got.Sure || got.At != at || got.MAC != m {
		b.Errorf("%s: %+v, %v; want %v at %v", what, got, ok, m, at)
	}
}

// TestFirstCome: RFC 6620 §3.2.3, NO_BIND to TENTATIVE to VALID.
func TestFirstCome(t *testing.T) {
	b := newBed(t, p1, p2, p3)
	b.claim(p1, m1, Detects)
	b.want("detects", nil, p2, p3)
	b.pass(Wait - 1)
	b.want("waits", nil)
	if got, _ := b.Binding(a1); got.Sure {
		t.Error("bound before the wait was over")
	}
	b.pass(1)
	b.want("silence", []ChangeKind{Bound})
	b.at("silence", p1, m1)

	alone := newBed(t)
	alone.claim(p1, m1, Solicits)
	alone.want("no other port could have it", []ChangeKind{Bound})
	alone.at("alone", p1, m1)
}

// TestSomebodyElse: a tentative address is bound to the port that advertises it.
func TestSomebodyElse(t *testing.T) {
	b := newBed(t, p1, p2)
	b.claim(p1, m1, Detects)
	b.Take()
	b.claim(p2, m2, Detects)
	if out := b.want("two want it", []ChangeKind{Refused}); len(out.Defends) != 1 ||
		out.Defends[0].At != p2 {
		t.Errorf("two want it: defends %v", out.Defends)
	}
	b.claim(p2, m2, Advertises)
	out := b.want("the second has it", []ChangeKind{Refused, Bound})
	if len(out.Defends) != 1 || out.Defends[0].At != p1 {
		t.Errorf("the first is not told: %v", out.Defends)
	}
	b.at("the second has it", p2, m2)
}

// TestMove: RFC 6620 §3.2.3, VALID to TESTING_VP. The old port is asked first.
func TestMove(t *testing.T) {
	start := func() *bed {
		b := newBed(t)
		b.claim(p1, m1, Solicits)
		b.Take()
		b.claim(p2, m2, Detects)
		b.want("claimed elsewhere", nil, p1)
		b.at("claimed elsewhere", p1, m1)
		return b
	}
	b := start()
	b.claim(p1, m1, Advertises)
	out := b.want("the old port answers", []ChangeKind{Refused})
	if len(out.Defends) != 1 || out.Defends[0].At != p2 || out.Changes[0].Why != RefusedInUse {
		t.Errorf("the old port answers: %+v", out)
	}
	b.pass(time.Second)
	b.at("the old port answers", p1, m1)

	b = start()
	b.claim(p3, m2, Detects)
	b.want("a third wants it", []ChangeKind{Refused})
	b.pass(Wait)
	out = b.want("silence", []ChangeKind{Moved})
	if len(out.Changes) == 1 && out.Changes[0].From != p1 {
		t.Errorf("moved from %v", out.Changes[0].From)
	}
	b.at("silence", p2, m2)

	b = newBed(t)
	b.claim(p1, m1, Solicits)
	b.rules.down[p1] = true
	b.Take()
	b.claim(p2, m2, Detects)
	b.want("the old port is down", []ChangeKind{Moved})
	b.at("the old port is down", p2, m2)
}

// TestLifetime: RFC 6620 §3.2.3, TESTING_TP-LT.
func TestLifetime(t *testing.T) {
	b := newBed(t)
	b.claim(p1, m1, Solicits)
	b.Take()
	b.pass(Lifetime)
	b.want("a lifetime without a word", nil, p1)
	b.claim(p1, m1, Advertises)
	b.pass(Lifetime - 1)
	b.want("it has answered", nil)
	b.pass(1)
	b.want("another lifetime", nil, p1)
	b.pass(time.Minute)
	b.want("no answer", []ChangeKind{Gone}, p1, p1)
	if _, ok := b.Binding(a1); ok {
		t.Error("still bound")
	}
}

func TestRenewed(t *testing.T) {
	b := newBed(t)
	b.claim(p1, m1, Solicits)
	b.Take()
	b.claim(p1, m2, Solicits)
	b.want("another MAC", []ChangeKind{Renewed})
	b.at("another MAC", p1, m2)
}

// TestRefused: the table does not bind an address that the rules refuse, and defends the address
// only if another host has the address.
func TestRefused(t *testing.T) {
	for _, why := range Refusals {
		b := newBed(t)
		b.rules.refuses[a1] = why
		b.claim(p1, m1, Detects)
		out := b.want(string(why), []ChangeKind{Refused})
		if defends := why == RefusedOwned || why == RefusedInUse; defends != (len(out.Defends) == 1) {
			t.Errorf("%s: defends %v", why, out.Defends)
		}
		if _, ok := b.Binding(a1); ok {
			t.Errorf("%s: bound", why)
		}
	}
	b := newBed(t)
	b.claim(p1, m1, Solicits)
	b.Take()
	b.rules.refuses[a1] = RefusedSID
	b.Check()
	b.want("no longer allowed", []ChangeKind{Gone})
}

// TestTenThousandAddresses: a port has as many as it may, and disturbs nobody.
func TestTenThousandAddresses(t *testing.T) {
	b := newBed(t, p1, p2)
	b.Heard(0, Claim{p2, address(20_000), m2, Detects})
	b.pass(Wait)
	b.Take()
	for n := range 10_000 {
		b.Heard(b.now, Claim{p1, address(n), m1, Detects})
	}
	b.pass(Wait)
	refused := 0
	for _, c := range b.Take().Changes {
		if c.Kind == Refused && c.Why == RefusedLimit {
			refused++
		}
	}
	if n := len(b.Bound()); n != BindingsMax+1 || refused != 10_000-BindingsMax {
		t.Errorf("%d bound, %d refused", n, refused)
	}
	if got, ok := b.Binding(address(20_000)); !ok || got.At != p2 {
		t.Errorf("the other port's: %+v, %v", got, ok)
	}
	// Nor does a move pass the limit.
	b.Heard(b.now, Claim{p1, address(20_000), m1, Detects})
	if out := b.Take(); len(out.Changes) != 1 || out.Changes[0].Why != RefusedLimit {
		t.Errorf("a move over the limit: %+v", out)
	}
}

// TestLoad: bindings of an earlier controller are bindings.
func TestLoad(t *testing.T) {
	b := newBed(t)
	b.Load(0, Binding{Address: a1, At: p1, MAC: m1, Since: -time.Hour})
	b.want("loaded", nil)
	b.at("loaded", p1, m1)
	b.claim(p2, m2, Detects)
	b.want("claimed elsewhere", nil, p1)
	b.pass(Lifetime)
	b.at("moved", p2, m2)
}

// TestRandom: for any messages, an address is at one port, no port exceeds its limit, and the
// counts are right.
func TestRandom(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if s, err := strconv.ParseUint(os.Getenv("WEFT_SEED"), 10, 64); err == nil {
		seed = s
	}
	t.Logf("WEFT_SEED=%d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	ports := []At{p1, p2, p3}
	b := newBed(t, ports...)
	held := make(map[netip.Addr]At) // by what the changes say
	for range 20_000 {
		b.rules.down[ports[rng.IntN(3)]] = rng.IntN(4) == 0
		b.Heard(b.now, Claim{ports[rng.IntN(3)], address(rng.IntN(40)),
			packet.MAC{2, 5: byte(rng.IntN(4))}, How(rng.IntN(3))})
		if rng.IntN(3) == 0 {
			b.pass(time.Duration(rng.Int64N(int64(2 * Wait))))
		}
		if rng.IntN(500) == 0 {
			b.pass(2 * Lifetime)
		}
		for _, c := range b.Take().Changes {
			switch c.Kind {
			case Bound:
				if at, ok := held[c.Binding.Address]; ok {
					t.Fatalf("%v bound at %v, and was at %v", c.Binding.Address, c.Binding.At, at)
				}
				held[c.Binding.Address] = c.Binding.At
			case Moved:
				if held[c.Binding.Address] != c.From {
					t.Fatalf("%v moved from %v, and was at %v", c.Binding.Address, c.From,
						held[c.Binding.Address])
				}
				held[c.Binding.Address] = c.Binding.At
			case Gone:
				delete(held, c.Binding.Address)
			}
		}
		count := make(map[At]int)
		for _, p := range b.all {
			count[p.At]++
		}
		for _, at := range ports {
			if count[at] > BindingsMax || count[at] != b.ports[at] {
				t.Fatalf("%v has %d bindings, counted as %d", at, count[at], b.ports[at])
			}
		}
		if n := len(b.Bound()); n != len(held) {
			t.Fatalf("%d bound, changes say %d", n, len(held))
		}
	}
}
