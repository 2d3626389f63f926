package mrc

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/job/ready"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/mrc/fabric"
	"github.com/weft-sdn/weft/internal/natural"
	"github.com/weft-sdn/weft/topology"
)

// A Target is an object that clients can drain: exactly one of a link in both
// directions, a node, a plane and a port of a host.
type Target struct {
	Link  topology.LinkID `json:"link,omitempty"`
	Node  topology.NodeID `json:"node,omitempty"`
	Plane int             `json:"plane,omitempty"`
	Host  string          `json:"host,omitempty"` // with Port
	Port  uint8           `json:"port,omitempty"`
}

// String reports what the target is.
func (t Target) String() string {
	switch {
	case t.Link != "":
		return "link " + string(t.Link)
	case t.Node != "":
		return "node " + string(t.Node)
	case t.Plane != 0:
		return fmt.Sprintf("plane %d", t.Plane)
	}
	return fmt.Sprintf("host %s port %d", t.Host, t.Port)
}

// object names the target as the resource that it is.
func (t Target) object() api.EventObject {
	switch {
	case t.Link != "":
		return api.EventObject{Kind: "link", ID: string(t.Link)}
	case t.Node != "":
		return api.EventObject{Kind: "node", ID: string(t.Node)}
	case t.Plane != 0:
		return api.EventObject{Kind: "plane", ID: strconv.Itoa(t.Plane)}
	}
	return api.EventObject{Kind: "host-port", ID: fmt.Sprintf("%s/%d", t.Host, t.Port)}
}

// tell has an event about a drain.
func (ds *drainSet) tell(t Target, message string, state api.EventState) {
	ds.event(api.EventDrainChanged, t.String(), message,
		api.EventFields{Objects: []api.EventObject{t.object()}, State: state})
}

// validate checks that a target is exactly one thing.
func (t Target) validate() error {
	kinds := 0
	for _, set := range [...]bool{t.Link != "", t.Node != "", t.Plane != 0, t.Host != "" ||
		t.Port != 0} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		return fmt.Errorf("target: want one of link, node, plane, and host with port: %w",
			fabric.ErrMalformed)
	}
	return nil
}

// covers reports whether a target includes a link of the fabric.
func (t Target) covers(f *fabric.Fabric, e *fabric.Edge) bool {
	switch {
	case t.Link != "":
		r := f.Reverse(e)
		return e.ID == t.Link || r != nil && r.ID == t.Link
	case t.Node != "":
		return e.Local == t.Node || e.Remote == t.Node
	case t.Plane != 0:
		return f.Clos().LinkPlane(e.ID) == t.Plane
	}
	return false
}

// links checks that a target is in a fabric and returns the places of its links.
func (t Target) links(f *fabric.Fabric) (places []int32, err error) {
	switch {
	case t.Link != "" && f.Snapshot().Link(t.Link) == nil,
		t.Node != "" && f.Snapshot().Node(t.Node) == nil,
		t.Plane < 0 || t.Plane > f.Clos().Planes():
		return nil, fmt.Errorf("%v: %w", t, ErrUnknownTarget)
	}
	for i := range int32(f.Len()) {
		if t.covers(f, f.Edge(i)) {
			places = append(places, i)
		}
	}
	return places, nil
}

// hasPort reports whether a port of a host is attached.
func (h *host) hasPort(n uint8) bool {
	_, ok := h.Port(n)
	return ok
}

// drain is a target that must not be used.
type drain struct {
	Target
	links []int32           // of the fabric
	waits map[string]uint64 // the Set that a host has yet to apply
	plans map[string]uint64 // the plan of probes that a host has yet to follow
	until time.Duration     // when the last packets are gone, after all have applied it
	done  bool
	late  bool // a host or a switch had not applied it
}

// Drained lists the links that switches must leave alone. It is immutable.
type Drained struct {
	// Seq grows with every change; 0: nothing has been drained so far.
	Seq uint64
	// Links are those that must not carry packets, one direction each, in order. They may be gone.
	Links []topology.LinkID
}

// drainSet holds all drains in the order in which they were asked for. It implements
// fabric.Drains.
type drainSet struct {
	*env
	linger   time.Duration
	list     []*drain
	switches bool // whether they are told what is drained

	drained Drained // that of the last [Core.Drained]
	stale   bool    // it is to be made anew
	told    uint64  // Seq of what all switches but those behind do
	behind  []string
}

