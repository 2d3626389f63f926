package linear

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// violation is a rule that a history breaks.
type violation struct {
	Rule string `json:"rule"`
	Text string `json:"text"`
	// key is the resource whose operations are not linearizable.
	key string
}

// The rules.
const (
	ruleLinear    = "operations on a resource are linearizable"
	ruleUndecided = "porcupine judges in time"
	ruleVersion   = "a version is given once"
	rulePhantom   = "what is seen was written"
	ruleRefused   = "what was refused has no effect"
	ruleFuture    = "nothing is seen before it is written"
	ruleSnapshot  = "a list is one state"
	ruleStale     = "stale reads of one controller do not go back"
	ruleOrder     = "a watch shows changes in their order"
	ruleLost      = "a watch loses nothing without saying so"
)

// judgement is how long porcupine may take for one resource.
const judgement = time.Minute

// check returns the rules that a history breaks, with what breaks them.
func check(h *history) []violation {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := checker{seen: make(map[uint32]evidence), versions: make(map[uint64]evidence),
		written: make(map[uint32]*operation)}
	for i := range h.operations {
		if o := &h.operations[i]; o.writes() {
			c.written[o.Content] = o
		}
	}
	c.sightings(h)
	ops, keys := byKey(h.operations)
	for _, key := range keys {
		c.linear(key, ops[key])
	}
	c.snapshots(h.operations)
	c.stale(h.operations)
	for _, w := range h.watches {
		c.watch(w, ops)
	}
	return c.found
}

type checker struct {
	found    []violation
	seen     map[uint32]evidence   // by content, the first
	versions map[uint64]evidence   // by version, the first
	written  map[uint32]*operation // by content
}

func (c *checker) fail(rule, format string, args ...any) {
	c.found = append(c.found, violation{Rule: rule, Text: fmt.Sprintf(format, args...)})
}

