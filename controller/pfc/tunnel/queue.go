package tunnel

import (
	"cmp"
	"fmt"

	"github.com/weft-sdn/weft/topology"
)

// A Queue is the queue of a priority at an egress port of a node. A PFC frame stops a queue.
type Queue struct {
	Node     topology.NodeID `json:"node"`
	Port     uint32          `json:"port"`
	Priority uint8           `json:"priority"`
}

func (q Queue) String() string { return fmt.Sprintf("%s/%d/%d", q.Node, q.Port, q.Priority) }

func (q Queue) compare(o Queue) int {
	return cmp.Or(cmp.Compare(q.Node, o.Node), cmp.Compare(q.Port, o.Port),
		cmp.Compare(q.Priority, o.Priority))
}