func (ds *drainSet) index(t Target) int {
	return slices.IndexFunc(ds.list, func(d *drain) bool { return d.Target == t })
}

func (ds *drainSet) add(t Target, links []int32) *drain {
	d := &drain{Target: t, links: links, waits: make(map[string]uint64),
		plans: make(map[string]uint64)}
	ds.list = append(ds.list, d)
	ds.stale = true
	return d
}

// awaitsSwitches reports whether some may go on to use what is drained.
func (ds *drainSet) awaitsSwitches(d *drain) bool {
	return ds.switches && len(d.links) > 0 &&
		(ds.stale || ds.told != ds.drained.Seq || len(ds.behind) > 0)
}

// view describes a drain, with the hosts and switches that it waits for, in order.
func (ds *drainSet) view(d *drain) api.Drain {
	awaits := slices.AppendSeq(slices.Collect(maps.Keys(d.waits)), maps.Keys(d.plans))
	if !d.done && ds.awaitsSwitches(d) {
		awaits = append(awaits, ds.behind...)
	}
	slices.SortFunc(awaits, natural.Compare)
	return api.Drain{Target: d.String(), Drained: d.done, Awaits: slices.Compact(awaits)}
}

func (ds *drainSet) remove(i int) *drain {
	d := ds.list[i]
	ds.list = slices.Delete(ds.list, i, i+1)
	ds.stale = true
	return d
}

// Link, Node and Port report whether a drain covers one.
func (ds *drainSet) Link(e *fabric.Edge) bool {
	f := ds.state.Fabric()
	return slices.ContainsFunc(ds.list, func(d *drain) bool { return d.covers(f, e) })
}

// Node implements fabric.Drains.
func (ds *drainSet) Node(id topology.NodeID) bool {
	return slices.ContainsFunc(ds.list, func(d *drain) bool { return d.Node == id })
}

// Port implements fabric.Drains.
func (ds *drainSet) Port(host string, port uint8) bool {
	return slices.ContainsFunc(ds.list,
		func(d *drain) bool { return d.Host == host && d.Port == port })
}

// Planes implements fabric.Drains.
func (ds *drainSet) Planes() (out []int) {
	for _, d := range ds.list {
		if d.Plane > 0 {
			out = append(out, d.Plane)
		}
	}
	return out
}

// awaitsHosts reports whether hosts may go on to use a drain's target.
func (d *drain) awaitsHosts() bool { return len(d.waits)+len(d.plans) > 0 }

// why returns what a drain waits for.
func (ds *drainSet) why(d *drain) string {
	switch {
	case len(d.waits) > 0:
		return fmt.Sprintf("%d hosts have not applied it yet", len(d.waits))
	case len(d.plans) > 0:
		return fmt.Sprintf("%d hosts may still probe it", len(d.plans))
	case ds.awaitsSwitches(d):
		return fmt.Sprintf("%d switches have not applied it yet", max(len(ds.behind), 1))
	}
	return "its last packets are on their way"
}

// startLinger starts the time in which the last packets leave.
func (ds *drainSet) startLinger(d *drain) { d.until = ds.now + ds.linger }

// forget has no drain wait for a host.
func (ds *drainSet) forget(host string) {
	for _, d := range ds.list {
		delete(d.waits, host)
		delete(d.plans, host)
	}
}

// run finds drains that are over. applied returns the Set that a host has applied, and the plan of
// probes that the host follows.
func (ds *drainSet) run(applied func(host string) (seq, plan uint64)) {
	for _, d := range ds.list {
		if d.done {
			continue
		}
		for name, seq := range d.waits {
			if is, _ := applied(name); is >= seq {
				delete(d.waits, name)
			}
		}
		for name, plan := range d.plans {
			if _, is := applied(name); is >= plan {
				delete(d.plans, name)
			}
		}
		if d.awaitsHosts() || ds.awaitsSwitches(d) {
			d.late = true
			continue
		}
		if d.late {
			d.late = false
			ds.startLinger(d)
		}
		if ds.now >= d.until {
			d.done = true
			ds.tell(d.Target, "drained", api.StateDrained)
		}
	}
}

