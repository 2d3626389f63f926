package neighbor

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/packet"
)

// At is a port of a switch, the anchor of bindings (RFC 6620 §2.4).
type At struct {
	Switch string
	Port   uint32
}

func (a At) String() string { return fmt.Sprintf("%s/%d", a.Switch, a.Port) }

// How is the way in which a host claims an address.
type How uint8

const (
	// Solicits: it has sent from the address.
	Solicits How = iota
	// Detects: the host has asked for duplicates of the address, and does not use the address yet.
	Detects
	// Advertises: the host has advertised the address.
	Advertises
)

// Claim is what a message says: a host at a port has or wants an address.
type Claim struct {
	At      At
	Address netip.Addr
	MAC     packet.MAC
	How     How
}

// Refusal is why an address is bound to no port that claims it.
type Refusal string

// The reasons.
const (
	RefusedGateway  Refusal = "gateway"       // an address of the switch
	RefusedSID      Refusal = "sid"           // in a prefix of SIDs
	RefusedFabric   Refusal = "fabric"        // of a node of the fabric, or of a group
	RefusedForeign  Refusal = "foreignPrefix" // in no prefix of the port
	RefusedOwned    Refusal = "owned"         // the configuration has it at another port
	RefusedInUse    Refusal = "inUse"         // the host that had it first answered
	RefusedLimit    Refusal = "limit"         // the port has as many as it may
	RefusedNotGiven Refusal = "notLearned"    // nothing is learned at the port
)

// Refusals are all reasons, in order.
var Refusals = []Refusal{RefusedGateway, RefusedSID, RefusedFabric, RefusedForeign, RefusedOwned,
	RefusedInUse, RefusedLimit, RefusedNotGiven}

// Rules has the questions of a [Table] to its network.
type Rules interface {
	// Refuses returns why a port may not have an address, "" when it may.
	Refuses(at At, a netip.Addr) Refusal
	// Elsewhere returns the other ports whose hosts could have an address.
	Elsewhere(at At, a netip.Addr) []At
	// Down reports whether a port is known to be down.
	Down(at At) bool
}

// Times of RFC 6620 §3.1.2 (T_WAIT, DEFAULT_LT), and the limit of bindings of a port.
const (
	Wait        = 500 * time.Millisecond
	Lifetime    = 5 * time.Minute
	BindingsMax = 8

	testsMax = 3 // questions without an answer after which a binding is gone
)

// phase is the state of RFC 6620 §3.2 that a binding is in.
type phase uint8

const (
	tentative phase = iota // TENTATIVE: somebody else may have it
	valid                  // VALID
	asking                 // TESTING_TP-LT: nothing was heard for a lifetime
	moving                 // TESTING_VP: another port claims it
)

// Binding is an address at a port.
type Binding struct {
	Address netip.Addr
	At      At
	MAC     packet.MAC
	Since   time.Duration // it is bound
	Seen    time.Duration // its host was heard last; negative: not since the start
	// Sure reports whether the address is bound; otherwise somebody else may have it.
	Sure bool

	phase   phase
	due     time.Duration
	asked   int
	claimed Claim // of moving
}

// Ask is a question after an address out of a port: a neighbor solicitation.
type Ask struct {
	At      At
	Address netip.Addr
}

func (a Ask) compare(b Ask) int {
	return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.At.Switch, b.At.Switch),
		cmp.Compare(a.At.Port, b.At.Port))
}

// Change is what happened to an address.
type Change struct {
	Kind    ChangeKind
	Binding Binding
	From    At      // of Moved and Refused: the other port
	Why     Refusal // of Refused; of Gone where the rules do not allow it any more
}

// ChangeKind is the kind of a Change.
type ChangeKind uint8

// The kinds.
const (
	Bound ChangeKind = iota
	Moved
	Renewed // with another MAC
	Gone
	Released // the configuration has what was bound
	Refused  // Binding has what was claimed
)

// Output is what follows from messages and time: what to send, and what has changed.
type Output struct {
	Asks []Ask
	// Defends are claims to answer: somebody else has the address.
	Defends []Claim
	Changes []Change
}

// Table has the bindings of all ports. It is no more than a function of its calls.
type Table struct {
	rules Rules
	all   map[netip.Addr]*Binding
	ports map[At]int // bindings of each
	out   Output
}

// NewTable returns a table without bindings.
func NewTable(r Rules) *Table {
	return &Table{rules: r, all: make(map[netip.Addr]*Binding), ports: make(map[At]int)}
}

// Load adds a binding of an earlier controller.
func (t *Table) Load(now time.Duration, b Binding) {
	if t.all[b.Address] == nil {
		b.Sure, b.phase, b.due, b.Seen = true, valid, now+Lifetime, -1
		t.put(&b)
	}
}

// Binding returns what is known of an address.
func (t *Table) Binding(a netip.Addr) (b Binding, ok bool) {
	if p := t.all[a]; p != nil {
		return *p, true
	}
	return b, false
}

// Bound returns the bindings that are sure, by address.
func (t *Table) Bound() []Binding {
	var out []Binding
	for _, a := range slices.SortedFunc(maps.Keys(t.all), netip.Addr.Compare) {
		if b := t.all[a]; b.Sure {
			out = append(out, *b)
		}
	}
	return out
}

// Take returns what has followed since the last call.
func (t *Table) Take() Output {
	out := t.out
	t.out = Output{}
	return out
}

// Next returns when Tick has something to do.
func (t *Table) Next() (at time.Duration, ok bool) {
	for _, b := range t.all {
		if !ok || b.due < at {
			at, ok = b.due, true
		}
	}
	return at, ok
}

func (t *Table) put(b *Binding) {
	t.all[b.Address] = b
	t.ports[b.At]++
}

