package multicast

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/multicast/tree"
	"github.com/weft-sdn/weft/controller/plan"
	"github.com/weft-sdn/weft/southbound/entry"
)

// lastEpoch is the highest epoch. After it an index can have no further epoch.
const lastEpoch = math.MaxUint32

func errNoEpoch(index uint16) *api.Error {
	return &api.Error{Code: api.CodeNotPlannable, Message: fmt.Sprintf(
		"the epochs of index %d are used up (%d was found in a switch, or given); delete the group and "+
			"apply it again, which gives it another index", index, uint32(lastEpoch))}
}

// nextEpoch returns an epoch that no register of an index has seen. The epoch is greater than every
// epoch that this controller, or an earlier controller on the same store, has given to the index or
// found in a switch, and at least the number of seconds since 1970. An earlier controller with a
// lost store cannot have passed this number unless it raised the epoch of one group more than once
// a second all the time. The low 16 bits, which the responses carry, differ from the previous
// epoch. 0, which is no epoch, means that no epoch is left.
func (f *Feature) nextEpoch(index uint16, prev *tree.Placement) uint32 {
	e := uint64(f.epochs[index]) + 1
	if s := f.env.Wall().Unix(); s > int64(e) && s < 1<<32-1<<16 {
		e = uint64(s)
	}
	if prev != nil && uint16(e) == uint16(prev.Epoch) {
		e++
	}
	if e > lastEpoch {
		return 0
	}
	return uint32(e)
}

// noteEpoch remembers that an epoch has been used at an index.
func (f *Feature) noteEpoch(index uint16, epoch uint32) {
	if epoch > f.epochs[index] {
		f.epochs[index] = epoch
		f.raised.add(index)
	}
}

// learnEpochs learns the used epochs from a switch, so that the controller never uses an epoch
// again.
func (f *Feature) learnEpochs(sw string, contents entry.Contents) {
	highest := make(map[uint16]uint32)
	for _, e := range contents.Entities {
		epoch, ok := plan.EpochOf(e)
		if i := plan.GroupOf(e); ok && i >= 0 {
			highest[uint16(i)] = max(highest[uint16(i)], epoch)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(highest)) {
		epoch := highest[i]
		f.noteEpoch(i, epoch)
		// Registers with an epoch from another core may reflect another membership.
		g := f.byIndex[i]
		if g == nil || g.target == nil || epoch < g.target.Epoch || g.wrote(sw, epoch) {
			continue
		}
		f.raise(g)
	}
}
