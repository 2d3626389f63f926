package flows

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/internal/maxmin"
	"github.com/weft-sdn/weft/topology"
)

// A Change is a state that begins at a time. NICs whose paths it takes stall meanwhile: they lose
// packets, and send these again.
type Change struct {
	At    time.Duration
	State State
	Stall time.Duration
	// Untold is what NICs were not told is lost. A NIC finds by itself what takes its messages, and
	// not what takes its acknowledgements: where the last one is lost, the sender waits for Ask until
	// it asks.
	Untold topology.Losses
	Ask    time.Duration
}

// An Outcome is the outcome for the jobs of a model.
type Outcome struct {
	Jobs  []JobOutcome
	Ended time.Duration // the last step of all jobs, or the limit
	// Links lists the fabric's links and the NICs' ports that carried something, similar links joined
	// into one, the most used first.
	Links []LinkUse
	// Lost is what each change took from the paths of jobs.
	Lost []Loss
}

// A JobOutcome is what became of a job.
type JobOutcome struct {
	Steps []Step
	Least time.Duration
	// CutOff are the ranks that cannot send, or that nobody can send to, in the state in which the job
	// stopped; none: it came to its end or to the limit.
	CutOff []int
	Bound  []string // links that bound its messages, each once
}

// A Step is when a step began, and the time until the last rank had ended the step.
type Step struct{ Began, Took time.Duration }

// A LinkUse is the use of links of the same tier.
type LinkUse struct {
	Tier  int     // the lower one; -1: ports of NICs
	Up    bool    // away from NICs
	Used  float64 // of a link's rate, of 1, on average until the run ended
	Count float64 // links
	Link  string  // one of them
}

// A Loss is what a change takes from NICs.
type Loss struct {
	Hosts  int // whose paths are fewer
	Denied int // EVs that these hosts come to deny
}

// rates is what bundles get while some entities are active.
type rates struct {
	maxmin.Filled
	index []int32   // of the demands that were filled, by bundle; -1: none
	took  []float64 // by entity: how long it takes from begin to end, in seconds
}

// active is a set of entities.
type active []byte

func (a active) has(e int) bool { return a[e/8]>>(e%8)&1 != 0 }
func (a active) put(e int)      { a[e/8] |= 1 << (e % 8) }
func (a active) drop(e int)     { a[e/8] &^= 1 << (e % 8) }

// rates returns the rates while some entities are active, and the error of a ctx that has ended.
func (v *view) rates(ctx context.Context, now active) (*rates, error) {
	v.memos.Lock()
	known, ok := v.memo[string(now)]
	v.memos.Unlock()
	if ok {
		return known, nil
	}
	m := v.m
	r := &rates{index: make([]int32, len(m.bundles)), took: make([]float64, len(m.entities))}
	for i := range r.index {
		r.index[i] = -1
	}
	var demands []maxmin.Parted
	for e := range m.entities {
		if !now.has(e) {
			continue
		}
		if v.cut(e) { // the messages wait for one without a path, and take nothing
			r.took[e] = math.Inf(1)
			continue
		}
		for _, b := range m.entities[e].bundles {
			r.index[b] = int32(len(demands))
			demands = append(demands, v.demands[b])
		}
	}
	var err error
	if r.Filled, err = maxmin.Fill(ctx, v.capacities, demands); err != nil {
		return nil, err
	}
	for e := range m.entities {
		if now.has(e) && r.took[e] == 0 {
			r.took[e] = v.took(e, r)
		}
	}
	v.memos.Lock()
	if len(v.memo)*(len(m.bundles)+len(m.entities)+len(v.links)) > kept*m.net.Parts {
		clear(v.memo)
	}
	v.memo[string(now)] = r
	v.memos.Unlock()
	return r, nil
}

// cut reports whether a message of an entity has no path.
func (v *view) cut(e int) bool {
	return slices.ContainsFunc(v.m.entities[e].bundles, func(b int32) bool {
		return len(v.demands[b].Paths) == 0
	})
}