func (t *Table) drop(b *Binding) {
	delete(t.all, b.Address)
	if t.ports[b.At]--; t.ports[b.At] == 0 {
		delete(t.ports, b.At)
	}
}

func (t *Table) change(kind ChangeKind, b *Binding, from At, why Refusal) {
	t.out.Changes = append(t.out.Changes, Change{kind, *b, from, why})
}

func (t *Table) ask(at At, a netip.Addr) { t.out.Asks = append(t.out.Asks, Ask{at, a}) }

// refuse reports a claim that binds nothing, and defends the address where somebody has it.
func (t *Table) refuse(c Claim, why Refusal) {
	t.out.Changes = append(t.out.Changes, Change{Refused,
		Binding{Address: c.Address, At: c.At, MAC: c.MAC}, c.At, why})
	if (why == RefusedOwned || why == RefusedInUse) && c.How == Detects {
		t.out.Defends = append(t.out.Defends, c)
	}
}

// Heard takes a claim.
func (t *Table) Heard(now time.Duration, c Claim) {
	if why := t.rules.Refuses(c.At, c.Address); why != "" {
		t.refuse(c, why)
		return
	}
	b := t.all[c.Address]
	switch {
	case b == nil:
		t.first(now, c)
	case b.At == c.At:
		t.again(now, b, c)
	case b.phase == tentative:
		// If two hosts claim an address, the host that advertises the address gets it (RFC 6620 §3.2.4).
		if c.How != Advertises {
			t.refuse(c, RefusedInUse)
			return
		}
		if t.ports[c.At] >= BindingsMax {
			t.refuse(c, RefusedLimit)
			return
		}
		t.refuse(Claim{b.At, b.Address, b.MAC, Detects}, RefusedInUse)
		t.take(now, b, c)
	case b.phase == moving && b.claimed.At != c.At:
		t.refuse(c, RefusedInUse)
	case b.phase == moving:
		b.claimed = c
	case t.ports[c.At] >= BindingsMax:
		t.refuse(c, RefusedLimit)
	case t.rules.Down(b.At):
		t.take(now, b, c)
	default:
		b.phase, b.claimed, b.due = moving, c, now+Wait
		t.ask(b.At, b.Address)
	}
}

// first takes the claim of an address that is free.
func (t *Table) first(now time.Duration, c Claim) {
	if t.ports[c.At] >= BindingsMax {
		t.refuse(c, RefusedLimit)
		return
	}
	b := &Binding{Address: c.Address, At: c.At, MAC: c.MAC, Since: now, Seen: now}
	t.put(b)
	others := t.rules.Elsewhere(c.At, c.Address)
	if len(others) == 0 {
		t.settle(now, b)
		t.change(Bound, b, At{}, "")
		return
	}
	b.phase, b.due = tentative, now+Wait
	for _, at := range others {
		t.ask(at, c.Address)
	}
}

// again takes a repeated claim of the port that has the address.
func (t *Table) again(now time.Duration, b *Binding, c Claim) {
	b.Seen = now
	if b.phase == moving {
		t.refuse(b.claimed, RefusedInUse)
	}
	if b.phase != tentative {
		t.settle(now, b)
	}
	if c.MAC != b.MAC {
		b.MAC = c.MAC
		if b.Sure {
			t.change(Renewed, b, At{}, "")
		}
	}
}

// settle has a binding be valid for a lifetime.
func (t *Table) settle(now time.Duration, b *Binding) {
	b.phase, b.Sure, b.due, b.asked, b.claimed = valid, true, now+Lifetime, 0, Claim{}
}

// take binds an address to the port of a claim instead.
func (t *Table) take(now time.Duration, b *Binding, c Claim) {
	from, sure := b.At, b.Sure
	t.drop(b)
	b.At, b.MAC, b.Since, b.Seen = c.At, c.MAC, now, now
	t.put(b)
	t.settle(now, b)
	if sure {
		t.change(Moved, b, from, "")
	} else {
		t.change(Bound, b, At{}, "")
	}
}

// Tick does what is due.
func (t *Table) Tick(now time.Duration) {
	for _, a := range slices.SortedFunc(maps.Keys(t.all), netip.Addr.Compare) {
		b := t.all[a]
		if b.due > now {
			continue
		}
		switch b.phase {
		case tentative:
			t.settle(now, b)
			b.Since = now
			t.change(Bound, b, At{}, "")
		case moving:
			if t.ports[b.claimed.At] >= BindingsMax {
				t.refuse(b.claimed, RefusedLimit)
				t.settle(now, b)
				continue
			}
			t.take(now, b, b.claimed)
		case valid, asking:
			if b.asked == testsMax {
				t.drop(b)
				t.change(Gone, b, At{}, "")
				continue
			}
			b.phase, b.due = asking, now+Wait<<b.asked
			b.asked++
			t.ask(b.At, b.Address)
		}
	}
}

// Check removes what the rules do not allow any more.
func (t *Table) Check() {
	for _, a := range slices.SortedFunc(maps.Keys(t.all), netip.Addr.Compare) {
		b := t.all[a]
		if why := t.rules.Refuses(b.At, a); why != "" {
			t.drop(b)
			if b.Sure {
				t.change(Gone, b, At{}, why)
			}
		} else if b.phase == moving && t.rules.Refuses(b.claimed.At, a) != "" {
			b.phase, b.claimed = valid, Claim{}
		}
	}
}

// Release removes the bindings for which given reports true: the configuration gives them.
func (t *Table) Release(given func(b *Binding) bool) {
	for _, a := range slices.SortedFunc(maps.Keys(t.all), netip.Addr.Compare) {
		if b := t.all[a]; given(b) {
			t.drop(b)
			if b.Sure {
				t.change(Released, b, At{}, "")
			}
		}
	}
}
