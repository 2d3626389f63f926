package ready

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
)

// some is how many names of many a blocker has.
const some = 5

// Kinds of blockers.
const (
	KindFabric = "fabric"
	KindHost   = "host"
	KindNIC    = "nic"
	KindSwitch = "switch"
	KindLink   = "link"
	KindPath   = "path"
	KindLease  = "lease"
	KindGroup  = "group"

	KindMaintenance = "maintenance"
)

// Names of checks.
const (
	checkFabric   = "fabric"
	checkStreams  = "streams of hosts"
	checkHolds    = "profiles applied by hosts"
	checkPorts    = "ports of NICs"
	checkPaths    = "paths of pairs that talk"
	checkLinks    = "links in use"
	checkProbes   = "probes of links"
	checkSwitches = "switches programmed"
	checkGroups   = "groups programmed"
	checkOthers   = "leases and maintenance"
)

// cause is a blocker in the making.
type cause struct {
	kind, object, why, want string
	name                    string // what people call it; "": its object
	state                   State
	since                   time.Time
	// behind it are ranks, in any order and perhaps several times; those of racks; or all.
	ranks    []int32
	racks    map[int32]bool
	all      bool
	also     []string
	alsoMore int
}

// judge collects the causes of one job.
type judge struct {
	f      *Facts
	causes []*cause
	by     map[[2]string]*cause
	checks []api.JobCheck
	// behind has the ranks with a port at a switch; planes those with a port in a plane.
	behind map[string][]int32
	// silent has the cause of racks with a NIC that has no stream: nobody knows its profiles.
	silent map[int32]*cause
}

// Judge returns whether the fabric is ready for a job. before, when not nil, is the last readiness
// of the job: a cause that it has began then, unless the facts know better.
func Judge(name string, f *Facts, before *api.JobReadiness) api.JobReadiness {
	j := &judge{f: f, by: make(map[[2]string]*cause), behind: make(map[string][]int32),
		silent: make(map[int32]*cause)}
	out := api.JobReadiness{Name: name, At: f.At, Blockers: []api.JobBlocker{}}
	j.check(checkFabric, 1, b2i(f.Fabric.Known.State == Good))
	if k := f.Fabric.Known; k.State != Good {
		j.blame(KindFabric, "", k, "an MRC fabric whose topology is in sync").everyone()
	} else {
		j.findBehind()
		j.switches()
		j.nics()
		j.links()
		j.paths()
		out.Left = j.left()
	}
	j.others(checkGroups, j.f.Groups)
	j.others(checkOthers, j.f.Others)
	out.Checks = j.checks
	began := make(map[[2]string]time.Time)
	if before != nil {
		for i := range before.Blockers {
			b := &before.Blockers[i]
			began[[2]string{b.Kind, b.Object}] = b.Since
		}
	}
	for _, c := range j.causes {
		if c.since.IsZero() {
			c.since = f.At
			if at, ok := began[[2]string{c.kind, c.object}]; ok {
				c.since = at
			}
		}
		out.Blockers = append(out.Blockers, j.blocker(c))
	}
	slices.SortStableFunc(out.Blockers, func(a, b api.JobBlocker) int {
		return cmp.Or(cmp.Compare(b.Ranks, a.Ranks), cmp.Compare(a.Kind, b.Kind),
			cmp.Compare(a.Object, b.Object))
	})
	out.Go = len(out.Blockers) == 0
	return out
}

// state returns what is known of the path.
func (p *Path) state() State {
	switch {
	case p.Of == 0:
		return Unknown
	case p.Active < p.Want || p.Active == 0:
		return Bad
	}
	return Good
}

