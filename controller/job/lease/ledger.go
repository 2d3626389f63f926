package lease

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weft-sdn/weft/topology"
)

// The errors of calls that name a lease.
var (
	ErrUnknown = errors.New("there is no such lease")
	ErrExists  = errors.New("there is another lease of this name")
)

// Change is an event in the life of a lease.
type Change struct {
	Name   string
	What   Happening
	Reason string // why it ended, moves or is broken
}

// Happening is a kind of change.
type Happening string

// The kinds of changes.
const (
	Expired  Happening = "expired"
	Moves    Happening = "moves"    // to paths that are reserved; the client has to follow
	Breaks   Happening = "breaks"   // it holds nothing any more
	Restored Happening = "restored" // it was broken, and has paths again
)

// account holds the shares that leases have of a link.
type account struct {
	Link
	held      map[*Lease]uint64
	reserved  uint64
	exclusive int // leases
	// end reports that the account belongs to an end of paths that is down, and to no link; nobody
	// holds it.
	end bool
}

// Ledger has all leases and links. Its zero value is of no use; see [New].
type Ledger struct {
	paths   func(from, to string) []Path
	links   map[topology.LinkID]*account
	leases  map[string]*Lease
	number  uint64
	changes []Change
	// Spares reports which links an exclusive lease must not have among the links of paths, and the
	// running job that needs these links; nil: the lease may have any link. taken reports whether
	// leases hold a link exclusively, not counting leases for the job.
	Spares func(l *Lease, paths [][]Path, taken func(id topology.LinkID, job string) bool) (
		links []topology.LinkID, job string)
	// Name names a link, or an end of paths, in reasons for people; nil: as "link ID".
	Name func(topology.LinkID) string
	// Keeps reports whether a lease must keep paths after another lease has taken links from it; nil:
	// no lease must.
	Keeps func(of, taker *Lease) bool
}

// New returns an empty ledger. paths returns the candidate paths between two endpoints, the best
// one first, at the time that it is asked.
func New(paths func(from, to string) []Path) *Ledger {
	return &Ledger{paths: paths, links: make(map[topology.LinkID]*account),
		leases: make(map[string]*Lease)}
}

// SetLinks replaces the links. [Ledger.Settle] acts on it.
func (d *Ledger) SetLinks(links map[topology.LinkID]Link) {
	for id, a := range d.links {
		if a.end {
			continue
		}
		a.Link = links[id]
		if _, there := links[id]; !there && len(a.held) == 0 {
			delete(d.links, id)
		}
	}
	for id, link := range links {
		d.account(id).Link = link
	}
}

// SetEnds sets which ends of paths are down; the others are up.
func (d *Ledger) SetEnds(down map[topology.LinkID]bool) {
	for id, a := range d.links {
		if a.end && !down[id] {
			delete(d.links, id)
		}
	}
	for id := range down {
		d.account(id).end = true
	}
}

func (d *Ledger) name(id topology.LinkID) string {
	if d.Name == nil {
		return "link " + string(id)
	}
	return d.Name(id)
}

// SetLink sets one link; see [Ledger.SetLinks].
func (d *Ledger) SetLink(id topology.LinkID, link Link) { d.account(id).Link = link }

func (d *Ledger) account(id topology.LinkID) *account {
	a := d.links[id]
	if a == nil {
		a = &account{held: make(map[*Lease]uint64)}
		d.links[id] = a
	}
	return a
}

// Restore puts leases back, as a ledger before had them.
func (d *Ledger) Restore(leases []Lease) {
	for i := range leases {
		l := leases[i].clone()
		d.leases[l.Name] = &l
		d.number = max(d.number, l.Number)
		if l.Phase != Broken {
			d.book(&l, l.Paths, l.Former)
		}
	}
}

