package fabric

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/packet"
)

// TestAggregationEmbedded compares random histories of a group with the plain model, on the
// embedded switch.
func TestAggregationEmbedded(t *testing.T) {
	runs := 120
	if testing.Short() {
		runs = 30
	}
	compareRuns(t, newEmbedded(), runs)
}

// compareRuns plays one history a seed, and fails when they missed something that the aggregation
// can do.
func compareRuns(t *testing.T, target target, runs int) {
	t.Helper()
	seen := map[cell]int{}
	for seed := range uint64(runs) {
		for c, n := range compareWithTwin(t, target, seed, 400) {
			seen[c] += n
		}
		if t.Failed() {
			return
		}
	}
	for event := advanced; event <= cnpOpened; event++ {
		if n := seen[cell{p4.CounterMtEventsID, int(event)}]; n < runs/4 {
			t.Errorf("event %v %d times in %d histories: they compare too little", event, n, runs)
		}
	}
	for _, reason := range []p4.DropReason{
		p4.DropReasonMtAbsorbed, p4.DropReasonMtCnpAbsorbed, p4.DropReasonMtCnpRate,
		p4.DropReasonMtDeadBranch, p4.DropReasonMtPollIdle, p4.DropReasonMtNoPsn,
	} {
		if n := seen[cell{p4.CounterIngressDropsID, int(reason)}]; n == 0 {
			t.Errorf("reason %v in none of %d histories: they compare too little", reason, runs)
		}
	}
	t.Logf("%d histories: %v", runs, seen)
}

// TestMinimumOfEachBranch has each branch report after another one, PSNs and MSNs that are less
// than the other's, equal, or more, where PSNs wrap and where their sign changes.
func TestMinimumOfEachBranch(t *testing.T) {
	e := newEmbedded()
	h := newHistory(1, true)
	var moves []func() move
	pairs := [][2]int64{{1, -1}, {-1, 1}, {-1, -2}, {0, -1}, {0, 0}, {0, 1}, {1<<22 - 1, 1 - 1<<22}}
	syndromes := []packet.Syndrome{packet.ACKSyndrome(3), packet.NAKSyndrome(packet.NAKSequence),
		packet.RNRSyndrome(9), packet.RNRSyndrome(0), packet.RNRSyndrome(31)}
	for b := range h.w.g.branches {
		h.w.g.branches[b].offset = 0
	}
	for b := 1; b < len(h.got); b++ {
		for i := range 2 * len(pairs) {
			around := int64(1<<24 + i%2<<23)
			psns, msns := pairs[i/2], pairs[(i*3+b)%len(pairs)]
			moves = append(moves, func() move { return h.newEpoch([]int{b - 1, b}) })
			for k := range 2 {
				moves = append(moves, func() move {
					h.msn[b-1+k] = around + msns[k]
					return h.respond(b-1+k, around+psns[k], syndromes[(i+b+k*(i+1))%len(syndromes)])
				})
			}
		}
	}
	seen := play(t, e, "minimum", h, moves)
	for _, event := range []p4.MtEvent{advanced, nakSeq, nakRNR} {
		if n := seen[cell{p4.CounterMtEventsID, int(event)}]; n < 31 {
			t.Errorf("event %v %d times: they compare too little", event, n)
		}
	}
}

// move is one event of a history: something that comes in, or that changes before the next.
type move struct {
	what  string
	in    wire
	after time.Duration
	write []*p4v1.Update
	want  []wire // what leaves, port by port in order
	cells map[cell]int
}

// compareWithTwin plays a random history of n moves. A history is fixed by its seed.
// It returns what was counted.
func compareWithTwin(t *testing.T, target target, seed uint64, n int) map[cell]int {
	t.Helper()
	h := newHistory(seed, target.virtual())
	moves := make([]func() move, n)
	for i := range moves {
		moves[i] = h.move
	}
	return play(t, target, fmt.Sprintf("seed %d (%s)", seed, h), h, moves)
}

