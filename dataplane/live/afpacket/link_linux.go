package afpacket

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// retry is how long a goroutine of a port waits after an error it does not
// know, so as not to spin.
const retry = 100 * time.Millisecond

// watch looks at the interface whenever the state of any interface may have changed, until the port
// is closed. It ignores the content of the messages and reads the state.
func (p *Port) watch() {
	for {
		_, _, err := p.changes.Receive()
		if !p.pause(err != nil && !errors.Is(err, unix.ENOBUFS)) {
			return
		}
		p.refresh()
	}
}

// pause waits a while if asked to, and reports whether the port is still open.
func (p *Port) pause(wait bool) bool {
	if !wait {
		select {
		case <-p.closed:
			return false
		default:
			return true
		}
	}
	timer := time.NewTimer(retry)
	defer timer.Stop()
	select {
	case <-p.closed:
		return false
	case <-timer.C:
		return true
	}
}

// refresh binds the port to the interface with the port's name or address, if there is one, and
// reports the state of the link.
func (p *Port) refresh() {
	var err error
	up := false
	if closed := p.socket.Control(func(fd uintptr) { up, err = p.settle(int(fd)) }); closed != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		up = false
		if !errors.Is(err, unix.ENODEV) {
			p.log.Warn("interface cannot be used", "error", err)
		}
	}
	if up == p.up {
		return
	}
	p.up = up
	if up {
		p.log.Info("link is up")
	} else {
		p.log.Warn("link is down")
	}
	if p.link != nil {
		p.link(up)
	}
}

// settle binds the socket to the interface and reports whether its link is up.
// It is called by one goroutine at a time. ENODEV: there is no interface.
func (p *Port) settle(fd int) (up bool, err error) {
	if p.wanted.IsValid() {
		if err := p.find(); err != nil {
			return false, errors.Join(err, p.leave(fd))
		}
	}
	name := *p.name.Load()
	request, err := unix.NewIfreq(name)
	if err != nil {
		return false, err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFINDEX, request); err != nil {
		return false, errors.Join(fmt.Errorf("index: %w", err), p.leave(fd))
	}
	index := int(request.Uint32())
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFMTU, request); err != nil {
		return false, fmt.Errorf("MTU: %w", err)
	}
	mtu := int(request.Uint32())
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, request); err != nil {
		return false, fmt.Errorf("flags: %w", err)
	}
	flags := request.Uint16()
	// A socket that gets a ring while its interface comes up misses that event, and then all frames.
	// So make the ring before binding the socket, or when the interface is up.
	if index != p.index || flags&unix.IFF_UP != 0 {
		if err := p.resize(fd, mtu); err != nil {
			return false, err
		}
	}
	if index != p.index {
		err = errors.Join(bind(fd, index), p.out.bind(index))
	} else {
		// The kernel tells the world of an interface, then its sockets, under
		// one lock, which this waits for.
		err = errors.Join(promiscuous(fd, index, unix.PACKET_ADD_MEMBERSHIP),
			promiscuous(fd, index, unix.PACKET_DROP_MEMBERSHIP))
	}
	if err != nil {
		return false, err
	}
	p.index = index
	p.mtu.Store(int64(mtu))
	p.speed.Store(speedOf(name))
	// An interface that was down left an error behind, for whoever asks next.
	_, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	const want = unix.IFF_UP | unix.IFF_RUNNING
	return flags&want == want, nil
}

// find looks for the interface that has the port's address. ENODEV: there is none.
func (p *Port) find() error {
	addresses, err := p.lookup.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("addresses: %w", err)
	}
	for _, a := range addresses {
		if got, ok := netip.AddrFromSlice(a.IP); !ok || got.Unmap() != p.wanted.Unmap() {
			continue
		}
		link, err := p.lookup.LinkByIndex(a.LinkIndex)
		if err != nil {
			continue // it has gone
		}
		name := link.Attrs().Name
		if was := p.name.Swap(&name); was != nil && *was != name {
			p.log.Info("another interface has the address", "interface", name)
		}
		return nil
	}
	return fmt.Errorf("no interface has this address: %w", unix.ENODEV)
}

// isVeth returns an error for an interface that may lead out of the machine.
func isVeth(index int) error {
	link, err := netlink.LinkByIndex(index)
	if err != nil {
		return err
	}
	if kind := link.Type(); kind != "veth" {
		return fmt.Errorf("packets of a burst pass the kernel as one on a veth alone, and this is of "+
			"kind %q: want no bursts", kind)
	}
	return nil
}

// speedOf returns the speed of an interface in bits a second, 0 if the driver does not know it.
func speedOf(name string) uint64 {
	text, err := os.ReadFile("/sys/class/net/" + name + "/speed")
	if err != nil {
		return 0
	}
	megabits, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 32)
	if err != nil || megabits == math.MaxUint32 { // -1, as some drivers write it
		return 0
	}
	return megabits * 1_000_000
}

// leave ends what binds the socket to an interface, which may live on under another name or without
// the port's address.
func (p *Port) leave(fd int) error {
	if p.index == 0 {
		return nil
	}
	index := p.index
	p.index = 0
	// the interface may have gone, and its settings with it
	_ = promiscuous(fd, index, unix.PACKET_DROP_MEMBERSHIP)
	// To no interface, and to an EtherType that is reserved (RFC 1701): protocol 0 would leave the
	// socket the frames of all interfaces.
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: 0xffff}); err != nil {
		return fmt.Errorf("unbind: %w", err)
	}
	return p.out.bind(0)
}

// bind has the socket receive all frames of an interface, whatever their address.
func bind(fd, index int) error {
	if err := promiscuous(fd, index, unix.PACKET_ADD_MEMBERSHIP); err != nil {
		return err
	}
	const protocol = unix.ETH_P_ALL
	err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol<<8 | protocol>>8, Ifindex: index})
	if err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	return nil
}

// promiscuous adds or drops the socket's request for promiscuous mode; Linux counts the requests at
// an interface.
func promiscuous(fd, index, change int) error {
	if err := unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, change, &unix.PacketMreq{
		Ifindex: int32(index), Type: unix.PACKET_MR_PROMISC,
	}); err != nil {
		return fmt.Errorf("promiscuous mode: %w", err)
	}
	return nil
}

// resize gives the port a ring for frames of an MTU, unless the current ring has room for such
// frames.
func (p *Port) resize(fd, mtu int) error {
	p.ringMu.Lock()
	defer p.ringMu.Unlock()
	if p.ring != nil && p.ring.mtu() >= mtu {
		return nil
	}
	if p.ring != nil {
		old := p.ring
		p.ring = nil
		if err := errors.Join(old.unmap(), removeRing(fd)); err != nil {
			return err
		}
	}
	r, err := newRing(fd, mtu, p.joins)
	if err != nil {
		return fmt.Errorf("ring for an MTU of %d: %w", mtu, err)
	}
	p.ring = r
	return nil
}