// Request grants a lease. Its error is an [api.FieldError], [ErrExists] or a [*Refusal]. The same
// request again returns the lease that it got.
func (d *Ledger) Request(now time.Time, r Request) (Lease, error) {
	if err := r.validate(); err != nil {
		return Lease{}, err
	}
	d.settle(now)
	if l := d.leases[r.Name]; l != nil {
		if l.equal(&r) {
			return l.clone(), nil
		}
		return Lease{}, fmt.Errorf("lease %q: %w", r.Name, ErrExists)
	}
	r.Pairs = slices.Clone(r.Pairs)
	l := &Lease{Request: r, Granted: now, Beat: now, Phase: Active}
	if r.Duration > 0 {
		l.Until = now.Add(r.Duration)
	}
	l.Number = d.number + 1
	chosen, why := d.choose(l, nil)
	if taken, beyond := d.preempt(l, why); taken || beyond != nil {
		why = beyond
	} else if why == nil {
		if why = l.beyond(chosen); why == nil {
			l.Paths = chosen
			d.book(l, chosen, nil)
		}
	}
	if why != nil {
		return Lease{}, why
	}
	l.MostLinks = 0 // of the grant
	d.number++
	d.leases[r.Name] = l
	return l.clone(), nil
}

// For sets the job of a lease.
func (d *Ledger) For(name, job string) {
	if l := d.leases[name]; l != nil {
		l.Job = job
	}
}

// Amend sets when a lease ends: this duration after now, and after this time without a sign of
// life; 0 is never. Amend is a sign of life.
func (d *Ledger) Amend(now time.Time, name string, duration, heartbeat time.Duration) error {
	if err := d.Renew(now, name, 0); err != nil {
		return err
	}
	l := d.leases[name]
	if l.Heartbeat = heartbeat; l.Duration == duration {
		return nil
	}
	if l.Duration, l.Until = duration, (time.Time{}); duration > 0 {
		l.Until = now.Add(duration)
	}
	return nil
}

// Renew notes a sign of life. A duration above 0 makes the lease end this long after now.
func (d *Ledger) Renew(now time.Time, name string, duration time.Duration) error {
	l := d.leases[name]
	if l == nil {
		return fmt.Errorf("lease %q: %w", name, ErrUnknown)
	}
	if why, over := l.over(now); over { // others may have been told that its links are free
		return fmt.Errorf("lease %q: %w: %s", name, ErrUnknown, why)
	}
	l.Beat = now
	if duration > 0 {
		l.Duration, l.Until = duration, now.Add(duration)
	}
	return nil
}

// Moved notes that the client has followed to the paths of its lease: the former ones are free.
func (d *Ledger) Moved(name string) error {
	l := d.leases[name]
	if l == nil {
		return fmt.Errorf("lease %q: %w", name, ErrUnknown)
	}
	if l.Phase == Moving {
		l.Phase, l.Former, l.Taken = Active, nil, nil
		d.book(l, l.Paths, nil)
	}
	return nil
}

// Complete ends a lease at its client's wish.
func (d *Ledger) Complete(name string) error {
	l := d.leases[name]
	if l == nil {
		return fmt.Errorf("lease %q: %w", name, ErrUnknown)
	}
	d.remove(l)
	return nil
}

func (d *Ledger) remove(l *Lease) {
	d.book(l, nil, nil)
	delete(d.leases, l.Name)
}

// Next returns the time at which the next lease ends by itself, when Settle must be called. It
// returns false when no lease ends by itself.
func (d *Ledger) Next() (time.Time, bool) {
	var next time.Time
	for _, l := range d.leases {
		if end := l.ends(); !end.IsZero() && (next.IsZero() || end.Before(next)) {
			next = end
		}
	}
	return next, !next.IsZero()
}

// Settle ends leases whose time is over, moves leases with a lost path, retries broken leases, and
// returns the changes since the last call. Leases of the highest priority come first, and take
// links from leases of lower priority where there is no room.
func (d *Ledger) Settle(now time.Time) []Change {
	d.settle(now)
	changes := d.changes
	d.changes = nil
	return changes
}