// play plays moves of a history, and returns what was counted.
func play(t *testing.T, target target, name string, h *history, moves []func() move) map[cell]int {
	t.Helper()
	target.reset(t)
	target.write(t, baseEntries())
	target.write(t, h.w.g.responses())
	before := readCells(t, target)

	// Packets between two changes of entries or time go in at once.
	var batch []move
	total := map[cell]int{}
	flush := func() bool {
		if len(batch) == 0 {
			return true
		}
		var ins, wants []wire
		for _, m := range batch {
			ins = append(ins, m.in)
			wants = append(wants, m.want...)
			for c, k := range m.cells {
				total[c] += k
			}
		}
		got := target.inject(t, ins...)
		ok := true
		for _, port := range []uint32{1, p4.CpuPort} {
			ok = sameOrder(onPort(got, port), onPort(wants, port)) && ok
		}
		if ok = ok && len(got) == len(wants); !ok {
			compareOutput(t, name, got, wants)
			t.Errorf("%s: the outputs of this batch differ, at least in order:", name)
			for _, m := range batch {
				t.Logf("  %s: %d out", m.what, len(m.want))
			}
		}
		batch = nil
		return ok
	}
	for _, next := range moves {
		m := next()
		if len(m.write) > 0 || m.after > 0 || target.virtual() {
			if !flush() {
				return nil
			}
			target.write(t, m.write)
			target.advance(m.after)
		}
		if m.in.frame != nil {
			batch = append(batch, m)
		}
	}
	if flush() {
		compareCells(t, name, before, readCells(t, target), total)
	}
	return total
}

func onPort(wires []wire, port uint32) []wire {
	var out []wire
	for _, w := range wires {
		if w.port == port {
			out = append(out, w)
		}
	}
	return out
}

func sameOrder(a, b []wire) bool {
	return slices.EqualFunc(a, b, func(x, y wire) bool { return compareWires(x, y) == 0 })
}

// history makes up moves and asks the twin what comes of them.
type history struct {
	rng     *rand.Rand
	w       *twin
	virtual bool
	got     []int64 // last PSN each receiver has
	msn     []int64
	front   int64
	// level keeps all 32 branches close to each other, and the last branches catch up: at times all
	// others wait for each branch, because of its PSN, its MSN, or its RNR timer.
	level bool
	// sparse has few live branches of 32, different branches in each epoch, and many epochs: at times
	// each branch comes first, comes last, or has not reported.
	sparse bool
}

func newHistory(seed uint64, virtual bool) *history {
	rng := rand.New(rand.NewPCG(seed, 0xa9))
	n, level, sparse := []int{1, 2, 3, 5, 8, 32}[rng.IntN(6)], seed%4 == 3, seed%4 == 1
	if level || sparse {
		n = 32
	}
	g := newGroup(uint16(rng.IntN(p4.MtGroups)), n)
	for b := range g.branches {
		// Behind one port, so that their order is kept on every target.
		g.branches[b].port = 2
		g.branches[b].child = rng.IntN(3) == 0
		if rng.IntN(4) == 0 {
			g.branches[b].offset = uint32(rng.IntN(50))
		}
	}
	g.parent = parent(rng.IntN(3))
	g.holdoff = []uint64{0, forever, forever, 20}[rng.IntN(4)]
	g.window = []uint64{0, forever, 15, 50}[rng.IntN(4)]
	if !virtual {
		g.holdoff, g.window = []uint64{0, forever}[rng.IntN(2)], []uint64{0, forever}[rng.IntN(2)]
	}
	g.limit = []uint32{0, 1, 3, 100}[rng.IntN(4)]
	h := &history{rng: rng, w: newTwin(g), virtual: virtual, got: make([]int64, n),
		msn: make([]int64, n), level: level, sparse: sparse}
	h.front = h.somePSN()
	for b := range h.got {
		h.got[b], h.msn[b] = h.front, 1<<24-5
	}
	return h
}

