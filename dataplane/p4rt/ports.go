package p4rt

import (
	"encoding/binary"

	"github.com/weft-sdn/weft/dataplane/engine"
)

// portCheck defines which port numbers a client may name.
type portCheck struct {
	max   uint32              // the largest number that fits standard_metadata
	drop  uint32              // the port that means drop
	known map[uint32]struct{} // nil: every port but drop
}

// number converts a port in P4Runtime form.
func (c portCheck) number(b []byte) (uint32, *Error) {
	if err := checkFits(b, 32); err != nil {
		return 0, err.in("port")
	}
	var n uint32
	for _, x := range b {
		n = n<<8 | uint32(x)
	}
	return n, c.valid(n)
}

func (c portCheck) valid(n uint32) *Error {
	if n > c.max {
		return invalid("port %d; want at most %d", n, c.max)
	}
	if n == c.drop {
		return invalid("port %d is the drop port; want a port that can send", n)
	}
	if c.known != nil {
		if _, ok := c.known[n]; !ok {
			return invalid("port %d does not exist on this device", n)
		}
	}
	return nil
}

// watch converts a watch_port; empty is no port.
func (c portCheck) watch(b []byte) (uint32, *Error) {
	if len(b) == 0 {
		return engine.NoPort, nil
	}
	n, err := c.number(b)
	if err != nil {
		return 0, err.in("watch_port")
	}
	return n, nil
}

// portBytes is the canonical form of a port.
func portBytes(n uint32) []byte {
	return canonical(binary.BigEndian.AppendUint32(nil, n))
}