// took returns how long an entity takes at some rates, in seconds. A ring takes the pace at which
// the slowest rank sends chunks, or at which a chunk goes round, whichever is slower; a chain and a
// tree take as long as the first chunk takes to go through, and the others after the first at the
// pace of the slowest. A chunk that passes all messages of a chain takes the latency of each.
func (v *view) took(at int, r *rates) float64 {
	e := &v.m.entities[at]
	latency := v.m.jobs[e.job].Latency.Seconds()
	slowest, sum, count, late, lates := 0.0, 0.0, 0.0, 0.0, 0.0
	for _, i := range e.bundles {
		b := &v.m.bundles[i]
		t := b.octets * 8 / r.Rates[r.index[i]]
		alone := t // the time if the message took its links all the time
		if d := &v.demands[i]; e.pace.ring && r.Rates[r.index[i]] < d.Most*(1-1e-9) {
			alone *= b.count / d.Flows
		}
		slowest, late = max(slowest, alone), max(late, v.late[i]+latency)
		if n := float64(max(1, e.pace.rounds)); e.pace.ring {
			sum += b.count * (t/n + v.late[i] + latency)
		} else {
			sum += b.count * t
		}
		count += b.count
		lates += b.count * (v.late[i] + latency)
	}
	n := float64(e.pace.rounds)
	switch {
	case e.pace.ring:
		return n*max(slowest/n, sum/count) + late
	case n == 0:
		return slowest + 2*late
	case e.pace.line:
		chunk, hop := sum/count/n, lates/count
		return (n-1)*slowest/n + (e.pace.hops+e.pace.meets(hop/chunk))*chunk + e.pace.late*hop
	}
	return (n-1)*slowest/n + e.pace.hops*sum/count/n + e.pace.late*late
}

// running is a job under way.
type running struct {
	*Job
	left     int // steps
	begins   time.Duration
	computes bool
	until    time.Duration // of computing
	open     int           // entities of this step
	entities []int
	out      *JobOutcome
}

// Run runs the steps of the jobs through the changes, in order of time, until all jobs have ended
// or the limit is reached. It returns early with the error of a ctx that has ended.
func (m *Model) Run(ctx context.Context, changes []Change, limit time.Duration) (*Outcome, error) {
	return m.run(ctx, changes, limit, true)
}

// run is Run; links: the outcome has links.
func (m *Model) run(ctx context.Context, changes []Change, limit time.Duration,
	links bool) (*Outcome, error) {
	r := &runner{m: m, out: &Outcome{Jobs: make([]JobOutcome, len(m.jobs)),
		Lost: make([]Loss, len(changes))}, v: m.whole, now: make(active, (len(m.entities)+7)/8),
		left: make([]float64, len(m.entities)), pause: make([]float64, len(m.entities)),
		done: make([]float64, len(m.entities)), carried: map[string]*LinkUse{},
		wait: make([]float64, len(m.jobs))}
	for j := range m.jobs {
		x := &running{Job: &m.jobs[j], left: m.jobs[j].Steps, out: &r.out.Jobs[j], computes: true,
			begins: m.jobs[j].At, until: m.jobs[j].At + m.jobs[j].Compute}
		x.out.Least = time.Duration(m.least[j] * 1e9)
		for e := range m.entities {
			if m.entities[e].job == j {
				x.entities = append(x.entities, e)
			}
		}
		r.jobs = append(r.jobs, x)
	}
	for at := time.Duration(0); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for len(changes) > 0 && changes[0].At <= at {
			if err := r.change(ctx, &changes[0], len(r.out.Lost)-len(changes)); err != nil {
				return nil, err
			}
			changes = changes[1:]
		}
		r.begin(at)
		var err error
		if r.rates, err = r.v.rates(ctx, r.now); err != nil {
			return nil, err
		}
		next, more := r.next(at)
		if len(changes) > 0 && more {
			next = min(next, changes[0].At)
		}
		if !more && len(changes) > 0 && r.stuck() {
			next, more = changes[0].At, true
		}
		if !more || next > limit {
			if more {
				r.advance(limit - at)
				at = limit
			}
			r.out.Ended = at
			break
		}
		r.advance(next - at)
		at = next
		r.end(at)
	}
	r.cutOff()
	if links {
		r.use()
	}
	return r.out, nil
}