// sightings gathers what was seen of contents and versions.
func (c *checker) sightings(h *history) {
	var all []evidence
	for i := range h.operations {
		if o := &h.operations[i]; o.Outcome == done && o.Version != 0 {
			all = append(all, evidence{o.Key, o.Version, o.Value, o.Return, o.String()})
		}
	}
	for _, w := range h.watches {
		for _, s := range w.Sights {
			if s.Version != 0 {
				all = append(all, evidence{s.Key, s.Version, s.Value, s.At, fmt.Sprintf("event %s at %s at %v",
					s.ID, w.Node, s.At.Round(time.Microsecond))})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b evidence) int { return cmp.Compare(a.at, b.at) })
	for _, e := range all {
		first, again := c.seen[e.content]
		if !again {
			c.seen[e.content] = e
			c.origin(e)
		} else if first.version != e.version || first.key != e.key {
			c.fail(ruleVersion, "%s has content %d at version %d, and %s at version %d: by %s; %s",
				first.key, e.content, first.version, e.key, e.version, first.by, e.by)
		}
		if first, again := c.versions[e.version]; !again {
			c.versions[e.version] = e
		} else if first.content != e.content || first.key != e.key {
			c.fail(ruleVersion, "version %d is content %d of %s and content %d of %s: by %s; %s",
				e.version, first.content, first.key, e.content, e.key, first.by, e.by)
		}
	}
}

// origin checks where a content comes from that was seen for the first time.
func (c *checker) origin(e evidence) {
	switch o := c.written[e.content]; {
	case o == nil || o.Key != e.key:
		c.fail(rulePhantom, "%s has content %d, which nobody wrote: by %s", e.key, e.content, e.by)
	case o.Outcome != done && o.Outcome != unknown:
		c.fail(ruleRefused, "%v was kept: by %s", o, e.by)
	case e.at < o.Call:
		c.fail(ruleFuture, "%v was seen before: by %s", o, e.by)
	}
}

// linear has porcupine judge the operations on one resource.
func (c *checker) linear(key string, ops []operation) {
	switch porcupine.CheckOperationsTimeout(model(), steps(ops, c.seen), judgement) {
	case porcupine.Illegal:
		c.found = append(c.found, violation{ruleLinear,
			fmt.Sprintf("%s: %d operations are not linearizable", key, len(ops)), key})
	case porcupine.Unknown:
		c.found = append(c.found, violation{ruleUndecided,
			fmt.Sprintf("%s: %d operations are not judged after %v", key, len(ops), judgement), key})
	}
}

// snapshots checks that a list with some version shows no resource in a state from before an
// earlier version: versions grow over all resources.
func (c *checker) snapshots(ops []operation) {
	given := make(map[string][]uint64) // the versions of a resource
	for v, e := range c.versions {
		given[e.key] = append(given[e.key], v)
	}
	for _, all := range given {
		slices.Sort(all)
	}
	lists := make(map[int][]*operation)
	for i := range ops {
		if o := &ops[i]; o.List != 0 && o.Outcome == done {
			lists[o.List] = append(lists[o.List], o)
		}
	}
	for _, list := range lists {
		newest := slices.MaxFunc(list, func(a, b *operation) int {
			return cmp.Compare(a.Version, b.Version)
		})
		for _, o := range list {
			all := given[o.Key]
			i, _ := slices.BinarySearch(all, o.Version+1)
			if i < len(all) && all[i] < newest.Version {
				c.fail(ruleSnapshot, "%v, although it had version %d before %s had version %d in the same list",
					o, all[i], newest.Key, newest.Version)
			}
		}
	}
}

// stale checks that successive stale reads from one run of a controller never go back.
func (c *checker) stale(ops []operation) {
	type place struct {
		node  string
		start int
		key   string
	}
	reads := make(map[place][]*operation)
	for i := range ops {
		if o := &ops[i]; o.Action == stale && o.Outcome == done {
			p := place{o.Node, o.Start, o.Key}
			reads[p] = append(reads[p], o)
		}
	}
	for _, all := range reads {
		byReturn := slices.Clone(all)
		slices.SortFunc(byReturn, func(a, b *operation) int { return cmp.Compare(a.Return, b.Return) })
		slices.SortFunc(all, func(a, b *operation) int { return cmp.Compare(a.Call, b.Call) })
		var newest *operation
		next := 0
		for _, o := range all {
			for ; next < len(byReturn) && byReturn[next].Return < o.Call; next++ {
				if newest == nil || byReturn[next].Version > newest.Version {
					newest = byReturn[next]
				}
			}
			if newest != nil && o.Version < newest.Version {
				c.fail(ruleStale, "%v follows %v", o, newest)
			}
		}
	}
}

// watch compares what a watch shows with the operations.
func (c *checker) watch(w *watch, ops map[string][]operation) {
	type state struct {
		shown   bool
		deleted bool
		version uint64
	}
	var (
		states map[string]state
		begun  time.Duration
		run    string
		seq    uint64
	)
	for _, s := range w.Sights {
		if s.Reset {
			states, begun, run, seq = make(map[string]state), s.At, "", 0
			continue
		}
		from, _, _ := strings.Cut(s.ID, "-")
		switch {
		case run != "" && from != run:
			c.fail(ruleLost, "the watch at %s goes on from events of %s to those of %s (event %s), and "+
				"does not say that some may be lost", w.Node, run, from, s.ID)
		case seq != 0 && s.Seq != seq+1:
			c.fail(ruleLost, "the watch at %s has event %d after %d (%s)", w.Node, s.Seq, seq, s.ID)
		}
		run, seq = from, s.Seq
		if s.Key == "" {
			continue
		}
		was := states[s.Key]
		if s.Deleted {
			states[s.Key] = state{true, true, was.version}
			continue
		}
		if s.Version < was.version || was.deleted && s.Version == was.version {
			c.fail(ruleOrder, "the watch at %s shows version %d of %s after version %d (deleted: %v, "+
				"event %s)", w.Node, s.Version, s.Key, was.version, was.deleted, s.ID)
		}
		states[s.Key] = state{true, false, max(was.version, s.Version)}
	}
	// The history ends in rest: a watch shows the last state of all that was changed while it was
	// open.
	for key, all := range ops {
		last, ok := final(all)
		if !ok {
			continue
		}
		s := states[key]
		switch {
		case last.Outcome == missing && s.shown && !s.deleted:
			c.fail(ruleLost, "the watch at %s shows version %d of %s, which was deleted: %v", w.Node,
				s.version, key, &last)
		case last.Outcome == done && c.written[last.Value] != nil && c.written[last.Value].Call > begun &&
			(s.deleted || s.version != last.Version):
			c.fail(ruleLost, "the watch at %s shows version %d of %s last (deleted: %v): %v", w.Node,
				s.version, key, s.deleted, &last)
		}
	}
}

// final is the read of a resource after everything else was over; ok is false when there is none.
func final(ops []operation) (last operation, ok bool) {
	for _, o := range ops {
		if o.Action == get && (o.Outcome == done || o.Outcome == missing) && o.Call > last.Call {
			last, ok = o, true
		}
	}
	for _, o := range ops {
		if o.Action != get && o.Action != stale && o.Outcome != refused && o.Return >= last.Call {
			return last, false
		}
	}
	return last, ok
}

// keep writes a history with violations to a new directory: the whole history, the violations, and
// porcupine's picture of each resource with non-linearizable operations. keep returns the
// directory.
func keep(h *history, found []violation, about any) (string, error) {
	parent := os.Getenv("WEFT_LINEAR_DIR")
	dir, err := os.MkdirTemp(parent, "weft-linear-")
	if err != nil {
		return "", err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	text, err := json.MarshalIndent(map[string]any{"run": about, "violations": found,
		"operations": h.operations, "watches": h.watches}, "", " ")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "history.json"), text, 0o600); err != nil {
		return "", err
	}
	c := checker{seen: make(map[uint32]evidence), versions: make(map[uint64]evidence),
		written: make(map[uint32]*operation)}
	c.sightings(h)
	ops, _ := byKey(h.operations)
	pictures := 0
	for _, v := range found {
		if v.key == "" || pictures == 5 {
			continue
		}
		pictures++
		_, info := porcupine.CheckOperationsVerbose(model(), steps(ops[v.key], c.seen), judgement)
		if err := porcupine.VisualizePath(model(), info, filepath.Join(dir, v.key+".html")); err != nil {
			return "", err
		}
	}
	return dir, nil
}