// somePSN returns a PSN close to a wrap, a PSN close to a change of sign, or a random PSN.
func (h *history) somePSN() int64 {
	some := []int64{1, 1<<24 - 20, 1<<24 - 4, 1<<23 - 10, 1<<23 - 4, h.rng.Int64N(1 << 24)}
	return some[h.rng.IntN(len(some))] + 1<<24
}

func (h *history) String() string {
	g := h.w.g
	return fmt.Sprintf("group %d, %d branches, hold-off %d, window %d, limit %d", g.id,
		len(g.branches), g.holdoff, g.window, g.limit)
}

// psn is a PSN or MSN on the wire.
func psn24(v int64) uint32 { return uint32(v & packet.PSNMask) }

func (h *history) move() move {
	rng, w := h.rng, h.w
	if h.virtual && rng.IntN(4) == 0 {
		d := time.Duration(rng.IntN(30)) * time.Microsecond
		w.now += d
		return move{what: fmt.Sprint(d, " pass"), after: d}
	}
	if h.sparse && rng.IntN(12) == 0 {
		return h.sparseEpoch()
	}
	switch rng.IntN(200) {
	case 0: // a receiver leaves; the last one stays
		if b := rng.IntN(len(w.g.branches)); len(w.live) > 1 && w.live[b] {
			delete(w.live, b)
			w.g.live &^= 1 << b
			return move{what: fmt.Sprintf("branch %d leaves", b), write: modify(w.g.state())}
		}
	case 1: // everything from the start, in a new epoch
		all := make([]int, len(w.g.branches))
		for b := range all {
			all[b] = b
		}
		return h.newEpoch(all)
	case 2, 3, 4:
		return h.expect("poll", w.g.poll(), 0, w.poll())
	}
	if h.sparse {
		return h.sparseMove()
	}
	b := rng.IntN(len(w.g.branches))
	if h.level {
		return h.levelMove(b)
	}
	if rng.IntN(8) == 0 {
		return h.expect(fmt.Sprintf("CNP of %d", b), w.g.cnp(b), b, w.cnp(b))
	}

	// The receivers follow a front that moves on.
	if rng.IntN(3*len(h.got)) == 0 {
		h.front += int64(rng.IntN(4))
	}
	if rng.IntN(3) > 0 && h.got[b] < h.front+6 {
		step := int64(1 + rng.IntN(3))
		h.got[b] += step
		h.msn[b] += int64(rng.IntN(int(step) + 1))
	}
	psn, syndrome := h.got[b], packet.ACKSyndrome(uint8(rng.IntN(32)))
	switch rng.IntN(10) {
	case 0, 1:
		psn, syndrome = psn+1, packet.NAKSyndrome(packet.NAKSequence)
	case 2:
		psn, syndrome = psn+1, packet.RNRSyndrome(uint8(rng.IntN(32)))
	case 3:
		if rng.IntN(4) == 0 {
			psn, syndrome = psn+1, packet.NAKSyndrome(packet.NAKCode(1+rng.IntN(31)))
		}
	}
	if rng.IntN(6) == 0 { // late
		psn -= int64(rng.IntN(12))
	}
	return h.respond(b, psn, syndrome)
}

// newEpoch discards the state and starts an epoch with some live branches.
func (h *history) newEpoch(live []int) move {
	w := h.w
	w.newEpoch()
	w.g.epoch += uint32(1 + h.rng.IntN(3))
	clear(w.live)
	w.g.live = 0
	updates := modify(w.g.state(), w.g.upstream())
	for _, b := range live {
		w.live[b] = true
		w.g.live |= 1 << b
		updates = append(updates, modify(w.g.branch(w.g.branches[b], 2))...)
	}
	updates = append(updates, modify(w.g.state())...)
	return move{what: fmt.Sprint("new epoch of ", live), write: updates}
}