// runner is a run under way.
type runner struct {
	m     *Model
	v     *view
	jobs  []*running
	now   active
	rates *rates    // of now in v
	left  []float64 // by entity: the part that is left, of 1
	pause []float64 // by entity: seconds in which nothing gets through
	wait  []float64 // by job: the mean seconds of a step in which senders wait until they ask
	out   *Outcome
	ends  []time.Duration // of next

	done    []float64           // by entity: the parts sent since the last note
	carried map[string]*LinkUse // Used in seconds of the link's rate
	seconds float64
}

// change sets the state, and notes what NICs lose by it.
func (r *runner) change(ctx context.Context, c *Change, at int) (err error) {
	before := r.v
	if r.wait = r.m.waits(c); reflect.DeepEqual(before.state, &c.State) {
		return nil
	}
	r.note()
	if r.v, err = r.m.see(ctx, &c.State); err != nil {
		return err
	}
	loss, told := &r.out.Lost[at], map[int32]bool{}
	hit := make([]bool, len(r.m.pairs))
	for i := range r.m.pairs {
		for p := range r.v.lanes[i] {
			if fewer := before.lanes[i][p].held - r.v.lanes[i][p].held; fewer > 0 {
				rack := r.m.pairs[i].from
				hit[i] = true
				if r.m.pairs[i].from != r.m.pairs[i].to {
					loss.Denied += fewer * r.m.inAll[rack]
				}
				if !told[rack] {
					told[rack] = true
					loss.Hosts += r.m.inAll[rack]
				}
			}
		}
	}
	for e := range r.m.entities {
		if r.now.has(e) && slices.ContainsFunc(r.m.entities[e].bundles, func(b int32) bool {
			return hit[r.m.bundles[b].pair] || shares(&r.v.demands[b]) < shares(&before.demands[b])-0.5
		}) {
			r.pause[e] += c.Stall.Seconds()
		}
	}
	return nil
}

// shares returns how many ports a message goes by.
func shares(d *maxmin.Parted) (sum float64) {
	for _, w := range d.Paths {
		sum += w.Share
	}
	return sum
}

// waits returns, by job, the mean time of a step in which some sender waits until it asks, in
// seconds. A NIC acknowledges by all paths of the port that the message came by, but for those that
// took messages of its own to the same rack.
func (m *Model) waits(c *Change) []float64 {
	wait, heard := make([]float64, len(m.jobs)), make([]float64, len(m.jobs))
	if c.Ask == 0 {
		return wait
	}
	// heard is the chance that no acknowledgement is lost.
	for j := range heard {
		heard[j] = 1
	}
	lost, sends := m.net.Fabric.Clos().Lost(c.Untold), map[[2]int32]bool{} // from a class to a rack
	for i := range m.bundles {
		sends[[2]int32{m.bundles[i].from, m.pairs[m.bundles[i].pair].to}] = true
	}
	taken := make([]float64, len(m.pairs)) // the part of acknowledgements
	for i := range m.pairs {
		taken[i] = m.taken(m.racks[m.pairs[i].to], m.racks[m.pairs[i].from], lost)
	}
	for i := range m.bundles {
		b := &m.bundles[i]
		if !sends[[2]int32{b.to, m.pairs[b.pair].from}] {
			heard[m.entities[b.entity].job] *= math.Pow(1-taken[b.pair], b.count)
		}
	}
	for j := range heard {
		wait[j] = (1 - heard[j]) * c.Ask.Seconds()
	}
	return wait
}

