package afpackettest

import "github.com/weft-sdn/weft/internal/netns"

// Namespace is a network namespace without a name.
type Namespace = netns.Namespace

// New makes a namespace whose only interface, loopback, is up; it fails where that is not allowed
// (CAP_SYS_ADMIN, CAP_NET_ADMIN). IPv6 is off on interfaces made later, so that the kernel sends
// nothing of its own.
func New() (*Namespace, error) {
	ns, err := netns.New()
	if err != nil {
		return nil, err
	}
	if err := ns.Quiet(); err != nil {
		ns.Close()
		return nil, err
	}
	return ns, nil
}