// next lowers a time to the end of a drain.
func (ds *drainSet) next(at time.Duration) time.Duration {
	for _, d := range ds.list {
		if !d.awaitsHosts() && !d.done && !ds.awaitsSwitches(d) {
			at = min(at, d.until)
		}
	}
	return at
}

// views describes the drains of a kind.
func (ds *drainSet) views(of func(*drain) bool) (out []api.Drain) {
	for _, d := range ds.list {
		if of(d) {
			out = append(out, ds.view(d))
		}
	}
	return out
}

// Drains returns the drains in the order of their requests.
func (c *Core) Drains() []api.Drain { return c.drains.views(func(*drain) bool { return true }) }

// Drained returns what switches should leave alone.
func (c *Core) Drained() Drained {
	ds, f := c.drains, c.state.Fabric()
	if !ds.stale || f == nil {
		return ds.drained
	}
	ds.stale = false
	var links []topology.LinkID
	for _, d := range ds.list {
		for _, i := range d.links {
			links = append(links, f.Edge(i).ID)
		}
	}
	slices.Sort(links)
	if links = slices.Compact(links); !slices.Equal(links, ds.drained.Links) {
		ds.drained = Drained{ds.drained.Seq + 1, links}
	}
	return ds.drained
}

// Behind records which switches have not yet applied the links that [Core.Drained] returned under a
// Seq. Switches were sent this Seq, and no older message is under way to them.
func (c *Core) Behind(seq uint64, switches []string) {
	c.drains.told, c.drains.behind = seq, switches
	c.runDrains()
}

// find checks that a target is known and returns its links.
func (c *Core) find(t Target) ([]int32, error) {
	if err := t.validate(); err != nil {
		return nil, err
	}
	if t.Host != "" || t.Port != 0 {
		if h := c.hosts.byName[t.Host]; h == nil || !h.hasPort(t.Port) {
			return nil, fmt.Errorf("%v: %w", t, ErrUnknownTarget)
		}
		return nil, nil
	}
	f := c.state.Fabric()
	if f == nil {
		return nil, fmt.Errorf("%v: the topology is not in sync: %w", t, ErrUnknownTarget)
	}
	return t.links(f)
}

// Drain takes a target out of use. It fails with [ErrLastPath] when the drain would cut off hosts
// that can reach each other now. The target is drained when hosts may not use it any more; see
// [Core.Drains].
func (c *Core) Drain(t Target) error {
	if _, err := c.checkDrain(t); err != nil {
		return err
	}
	c.setDrained(t, true)
	return nil
}

// setDrained is Drain and Undrain of a target that was accepted: nothing is refused any more.
func (c *Core) setDrained(t Target, drained bool) {
	c.settle()
	i := c.drains.index(t)
	if !drained {
		if i >= 0 {
			d := c.drains.remove(i)
			c.drains.tell(t, "in use", api.StateUsed)
			c.applyDrain(d)
			c.prover.Return()
		}
		return
	}
	if i >= 0 {
		return
	}
	places, _ := c.find(t) // none of a target that has gone
	d := c.drains.add(t, places)
	c.drains.tell(t, "draining", api.StateDraining)
	c.applyDrain(d)
	c.settle()
	if c.state.Fabric() != nil {
		c.prover.Leave()
	}
	c.awaitAll(d)
	c.runDrains()
}

// checkDrain returns the links that a drain of a target covers, or why the drain is refused.
func (c *Core) checkDrain(t Target) ([]int32, error) {
	c.settle()
	places, err := c.find(t)
	if err != nil || c.state.Fabric() == nil || c.drains.index(t) >= 0 {
		return places, err
	}
	return places, c.leavesAPath(t, places)
}

// awaitAll has a drain wait for all hosts that have yet to apply their last Set, and for hosts that
// may probe the drained object.
func (c *Core) awaitAll(d *drain) {
	for name, h := range c.hosts.byName {
		if seq, ok := h.behind(); ok {
			d.waits[name] = seq
		}
		if c.state.Fabric() == nil {
			continue
		}
		if number, ok := c.prover.StillProbes(h.Host); ok {
			d.plans[name] = number
		}
	}
	c.drains.startLinger(d)
}