// probe returns what the last probe shows at a time.
func (l *Link) probe(now time.Time) Fact {
	age := now.Sub(l.Probed)
	switch {
	case l.Probed.IsZero():
		return Fact{Why: "no probe has crossed it"}
	case age > ProbeAge:
		return Fact{Since: l.Probed.Add(ProbeAge),
			Why: "its last probe is older than " + ProbeAge.String()}
	case !l.Answered:
		return Fact{State: Bad, Since: l.Probed, Why: "its last probe was lost"}
	}
	return IsGood()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (j *judge) check(name string, of, good int) {
	j.checks = append(j.checks, api.JobCheck{Name: name, Of: of, Good: good})
}

// blame returns the cause with a kind and name and a fact that is not Good. If several facts point
// to the same cause, the first fact gives the reason.
func (j *judge) blame(kind, object string, f Fact, want string) *cause {
	key := [2]string{kind, object}
	c := j.by[key]
	if c == nil {
		c = &cause{kind: kind, object: object, why: cmp.Or(f.Why, "nothing is known of it"), want: want,
			state: f.State, since: f.Since}
		j.by[key] = c
		j.causes = append(j.causes, c)
	}
	return c
}

// explains notes what follows from a cause.
func (c *cause) explains(format string, args ...any) {
	if len(c.also) == some {
		c.alsoMore++
		return
	}
	c.also = append(c.also, fmt.Sprintf(format, args...))
}

func (c *cause) everyone() *cause {
	c.all = true
	return c
}

// findBehind finds the ranks with ports at each switch.
func (j *judge) findBehind() {
	for r := range j.f.Fabric.NICs {
		for i := range j.f.Fabric.NICs[r].Ports {
			leaf := j.f.Fabric.NICs[r].Ports[i].Leaf
			if at := j.behind[leaf]; len(at) == 0 || at[len(at)-1] != int32(r) {
				j.behind[leaf] = append(at, int32(r))
			}
		}
	}
}

// blameSwitch blames a switch for the ranks with ports at the switch, or for all ranks if no rank
// has a port there.
func (j *judge) blameSwitch(name string, f Fact, want string) *cause {
	c := j.blame(KindSwitch, name, f, want)
	ranks := j.behind[name]
	if len(ranks) == 0 {
		return c.everyone()
	}
	c.ranks = append(c.ranks, ranks...)
	return c
}

func (j *judge) switchCause(name string) *cause { return j.by[[2]string{KindSwitch, name}] }

// switches blames the unprogrammed switches that the job depends on.
func (j *judge) switches() {
	used := make(map[string]bool, len(j.behind))
	for name := range j.behind {
		used[name] = true
	}
	for i := range j.f.Fabric.Links {
		used[j.f.Fabric.Links[i].From], used[j.f.Fabric.Links[i].To] = true, true
	}
	of, good := 0, 0
	for name, f := range j.f.Switches {
		if !used[name] {
			continue
		}
		of++
		if f.State == Good {
			good++
		}
	}
	j.check(checkSwitches, of, good)
	if of == good {
		return
	}
	names := make([]string, 0, len(used))
	for name := range used {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if f, ok := j.f.Switches[name]; ok && f.State != Good {
			j.blameSwitch(name, f, "the switch connected, and holding all that it should")
		}
	}
}

// nics blames hosts, NICs and their ports.
func (j *judge) nics() {
	nics := j.f.Fabric.NICs
	streams, holds, ports, up := 0, 0, 0, 0
	ofHost := make(map[string][2]int) // NICs, and those without a stream
	downAt := make(map[string]int)
	for r := range nics {
		n := &nics[r]
		streams += b2i(n.Stream.State == Good)
		holds += b2i(n.Holds.State == Good)
		count := ofHost[j.f.Need.Hosts[r]]
		count[0]++
		count[1] += b2i(n.Stream.State != Good)
		ofHost[j.f.Need.Hosts[r]] = count
		for i := range n.Ports {
			ports++
			if n.Ports[i].Up.State == Good {
				up++
			} else {
				downAt[n.Ports[i].Leaf]++
			}
		}
	}
	j.check(checkStreams, len(nics), streams)
	j.check(checkHolds, len(nics), holds)
	j.check(checkPorts, ports, up)
	if streams == len(nics) && holds == len(nics) && up == ports && ports > 0 {
		return
	}
	// Most hosts do not fail at once: when most seem bad, their common part is the cause.
	most := func(bad int) bool { return bad > some && 2*bad > len(nics) }
	crowd := func(object, what string, bad int, state State, want string) *cause {
		return j.blame(KindFabric, object, Fact{State: state,
			Why: fmt.Sprintf("%d of %d NICs %s", bad, len(nics), what)}, want)
	}
	for r := range nics {
		n := &nics[r]
		var own *cause
		if bad := len(nics) - streams; n.Stream.State != Good && most(bad) {
			own = crowd("hosts", "have no stream to the controller", bad, n.Stream.State,
				"the streams of the hosts")
			own.ranks = append(own.ranks, int32(r))
		} else if bad := len(nics) - holds; n.Holds.State != Good && n.Stream.State == Good && most(bad) {
			own = crowd("profiles", "do not hold all that they were told", bad, n.Holds.State,
				"the hosts to apply it")
			own.ranks = append(own.ranks, int32(r))
		}
		blame := func(f Fact, want string) *cause {
			if own != nil {
				return own
			}
			kind, name := KindNIC, j.f.Need.NICs[r]
			count := ofHost[j.f.Need.Hosts[r]]
			if whole := count[0] > 1 && count[0] == count[1]; whole {
				kind, name = KindHost, j.f.Need.Hosts[r]
				f.Why = fmt.Sprintf("all %d NICs: %s", count[0], f.Why)
			}
			own = j.blame(kind, name, f, want)
			own.ranks = append(own.ranks, int32(r))
			return own
		}
		if n.Stream.State != Good {
			j.silent[j.f.Need.Rack[r]] = blame(n.Stream, "the stream of the host to the controller")
		}
		for i := range n.Ports {
			p := &n.Ports[i]
			if p.Up.State == Good {
				continue
			}
			at := j.switchCause(p.Leaf)
			all := len(j.behind[p.Leaf])
			switch {
			case at != nil:
				at.explains("port %d of NIC %s: %s", p.Number, j.f.Need.NICs[r], why(p.Up))
			case own == nil && all > 1 && downAt[p.Leaf] >= all:
				f := p.Up
				f.Why = fmt.Sprintf("all %d ports of NICs to it: %s", all, why(p.Up))
				j.blameSwitch(p.Leaf, f, "the ports up, and usable")
			default:
				had := own
				c := blame(p.Up, fmt.Sprintf("port %d up, and usable", p.Number))
				if had != nil {
					c.explains("port %d of NIC %s: %s", p.Number, j.f.Need.NICs[r], why(p.Up))
				}
			}
		}
		if len(n.Ports) == 0 {
			blame(Fact{Why: "nothing is known of its ports"},
				"a NIC whose ports lead to switches of the fabric")
		}
		if n.Holds.State != Good {
			had := own
			c := blame(n.Holds, "everything applied that the host was told")
			if had != nil {
				c.explains("NIC %s: %s", j.f.Need.NICs[r], why(n.Holds))
			}
		}
	}
}

func why(f Fact) string { return cmp.Or(f.Why, "nothing is known of it") }

// links blames links, and switches all of whose links are bad.
func (j *judge) links() {
	links := j.f.Fabric.Links
	type count struct{ of, bad int }
	at := make(map[string]count)
	use, probed, dumb := 0, 0, 0
	probes := make([]Fact, len(links))
	for i := range links {
		l := &links[i]
		probes[i] = l.probe(j.f.At)
		use += b2i(l.Use.State == Good)
		probed += b2i(probes[i].State == Good)
		dumb += b2i(probes[i].State == Unknown && l.Use.State == Good)
		for _, end := range [...]string{l.From, l.To} {
			c := at[end]
			c.of++
			c.bad += b2i(l.Use.State != Good)
			at[end] = c
		}
	}
	j.check(checkLinks, len(links), use)
	j.check(checkProbes, len(links), probed)
	if use == len(links) && probed == len(links) {
		return
	}
	// Probes missing everywhere share one cause, and no link gets the blame.
	var silent *cause
	if dumb > 1 && 2*dumb > len(links) || dumb > 0 && j.f.Fabric.Unprobed != "" {
		f := Fact{Why: fmt.Sprintf("no probe of the last %v over %d of %d links", ProbeAge, dumb,
			len(links))}
		if j.f.Fabric.Unprobed != "" {
			f.Why += ": " + j.f.Fabric.Unprobed
		}
		silent = j.blame(KindFabric, "probes", f,
			"probes over every link that the job depends on").everyone()
	}
	for i := range links {
		l := &links[i]
		f, want := l.Use, "the link up, and proven by a probe"
		if f.State == Good {
			if f, want = probes[i], "a probe that is answered"; f.State == Good {
				continue
			}
		}
		from, to := j.switchCause(l.From), j.switchCause(l.To)
		end := cmp.Or(from, to)
		if end == nil && l.Use.State != Good {
			for _, name := range [...]string{l.From, l.To} {
				if c := at[name]; c.of > 2 && c.bad == c.of {
					sum := l.Use
					sum.Why = fmt.Sprintf("all %d links at it that the job depends on: %s", c.of, why(l.Use))
					end = j.blameSwitch(name, sum, "its links up, and proven by probes")
					break
				}
			}
		}
		switch {
		case end != nil:
			end.explains("link %s: %s", l.between(), why(f))
		case silent != nil && l.Use.State == Good && probes[i].State == Unknown:
		default:
			j.blameLink(l, f, want)
		}
	}
}

// blameLink blames both directions of a link: the ranks at its leaf are behind it; without a leaf
// all ranks.
func (j *judge) blameLink(l *Link, f Fact, want string) {
	c := j.blame(KindLink, l.Name, f, want)
	c.name = l.between()
	c.ranks = append(append(c.ranks, j.behind[l.From]...), j.behind[l.To]...)
	c.all = len(c.ranks) == 0
}

// paths blames pairs of racks with too few EVs, where no other cause is in their plane.
func (j *judge) paths() {
	paths := j.f.Fabric.Paths
	good := 0
	bad := make(map[int32][]*Path) // by plane
	for i := range paths {
		p := &paths[i]
		if p.state() == Good {
			good++
			continue
		}
		bad[p.Plane] = append(bad[p.Plane], p)
	}
	j.check(checkPaths, len(paths), good)
	j.unseen()
	if good == len(paths) {
		return
	}
	planes := make([]int32, 0, len(bad))
	for p := range bad {
		planes = append(planes, p)
	}
	slices.Sort(planes)
	down := j.downInPlane()
	for _, plane := range planes {
		list := bad[plane]
		for _, p := range list {
			fact := Fact{State: p.state(), Since: p.Since, Why: cmp.Or(p.Why, fmt.Sprintf(
				"plane %d: %d of %d EVs are left, want %d", plane, p.Active, p.Of, p.Want))}
			what := fmt.Sprintf("%s on plane %d: %s", j.pairName(p.Pair), plane, fact.Why)
			switch c := cmp.Or(j.switchCause(p.From), j.switchCause(p.To), down[leafAt{plane, p.From}],
				down[leafAt{plane, p.To}], down[leafAt{plane, ""}]); {
			case c != nil && p.state() == Bad:
				c.explains("%s", what)
			case len(list) > some:
				fact.Why = fmt.Sprintf("%d pairs of racks have too few EVs, as %s", len(list), what)
				j.blamePair(j.blame(KindPath, fmt.Sprintf("plane %d", plane), fact,
					"as many EVs as a host keeps active, or more"), p.Pair)
			default:
				j.blamePair(j.blame(KindPath, j.pairName(p.Pair), fact,
					"as many EVs as a host keeps active, or more"), p.Pair)
			}
		}
	}
}

// unseen blames pairs without paths, where no host without a stream is why.
func (j *judge) unseen() {
	var pairs []int32
	for i, seen := range j.seen() {
		if seen {
			continue
		}
		if c := j.silent[j.f.Need.Pairs[i][0]]; c != nil {
			c.explains("nothing is known of the paths of %s", j.pairName(int32(i)))
			continue
		}
		pairs = append(pairs, int32(i))
	}
	for _, i := range pairs {
		name, f := j.pairName(i), Fact{Why: "nothing is known of its paths"}
		if len(pairs) > some {
			name = "all"
			f.Why = fmt.Sprintf("nothing is known of the paths of %d pairs of racks", len(pairs))
		}
		j.blamePair(j.blame(KindPath, name, f, "an EV profile from the one to the other"), i)
	}
}

// leafAt is a leaf in a plane; no leaf: the links above.
type leafAt struct {
	plane int32
	leaf  string
}

// downInPlane returns causes that take paths from the leaves of a plane: links at the leaf, and
// links and switches above.
func (j *judge) downInPlane() map[leafAt]*cause {
	out := make(map[leafAt]*cause)
	for i := range j.f.Fabric.Links {
		l := &j.f.Fabric.Links[i]
		if l.Use.State == Good {
			continue
		}
		c := cmp.Or(j.by[[2]string{KindLink, l.Name}], j.switchCause(l.From), j.switchCause(l.To))
		if c == nil {
			continue
		}
		for _, end := range [...]string{l.From, l.To} {
			at := leafAt{l.Plane, end}
			if len(j.behind[end]) == 0 {
				at.leaf = ""
			}
			if out[at] == nil {
				out[at] = c
			}
		}
	}
	return out
}

// seen reports, for each pair of the need, whether the fabric has a path for the pair.
func (j *judge) seen() []bool {
	seen := make([]bool, len(j.f.Need.Pairs))
	for i := range j.f.Fabric.Paths {
		seen[j.f.Fabric.Paths[i].Pair] = true
	}
	return seen
}

func (j *judge) pairName(pair int32) string {
	p := j.f.Need.Pairs[pair]
	return j.f.Need.Racks[p[0]] + ":" + j.f.Need.Racks[p[1]]
}

// blamePair puts the ranks of both racks of a pair behind a cause.
func (j *judge) blamePair(c *cause, pair int32) {
	if c.racks == nil {
		c.racks = make(map[int32]bool)
	}
	p := j.f.Need.Pairs[pair]
	c.racks[p[0]], c.racks[p[1]] = true, true
}

// left returns the smallest share of EVs, from 0 to 1, that a pair of racks has left; nil: the
// share of some pair is unknown.
func (j *judge) left() *float64 {
	type sum struct{ active, of int64 }
	sums := make([]sum, len(j.f.Need.Pairs))
	for i := range j.f.Fabric.Paths {
		p := &j.f.Fabric.Paths[i]
		if p.Of == 0 {
			return nil
		}
		s := &sums[p.Pair]
		s.active, s.of = s.active+int64(p.Active), s.of+int64(p.Of)
	}
	least := 1.0
	for _, s := range sums {
		if s.of == 0 {
			return nil
		}
		least = min(least, float64(s.active)/float64(s.of))
	}
	return &least
}

// others blames objects outside of the fabric, all for one check.
func (j *judge) others(check string, all []Other) {
	good := 0
	for i := range all {
		o := &all[i]
		if o.State == Good {
			good++
			continue
		}
		c := j.blame(o.Kind, o.Object, o.Fact, o.Want)
		if c.all = c.all || o.NICs == nil; c.all {
			continue
		}
		for r := range j.f.Need.NICs {
			if o.NICs(r) {
				c.ranks = append(c.ranks, int32(r))
			}
		}
	}
	if len(all) > 0 {
		j.check(check, len(all), good)
	}
}

// blocker returns a cause as clients have it.
func (j *judge) blocker(c *cause) api.JobBlocker {
	b := api.JobBlocker{Kind: c.kind, Object: c.object, Name: c.name, State: "unknown", Why: c.why,
		Want: c.want, Since: c.since, Also: c.also}
	if c.state == Bad {
		b.State = "bad"
	}
	if c.alsoMore > 0 {
		b.Also[len(b.Also)-1] += fmt.Sprintf(" and %d more", c.alsoMore)
	}
	ranks := c.ranks
	if c.all || c.racks != nil {
		ranks = slices.Clone(ranks)
		for r := range j.f.Need.NICs {
			if c.all || c.racks[j.f.Need.Rack[r]] {
				ranks = append(ranks, int32(r))
			}
		}
	}
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	b.Ranks = len(ranks)
	for _, r := range ranks[:min(some, len(ranks))] {
		b.NICs = append(b.NICs, j.f.Need.NICs[r])
	}
	return b
}

// Summary returns what is in the way in a line, by kind: whoever reads it may not know of the
// network's parts by name.
func Summary(r *api.JobReadiness) string {
	if r.Go {
		return "GO"
	}
	var kinds []string
	count := make(map[string]int)
	for i := range r.Blockers {
		kind := r.Blockers[i].Kind
		if count[kind]++; count[kind] == 1 {
			kinds = append(kinds, kind)
		}
	}
	for i, kind := range kinds {
		switch n := count[kind]; {
		case n == 1:
			kinds[i] = "1 " + kind
		case kind == KindSwitch:
			kinds[i] = fmt.Sprintf("%d switches", n)
		default:
			kinds[i] = fmt.Sprintf("%d %ss", n, kind)
		}
	}
	return "NO-GO: " + strings.Join(kinds, ", ") + " in the way"
}