// sparseEpoch begins an epoch of up to four branches with PSNs and MSNs close together.
func (h *history) sparseEpoch() move {
	rng := h.rng
	live := rng.Perm(len(h.got))[:rng.IntN(5)]
	psn, msn := h.somePSN(), h.somePSN()
	for _, b := range live {
		h.got[b], h.msn[b] = psn+int64(rng.IntN(6)), msn+int64(rng.IntN(6))
	}
	return h.newEpoch(live)
}

// sparseMove has a live branch respond, or a poll where there is none.
func (h *history) sparseMove() move {
	rng, w := h.rng, h.w
	if len(w.live) == 0 {
		return h.expect("poll", w.g.poll(), 0, w.poll())
	}
	b := rng.IntN(len(h.got))
	for !w.live[b] {
		b = (b + 1) % len(h.got)
	}
	if rng.IntN(2) == 0 {
		h.got[b], h.msn[b] = h.got[b]+int64(1+rng.IntN(3)), h.msn[b]+int64(rng.IntN(4))
	}
	psn, syndrome := h.got[b], packet.ACKSyndrome(uint8(rng.IntN(32)))
	switch rng.IntN(8) {
	case 0:
		psn, syndrome = psn+1, packet.NAKSyndrome(packet.NAKSequence)
	case 1:
		psn, syndrome = psn+1, packet.RNRSyndrome(uint8(rng.IntN(32)))
	case 2:
		psn, syndrome = psn+1, packet.NAKSyndrome(packet.NAKRemoteAccess)
	}
	return h.respond(b, psn, syndrome)
}

// respond has a branch respond.
func (h *history) respond(b int, psn int64, syndrome packet.Syndrome) move {
	g := h.w.g
	in := g.from(b, g.answer(b, psn24(psn), syndrome, psn24(h.msn[b])))
	return h.expect(fmt.Sprintf("branch %d: %v %d", b, syndrome, psn), in, b,
		h.w.respond(b, psn, syndrome, h.msn[b]))
}

// levelMove makes branch b respond or, two times in three, a branch with the lowest PSN.
func (h *history) levelMove(b int) move {
	rng := h.rng
	least := slices.Min(h.got)
	if rng.IntN(3) > 0 {
		for h.got[b] != least {
			b = (b + 1) % len(h.got)
		}
	}
	if h.got[b] < least+3 {
		h.got[b] += int64(1 + rng.IntN(3))
		h.msn[b] = max(h.msn[b], h.got[b]-h.front+1<<24-int64(rng.IntN(6)))
	}
	psn, syndrome := h.got[b], packet.ACKSyndrome(uint8(rng.IntN(32)))
	switch rng.IntN(5) {
	case 0:
		psn, syndrome = psn+1, packet.NAKSyndrome(packet.NAKSequence)
	case 1:
		psn, syndrome = psn+1, packet.RNRSyndrome(uint8(rng.IntN(32)))
	}
	return h.respond(b, psn, syndrome)
}

// expect turns the twin's answer into packets and counters.
func (h *history) expect(what string, in wire, b int, a twinAnswer) move {
	g := h.w.g
	m := move{what: what, in: in, cells: map[cell]int{}}
	if a.drop != p4.DropReasonNone {
		m.cells[cell{p4.CounterIngressDropsID, int(a.drop)}] = 1
	}
	if a.cnp { // a clone when there is an answer, and clones go first
		m.want = append(m.want, g.upCNP())
		m.cells[cell{p4.CounterMtEventsID, int(cnpSent)}] = 1
	}
	if a.event != p4.MtEventNone {
		m.want = append(m.want, g.upAnswer(psn24(a.psn), a.syndrome, psn24(a.msn)))
		m.cells[cell{p4.CounterMtEventsID, int(a.event)}] = 1
	}
	if a.opened {
		m.want = append(m.want, g.opened(b))
		m.cells[cell{p4.CounterMtEventsID, int(cnpOpened)}] = 1
	}
	return m
}