// taken returns the mean part of the paths between two racks that is lost, of the ports with paths.
func (m *Model) taken(from, to ev.Attachment, lost *topology.LostPaths) float64 {
	sum, ports := 0.0, 0.0
	for i := range from {
		set, ok := m.net.Fabric.PathSet(from, to, uint8(i+1))
		if !ok {
			continue
		}
		gone := 0
		if set.Hops() > 0 && lost.Touches(set) {
			for ref := range set.All() {
				if lost.Path(set, ref) {
					gone++
				}
			}
		}
		if gone == 0 || gone < set.Len() { // else nothing comes by the port
			sum += float64(gone) / float64(set.Len())
			ports++
		}
	}
	return sum / max(1, ports)
}

// begin starts the communication of jobs that have computed.
func (r *runner) begin(at time.Duration) {
	for i, j := range r.jobs {
		for j.left > 0 && j.computes && j.until <= at {
			j.computes = false
			for _, e := range j.entities {
				r.now.put(e)
				r.left[e], r.pause[e] = 1, r.wait[i]
				j.open++
			}
			if j.open == 0 {
				r.step(j, at, 0)
			}
		}
	}
}

// step ends a step of a job, late by some seconds, and begins the next one.
func (r *runner) step(j *running, at time.Duration, late float64) {
	ended := at - time.Duration(late*1e9)
	j.out.Steps = append(j.out.Steps, Step{j.begins, ended - j.begins})
	j.left--
	j.begins, j.until, j.computes = at, at+j.Compute, true
}

// together is the part of the entities of a large model that end at once: new rates each time that
// one of thousands ends would take minutes.
const together = 0.1

// next returns when something happens next; more is false when nothing does. Of a large model some
// entities have ended before then, but no job is late for a next step.
func (r *runner) next(at time.Duration) (next time.Duration, more bool) {
	next = math.MaxInt64
	now := r.rates
	ends := r.ends[:0]
	for _, j := range r.jobs {
		if j.left > 0 && j.computes {
			next, more = min(next, j.until), true
		}
		first := len(ends)
		for _, e := range j.entities {
			if t := r.pause[e] + r.left[e]*now.took[e]; r.now.has(e) && t < 1e9 {
				ends = append(ends, at+max(1, time.Duration(math.Ceil(t*1e9))))
			}
		}
		if j.left > 1 && len(ends) > first {
			next = min(next, slices.Max(ends[first:]))
		}
	}
	if r.ends = ends; len(ends) == 0 {
		return next, more
	}
	if !r.m.large {
		return min(next, slices.Min(ends)), true
	}
	slices.Sort(ends)
	return min(next, ends[int(together*float64(len(ends)))]), true
}

// stuck reports whether a job has messages that have no path.
func (r *runner) stuck() bool {
	return slices.ContainsFunc(r.jobs, func(j *running) bool { return j.open > 0 })
}

// advance lets time pass.
func (r *runner) advance(d time.Duration) {
	now, seconds := r.rates, d.Seconds()
	r.seconds += seconds
	for e := range r.m.entities {
		if !r.now.has(e) {
			continue
		}
		done := max(0, seconds-r.pause[e]) / now.took[e]
		r.pause[e] = max(0, r.pause[e]-seconds)
		r.done[e] += min(done, r.left[e])
		r.left[e] -= done
	}
}

// carry returns the bits that links have carried since the last note. While a ring waits for its
// slowest rank the others send less than they could.
func (r *runner) carry() []float64 {
	used := make([]float64, len(r.v.capacities))
	for e, done := range r.done {
		if done == 0 {
			continue
		}
		r.done[e] = 0
		for _, i := range r.m.entities[e].bundles {
			b := &r.m.bundles[i]
			bits := b.count * b.octets * 8 * done
			d := &r.v.demands[i]
			all := shares(d)
			for _, w := range d.Paths {
				for _, uses := range w.All() {
					for _, u := range uses {
						used[u.Link] += bits * w.Share / all * u.Part
					}
				}
			}
		}
	}
	return used
}

