package kernels

import (
	"log/slog"
	"net/netip"

	"github.com/weft-sdn/weft/packet"
)

// Config defines a kernel that is a switch.
type Config struct {
	// Name is the hostname that the agent shows.
	Name string
	// Listen is host:port of the agent's gNMI server, in the namespace of the process.
	Listen string
	// MAC is the Ethernet address of all ports; the kernel derives their link-local address from it.
	MAC packet.MAC
	// Ports, in any order.
	Ports []Port
	// Deliver takes the frames that the kernel sends at a port. It is called from a goroutine a port;
	// the frames are valid during the call only.
	Deliver func(port uint32, frames [][]byte)
	// Changed, if not nil, receives the ports enabled by clients whenever these may have changed.
	Changed func(enabled map[uint32]bool)
	// Log gets what the kernel does not take; nil: nothing does.
	Log *slog.Logger
}

// A Port is an interface of the kernel.
type Port struct {
	Number uint32
	Up     bool // whether there is a carrier
	// Host is the attached host; its Ethernet address is needed because software hosts answer no
	// neighbor solicitations. Invalid: a switch, which the kernel finds by itself.
	Host    netip.Addr
	HostMAC packet.MAC
	// Rate is how fast the link is, in bits a second, with preamble, check sequence and gap of
	// frames; 0: it takes no time.
	Rate uint64
}