// Expire removes the leases that have ended, and returns the changes. Unlike Settle, it may be
// called before the ledger has its links.
func (d *Ledger) Expire(now time.Time) []Change {
	for _, l := range d.inOrder() {
		if why, over := l.over(now); over {
			d.remove(l)
			d.changes = append(d.changes, Change{l.Name, Expired, why})
		}
	}
	changes := d.changes
	d.changes = nil
	return changes
}

// Relabel gives the paths of all leases the current EVs of the candidates.
func (d *Ledger) Relabel() {
	for _, l := range d.leases {
		for _, paths := range [][][]Path{l.Paths, l.Former} {
			for i := range paths {
				pair := slices.Clone(paths[i])
				paths[i] = pair
				for _, now := range d.paths(l.Pairs[i].From, l.Pairs[i].To) {
					for j := range pair {
						if pair[j].equal(&now) {
							pair[j].EV, pair[j].Ends = now.EV, now.Ends
						}
					}
				}
			}
		}
	}
}

func (d *Ledger) settle(now time.Time) {
	d.changes = d.Expire(now)
	all := d.inOrder()
	slices.SortStableFunc(all, func(a, b *Lease) int { return b.Priority - a.Priority })
	lost := d.lost()
	var hit []*Lease
	if len(lost) > 0 {
		// Every lease gives up its lost paths before any lease looks for new paths, to make room. On a
		// link that has shrunk, the earliest leases of the highest priority keep their part.
		for _, l := range all {
			if l.Phase == Broken {
				continue
			}
			if firstLost(l.Paths, lost) != "" {
				hit = append(hit, l)
			}
			l.Former = working(l.Former, lost)
			d.book(l, working(l.Paths, lost), l.Former)
		}
	}
	for _, l := range hit {
		if l.Phase != Broken { // another lease has not taken its links since
			d.move(l, lost, true)
		}
	}
	for _, l := range all {
		if l.Phase != Broken {
			continue
		}
		chosen, refusal := d.choose(l, nil)
		if refusal == nil {
			l.Paths = chosen
			d.book(l, chosen, nil)
		} else if taken, _ := d.preempt(l, refusal); !taken {
			continue
		}
		l.Phase, l.Reason, l.Taken = Active, "", nil
		d.changes = append(d.changes, Change{l.Name, Restored, ""})
	}
}

// move gives new paths to a lease that has lost a path. Where takes is true, the lease may take
// links from leases of lower priority.
func (d *Ledger) move(l *Lease, lost map[topology.LinkID]string, takes bool) {
	why := firstLost(l.Paths, lost)
	chosen, refusal := d.choose(l, nil)
	if refusal != nil && takes {
		if l.Phase == Active {
			l.Former = working(l.Paths, lost)
		}
		if taken, _ := d.preempt(l, refusal); taken {
			l.Phase = Moving
			d.changes = append(d.changes, Change{l.Name, Moves, why})
			return
		}
	}
	switch {
	case refusal != nil:
		l.Phase, l.Former, l.Reason = Broken, nil, why+"; "+refusal.Error()
		d.book(l, nil, nil)
		d.changes = append(d.changes, Change{l.Name, Breaks, l.Reason})
		return
	case same(chosen, l.Paths): // it keeps its part of a link that has shrunk
		d.book(l, l.Paths, l.Former)
		return
	case l.Phase == Active:
		l.Former = working(l.Paths, lost)
	}
	l.Phase, l.Paths = Moving, chosen
	d.book(l, l.Paths, l.Former)
	d.changes = append(d.changes, Change{l.Name, Moves, why})
}