// note notes what the links of the view have carried.
func (r *runner) note() {
	for l, bits := range r.carry() {
		if bits == 0 {
			continue
		}
		c := &r.v.links[l]
		name := r.v.name(c)
		x := r.carried[name]
		if x == nil {
			x = &LinkUse{Tier: r.v.tier(c), Up: r.v.up(c), Count: c.count * r.v.capacities[l] / r.v.each[l],
				Link: name}
			r.carried[name] = x
		}
		x.Used += bits / r.v.capacities[l]
	}
}

// name names one of the links of a class.
func (v *view) name(c *sameLinks) string {
	if c.one >= 0 {
		return v.m.net.nameOf(c.one)
	}
	end := "out of"
	if c.port.in {
		end = "into"
	}
	return fmt.Sprintf("port %d %s %s", c.port.port, end,
		v.m.nics[v.m.classes[c.port.class].one].name)
}

// tier returns the lower tier of the links of a class; -1: ports of NICs.
func (v *view) tier(c *sameLinks) int {
	if c.one < 0 {
		return -1
	}
	e, clos := v.m.net.Fabric.Edge(c.one), v.m.net.Fabric.Clos()
	a, _ := clos.Tier(e.Local)
	b, _ := clos.Tier(e.Remote)
	return min(a, b)
}

// up reports whether the links of a class lead away from NICs.
func (v *view) up(c *sameLinks) bool {
	if c.one < 0 {
		return !c.port.in
	}
	return v.m.net.Fabric.Edge(c.one).Rises()
}

// end ends the entities with nothing left, and the steps of jobs with no entity left.
func (r *runner) end(at time.Duration) {
	now := r.rates
	for _, j := range r.jobs {
		late := math.Inf(1) // the last one, in seconds
		for _, e := range j.entities {
			left := r.left[e] * now.took[e]
			if !r.now.has(e) || left > 1e-9 || r.pause[e] > 0 {
				continue
			}
			late = min(late, max(0, -left))
			r.bound(j, e, now)
			r.now.drop(e)
			if j.open--; j.open == 0 {
				r.step(j, at, late)
			}
		}
	}
}

// mostBound is how many links that bound a job an outcome names.
const mostBound = 8

// bound notes the links that bound an entity.
func (r *runner) bound(j *running, e int, now *rates) {
	for _, b := range r.m.entities[e].bundles {
		if i := now.index[b]; i >= 0 && now.Bound[i] >= 0 && len(j.out.Bound) < mostBound {
			name := r.v.name(&r.v.links[now.Bound[i]])
			if !slices.Contains(j.out.Bound, name) {
				j.out.Bound = append(j.out.Bound, name)
			}
		}
	}
}

// cutOff notes who is cut off.
func (r *runner) cutOff() {
	for _, j := range r.jobs {
		if j.left > 0 && j.open > 0 {
			j.out.CutOff = r.m.cutOff(r.v, j)
		}
	}
}

// use notes the use of links.
func (r *runner) use() {
	r.note()
	for _, x := range r.carried {
		if x.Used = x.Used / r.seconds; x.Used > 0 {
			r.out.Links = append(r.out.Links, *x)
		}
	}
	slices.SortFunc(r.out.Links, func(a, b LinkUse) int {
		return cmp.Or(cmp.Compare(b.Used, a.Used), cmp.Compare(a.Link, b.Link))
	})
}

// cutOff returns the ranks of a job that send or receive messages without a path: only the ranks
// without a path for any message, if there are such ranks.
func (m *Model) cutOff(v *view, j *running) (ranks []int) {
	with, without := map[int32]bool{}, map[int32]bool{}
	for _, e := range j.entities {
		for _, i := range m.entities[e].bundles {
			b, of := &m.bundles[i], with
			if len(v.demands[i].Paths) == 0 {
				of = without
			}
			of[b.from], of[b.to] = true, true
		}
	}
	none := slices.ContainsFunc(slices.Collect(maps.Keys(without)), func(c int32) bool {
		return !with[c]
	})
	for r, name := range j.NICs {
		if c := m.nics[m.place[name]].class; without[c] && !(none && with[c]) {
			ranks = append(ranks, r)
		}
	}
	return ranks
}
