package northboundtest

import "github.com/weft-sdn/weft/topology"

// Peers are BGP-LS peers whose sessions do not change.
type Peers []topology.Peer

// Peers returns them.
func (p Peers) Peers() []topology.Peer { return p }
