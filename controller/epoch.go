package controller

import (
	"fmt"
	"math"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/plan"
)

// lastEpoch is the highest there is. An index that has seen it can have no other.
const lastEpoch = math.MaxUint32

func errNoEpoch(index uint16) *api.Error {
	return &api.Error{Code: api.CodeNotPlannable, Message: fmt.Sprintf(
		"the epochs of index %d are used up (%d was found in a switch, or given); delete the group and apply it again, which gives it another index", index, uint32(lastEpoch))}
}

// nextEpoch returns an epoch that no register of an index has seen: greater
// than every one that this controller, or an earlier one on the same store, has
// given to the index or found in a switch, and at least the number of seconds
// since 1970. An earlier controller whose store is lost cannot have got past
// that unless it raised the epoch of one group more than once a second all the
// time. Its low 16 bits, which the responses carry, differ from those of the
// epoch before. 0, which is no epoch, says that none is left.
func (c *Core) nextEpoch(index uint16, prev *plan.Placement) uint32 {
	e := uint64(c.epochs[index]) + 1
	if s := c.wall().Unix(); s > int64(e) && s < 1<<32-1<<16 {
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
func (c *Core) noteEpoch(index uint16, epoch uint32) {
	if epoch > c.epochs[index] {
		c.epochs[index], c.raised[index] = epoch, true
	}
}
