package tunnel

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/weft-sdn/weft/topology"
)

// numbers gives the segment lists of a node their numbers, from 1. A number follows from the list
// itself, so a restarted controller gives the same numbers, except for lists that wanted the same
// number.
type numbers struct {
	most    uint16
	given   map[string]*number
	taken   map[uint16]bool
	foreign map[uint16][]netip.Addr // lists of others, by number
}

type number struct {
	id    uint16
	users int
}

// acquire returns the number of the list with a key. A foreign list with other SIDs keeps its own
// number.
func (n *numbers) acquire(key string, sids []netip.Addr) (uint16, error) {
	if x := n.given[key]; x != nil {
		x.users++
		return x.id, nil
	}
	occupied := func(id uint16) bool {
		foreign, there := n.foreign[id]
		return n.taken[id] || there && !slices.Equal(foreign, sids)
	}
	tries := 0
	h := fnv.New32a()
	h.Write([]byte(key))
	id := uint16(h.Sum32()%uint32(n.most)) + 1
	for occupied(id) {
		if tries++; tries == int(n.most) {
			return 0, fmt.Errorf("%w: %d lists are in use", ErrNoRoom, n.most)
		}
		if id++; id > n.most {
			id = 1
		}
	}
	n.given[key], n.taken[id] = &number{id, 1}, true
	return id, nil
}

func (n *numbers) release(key string) {
	x := n.given[key]
	if x == nil {
		return
	}
	if x.users--; x.users == 0 {
		delete(n.given, key)
		delete(n.taken, x.id)
	}
}

// listNumber returns the number of a list in use, and 0 for any other list.
func (c *Core) listNumber(at topology.NodeID, key string) uint16 {
	if n := c.numbers[at]; n != nil && n.given[key] != nil {
		return n.given[key].id
	}
	return 0
}

func (c *Core) acquire(at topology.NodeID, key string, sids []netip.Addr) error {
	_, err := c.numbersAt(at).acquire(key, sids)
	return err
}

func (c *Core) numbersAt(at topology.NodeID) *numbers {
	n := c.numbers[at]
	if n == nil {
		n = &numbers{most: c.cfg.Lists, given: make(map[string]*number), taken: make(map[uint16]bool)}
		c.numbers[at] = n
	}
	return n
}

// SetForeign sets the segment lists that a node holds for others. Their numbers are given to lists
// with the same SIDs alone.
func (c *Core) SetForeign(at topology.NodeID, lists map[uint16][]netip.Addr) {
	if len(lists) > 0 || c.numbers[at] != nil {
		c.numbersAt(at).foreign = lists
	}
}

func (c *Core) release(at topology.NodeID, key string) {
	if n := c.numbers[at]; n != nil {
		n.release(key)
	}
}

// policyKey names the segment list of a policy at the headend, whatever the segments. The list
// changes in place, so packets take either the old or the new segments.
func policyKey(name string) string { return "policy " + name }