// book sets the bandwidth that a lease holds. On every link a lease holds the greater need of its
// paths and its former paths, since a packet takes either the new or the former path.
func (d *Ledger) book(l *Lease, paths, former [][]Path) {
	for id, n := range l.held {
		a := d.links[id]
		a.reserved -= n
		if l.Sharing == Exclusive {
			a.exclusive--
		}
		delete(a.held, l)
	}
	l.held = demand(paths, l.Bandwidth)
	for id, n := range demand(former, l.Bandwidth) {
		l.held[id] = max(l.held[id], n)
	}
	for id, n := range l.held {
		a := d.account(id)
		a.reserved += n
		if l.Sharing == Exclusive {
			a.exclusive++
		}
		a.held[l] = n
	}
}

// demand returns what paths need of each link.
func demand(paths [][]Path, bandwidth uint64) map[topology.LinkID]uint64 {
	out := make(map[topology.LinkID]uint64)
	for _, pair := range paths {
		for i := range pair {
			for _, link := range pair[i].Links {
				out[link] += bandwidth
			}
		}
	}
	return out
}

// lost returns the links that leases cannot stay on, with the reasons.
func (d *Ledger) lost() map[topology.LinkID]string {
	out := make(map[topology.LinkID]string)
	for id, a := range d.links {
		switch {
		case !a.Up && (len(a.held) > 0 || a.end):
			out[id] = d.name(id) + " is down"
		case len(a.held) > 0 && a.reserved > a.Capacity:
			out[id] = d.name(id) + " has no longer the capacity"
		}
	}
	return out
}

// working returns the paths without those that cross a lost link.
func working(paths [][]Path, lost map[topology.LinkID]string) [][]Path {
	out := make([][]Path, len(paths))
	for i := range paths {
		for _, p := range paths[i] {
			if firstLost([][]Path{{p}}, lost) == "" {
				out[i] = append(out[i], p)
			}
		}
	}
	return out
}

// firstLost returns why the first lost link of paths is lost; "": none is.
func firstLost(paths [][]Path, lost map[topology.LinkID]string) string {
	for _, pair := range paths {
		for i := range pair {
			for _, links := range [][]topology.LinkID{pair[i].Links, pair[i].Ends} {
				for _, link := range links {
					if why := lost[link]; why != "" {
						return why
					}
				}
			}
		}
	}
	return ""
}

func same(a, b [][]Path) bool {
	return slices.EqualFunc(a, b, func(p, q []Path) bool {
		return slices.EqualFunc(p, q, func(x, y Path) bool { return x.equal(&y) })
	})
}

// inOrder returns the leases, the earliest grant first.
func (d *Ledger) inOrder() []*Lease {
	return slices.SortedFunc(maps.Values(d.leases), func(a, b *Lease) int {
		return cmp.Compare(a.Number, b.Number)
	})
}

// Lease returns a lease by its name.
func (d *Ledger) Lease(name string) (Lease, bool) {
	if l := d.leases[name]; l != nil {
		return l.clone(), true
	}
	return Lease{}, false
}

// Leases returns all leases, the earliest grant first.
func (d *Ledger) Leases() []Lease {
	var out []Lease
	for _, l := range d.inOrder() {
		out = append(out, l.clone())
	}
	return out
}

// Holding lists the shares that leases have of a link.
type Holding struct {
	Link
	Reserved  uint64 // bits per second
	Exclusive bool
	Holders   []string // the earliest grant first
}

// Holding returns the shares that leases have of a link; none of an unknown link.
func (d *Ledger) Holding(id topology.LinkID) Holding {
	a := d.links[id]
	if a == nil {
		return Holding{}
	}
	out := Holding{Link: a.Link, Reserved: a.reserved, Exclusive: a.exclusive > 0}
	for _, l := range a.inOrder() {
		out.Holders = append(out.Holders, l.Name)
	}
	return out
}

// inOrder returns the holders of a link, the earliest grant first.
func (a *account) inOrder() []*Lease {
	return slices.SortedFunc(maps.Keys(a.held), func(x, y *Lease) int {
		return cmp.Compare(x.Number, y.Number)
	})
}