// ResumeDrain takes over what an earlier core had drained. Call ResumeDrain before InSync; the
// target may still be unknown. The drain holds from the first state on, and ResumeDrain refuses
// nothing.
func (c *Core) ResumeDrain(t Target) {
	c.drains.add(t, nil)
	c.state.PortDrained(t.Host, t.Port)
}

// Undrain lets a target be used again. Its links come back when a probe has come
// through.
func (c *Core) Undrain(t Target) error {
	if c.drains.index(t) < 0 {
		_, err := c.find(t)
		return err
	}
	c.setDrained(t, false)
	return nil
}

// applyDrain looks at what a target covers after it was drained or undrained.
func (c *Core) applyDrain(d *drain) {
	c.state.LinksDrained(d.links)
	switch {
	case d.Host != "":
		c.state.PortDrained(d.Host, d.Port)
	case d.Node != "":
		c.state.NodeDrained(d.Node)
	case d.Plane != 0:
		c.state.PlaneDrained()
	}
}

// lossesOf returns the losses of the network without a target, whose links have these places.
func (c *Core) lossesOf(t Target, places []int32) (lost topology.Losses) {
	for _, i := range places {
		lost.Directed = append(lost.Directed, c.state.Fabric().Edge(i).ID)
	}
	if t.Node != "" {
		lost.Nodes = append(lost.Nodes, t.Node)
	}
	if t.Plane != 0 {
		lost.Planes = append(lost.Planes, t.Plane)
	}
	return lost
}

// leavesAPath checks that all hosts that can reach each other still can without a
// target.
func (c *Core) leavesAPath(t Target, places []int32) error {
	before, after := c.state.Denial(), c.state.Denial(c.lossesOf(t, places))
	var without func(*fabric.Attached) hostapi.PortMask
	var at *fabric.Rack // whose paths alone are concerned; nil: all
	if t.Host != "" {
		at = c.hosts.byName[t.Host].Rack()
		without = func(h *fabric.Attached) hostapi.PortMask {
			if h.Name == t.Host {
				return h.Usable() &^ hostapi.Ports(int(t.Port))
			}
			return h.Usable()
		}
	}
	for _, p := range c.profiles.all {
		if at != nil && p.from.rack != at && p.to != at {
			continue
		}
		if a, b := p.severed(before, after, without); a != nil {
			return fmt.Errorf("%v: the last path from host %s (%s) to host %s (%s): %w", t, a.Name,
				a.Rack().Name(), b.Name, b.Rack().Name(), ErrLastPath)
		}
	}
	return nil
}

// runDrains finds drains that are over.
func (c *Core) runDrains() {
	if c.state.Fabric() == nil {
		return
	}
	c.drains.run(func(name string) (seq, plan uint64) {
		h := c.hosts.byName[name]
		return h.applied, c.prover.Follows(h.Host)
	})
}

// canonical returns the one target that stands for a link in both directions.
func (c *Core) canonical(t Target) Target { return t.canonical(c.state.Fabric()) }

// canonical is [Core.canonical] in a fabric, which may be nil.
func (t Target) canonical(f *fabric.Fabric) Target {
	if f == nil {
		return t
	}
	if i, ok := f.Place(t.Link); ok {
		if r := f.Reverse(f.Edge(i)); r != nil {
			t.Link = min(t.Link, r.ID)
		}
	}
	return t
}

// TargetOf returns the drain target of a part. A switch may be given by its displayed name. For a
// link, the target is the one direction that stands for both.
func (c *Core) TargetOf(p api.Part) Target { return targetOf(c.state.Fabric(), p) }

func targetOf(f *fabric.Fabric, p api.Part) (t Target) {
	switch p.Kind {
	case api.PartLink:
		t.Link = topology.LinkID(p.Name)
	case api.PartSwitch:
		t.Node = topology.NodeID(p.Name)
	case api.PartPlane:
		t.Plane = planeOf(p.Name)
	default:
		t = portTarget(p.Name)
	}
	if f == nil {
		return t
	}
	if t.Node != "" && f.Snapshot().Node(t.Node) == nil {
		for _, n := range f.Snapshot().Nodes {
			if n.DisplayName() == p.Name {
				t.Node = n.ID
			}
		}
	}
	return t.canonical(f)
}

// losses implements [fabricview.Losses] for a fabric and the attachments of its hosts.
type losses struct {
	fabric *fabric.Fabric
	at     map[string]ev.Attachment

	mu    sync.Mutex
	known map[lossOf]ready.Impact
}

