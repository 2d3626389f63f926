package afpackettest

import "github.com/weft-sdn/weft/internal/netns"

// Namespace is a network namespace without a name.
type Namespace = netns.Namespace

// New makes a namespace with a single interface, loopback, and sets it up. New fails without the
// necessary rights (CAP_SYS_ADMIN, CAP_NET_ADMIN). Interfaces added later get no IPv6, so the
// kernel sends nothing by itself.
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
