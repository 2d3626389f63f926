package multicast

import (
	"slices"

	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/southbound/entry"
)

// phase is the progress of a change of a tree.
type phase uint8

const (
	// steady: every switch of the tree has exactly its entries.
	steady phase = iota
	// making: the controller adds the new entities beside the entities in use, without leading traffic
	// into them.
	making
	// responding: the aggregation moves to the new epoch, or leaves removed
	// branches out.
	responding
	// switching: data is led into the new tree at the switch of the source.
	switching
	// draining: packets on their way in the old tree arrive.
	draining
	// cleaning: the controller removes the rest of the old tree.
	cleaning
)

var phaseNames = [...]string{"steady", "making", "responding", "switching", "draining", "cleaning"}

func (p phase) String() string { return phaseNames[p] }

// change is a group's tree on its way from one placement to another.
//
// Three placements are in use: resp, whose responses the switches aggregate, data, which carries
// data, and target, the target of both. oldResp and oldData are the placements before the present
// or the previous phase. The remains of old placements stay in place until cleaning.
type change struct {
	phase            phase
	target           *tree.Placement // nil: the group is being removed
	resp, data       *tree.Placement
	oldResp, oldData *tree.Placement
}

// begin turns to a new target; nil removes the group. The caller must not call begin while a
// connected switch is still switching, because then the controller does not know the tree with the
// data.
func (c *change) begin(target *tree.Placement) {
	resp, data := c.target, c.target
	switch c.phase {
	case making: // nothing of the target is in use yet
		resp, data = c.resp, c.data
	case responding: // some switches have its epoch, which must not go back
		data = c.data
	}
	if target == nil {
		if c.target == nil {
			return // is being removed already
		}
		*c = change{phase: switching, oldResp: resp, oldData: data}
		return
	}
	*c = change{phase: making, target: target, resp: resp, data: data}
}

// next enters the phase after the present one.
func (c *change) next() {
	switch c.phase {
	case making:
		c.phase, c.oldResp, c.resp = responding, c.resp, c.target
	case responding:
		c.phase, c.oldData, c.data = switching, c.data, c.target
	case switching:
		c.phase = draining
	case draining:
		c.phase, c.oldResp, c.oldData = cleaning, nil, nil
	case cleaning:
		c.phase = steady
	}
}

// classes is a set of tree.Class.
type classes uint8

const (
	dataClass     = classes(1 << tree.Data)
	responseClass = classes(1 << tree.Response)
	startClass    = classes(1 << tree.Start)
	allClasses    = dataClass | responseClass | startClass
)

// layer is a part of the entities that a switch holds for a group. If two layers contain the same
// key, the content of the later layer counts.
type layer struct {
	placement *tree.Placement
	classes   classes
}

// layers returns what switches hold in the present phase.
func (c *change) layers() []layer {
	switch c.phase {
	case making:
		return []layer{{c.target, dataClass | responseClass}, {c.data, dataClass | startClass},
			{c.resp, responseClass}}
	case responding:
		return []layer{{c.oldResp, responseClass}, {c.target, dataClass},
			{c.data, dataClass | startClass}, {c.target, responseClass}}
	case switching, draining:
		return []layer{{c.oldResp, responseClass}, {c.oldData, dataClass}, {c.target, allClasses}}
	}
	return []layer{{c.target, allClasses}}
}

// entities returns what a switch holds in the present phase.
func (c *change) entities(sw string) []entry.Entity {
	var out []entry.Entity
	at := make(map[entry.Key]int)
	for _, l := range c.layers() {
		if l.placement == nil {
			continue
		}
		for _, it := range l.placement.Items(sw) {
			if l.classes&(1<<it.Class) == 0 {
				continue
			}
			k := it.Entity.Key()
			if i, ok := at[k]; ok {
				out[i] = it.Entity
				continue
			}
			at[k] = len(out)
			out = append(out, it.Entity)
		}
	}
	return out
}

// switches returns the switches that hold something in the present phase, in
// order.
func (c *change) switches() []string {
	var out []string
	for _, l := range c.layers() {
		out = append(out, l.placement.Switches()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// liveTurn returns the turn that data uses, which a new tree must not take.
func (c *change) liveTurn() (turn uint8, ok bool) {
	for _, p := range []*tree.Placement{c.data, c.oldData} {
		if p != nil {
			return p.Turn, true
		}
	}
	return 0, false
}

// leaves reports whether the target has the epoch of the responses before it,
// and fewer branches: then an ACK may have become due.
func (c *change) leaves() bool {
	if c.target == nil || c.oldResp == nil || c.target.Epoch != c.oldResp.Epoch {
		return false
	}
	for i := range c.oldResp.Nodes {
		old := &c.oldResp.Nodes[i]
		if n := c.target.Node(old.Switch); n != nil && n.LiveMask() != old.LiveMask() {
			return true
		}
	}
	return false
}