// lossOf is what a need loses without parts, which are in words.
type lossOf struct {
	need  *ready.Need
	parts string
}

// mostLosses bounds the answers that are kept.
const mostLosses = 1024

// unlosable returns why it is not known what jobs lose; "": it is.
func (c *Core) unlosable() string {
	switch {
	case !c.state.Synced():
		return "the topology is not in sync"
	case c.state.Fabric() == nil:
		return "no fabric was found yet"
	}
	return ""
}

// Unknown implements [fabricview.Losses].
func (l *losses) Unknown(p api.Part) string {
	t := targetOf(l.fabric, p)
	err := t.validate()
	if err == nil && t.Host != "" {
		if at := l.at[t.Host]; t.Port == 0 || int(t.Port) > len(at) || at[t.Port-1] == "" {
			err = fmt.Errorf("%v: %w", t, ErrUnknownTarget)
		}
	} else if err == nil {
		_, err = t.links(l.fabric)
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// Links implements [fabricview.Losses].
func (l *losses) Links(p api.Part) (ids []topology.LinkID, node topology.NodeID) {
	t := targetOf(l.fabric, p)
	places, _ := t.links(l.fabric)
	for _, place := range places {
		ids = append(ids, l.fabric.Edge(place).ID)
	}
	return ids, t.Node
}

// attachments returns the attachments of the racks of a need: for each rack the attachment of its
// first attached NIC.
func (l *losses) attachments(need *ready.Need) []ev.Attachment {
	at := make([]ev.Attachment, len(need.Racks))
	left := len(at)
	for i, k := range need.Rack {
		if of, ok := l.at[need.NICs[i]]; at[k] == nil && ok {
			at[k] = of
			if left--; left == 0 {
				break
			}
		}
	}
	return at
}

// Of implements [fabricview.Losses]. An answer is found once.
func (l *losses) Of(parts []api.Part, need *ready.Need) ready.Impact {
	key := lossOf{need, fmt.Sprint(parts)}
	l.mu.Lock()
	out, ok := l.known[key]
	l.mu.Unlock()
	if ok {
		return out
	}
	out = l.find(parts, need)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil || len(l.known) >= mostLosses {
		l.known = make(map[lossOf]ready.Impact)
	}
	l.known[key] = out
	return out
}

func (l *losses) find(parts []api.Part, need *ready.Need) (out ready.Impact) {
	var without topology.Losses
	ports := make(map[string]hostapi.PortMask) // of hosts
	for _, p := range parts {
		t := targetOf(l.fabric, p)
		switch {
		case t.Host != "":
			ports[t.Host] |= hostapi.Ports(int(t.Port))
			continue
		case t.Node != "":
			without.Nodes = append(without.Nodes, t.Node)
		case t.Plane != 0:
			without.Planes = append(without.Planes, t.Plane)
		}
		places, _ := t.links(l.fabric)
		for _, place := range places {
			without.Directed = append(without.Directed, l.fabric.Edge(place).ID)
		}
	}
	lost, racks := l.fabric.Clos().Lost(without), l.attachments(need)
	for n, pair := range need.Pairs {
		from, to := racks[pair[0]], racks[pair[1]]
		p := ready.PairImpact{Pair: int32(n)}
		for port := range min(len(from), len(to)) {
			set, ok := l.fabric.PathSet(from, to, uint8(port+1))
			if !ok {
				continue
			}
			p.Before += int32(set.Len())
			if !lost.Touches(set) {
				p.After += int32(set.Len())
				continue
			}
			for ref := range set.All() {
				if !lost.Path(set, ref) {
					p.After++
				}
			}
		}
		if p.After < p.Before {
			out.Pairs = append(out.Pairs, p)
		}
	}
	for r, k := range need.Rack {
		at := racks[k]
		left := at.Ports()
		for p, leaf := range at {
			number := p + 1
			if leaf != "" && (ports[need.NICs[r]].Has(number) || slices.Contains(without.Nodes, leaf) ||
				slices.Contains(without.Planes, l.fabric.PlaneOf(leaf, uint8(number)))) {
				left--
			}
		}
		if left == 0 && at.Ports() > 0 {
			out.CutOff = append(out.CutOff, int32(r))
		}
	}
	return out
}
