package afpacket

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/dataplane/live"
)

const (
	sendBuffer = 16 << 20 // octets that may wait in the socket for the interface
	readBatch  = 64       // frames delivered at once

	ethernetHeader = 14 // octets, which an interface's MTU leaves out
)

// Port is a port on an interface.
type Port struct {
	wanted netip.Addr // the interface that has it; zero: the one with the name
	// of the addresses in the namespace of the port; nil: wanted is zero
	lookup  *netlink.Handle
	name    atomic.Pointer[string] // of the interface, or of the last one
	log     *slog.Logger
	link    func(up bool)     // guarded by mu; nil before Attach
	address net.HardwareAddr  // when the port was opened
	file    *os.File          // the packet socket
	socket  syscall.RawConn   // of file
	changes *nl.NetlinkSocket // has a message when an interface changed
	out     *transmitter
	index   int // of the interface; of the goroutine that watches

	mu sync.Mutex
	up bool // guarded by mu

	ringMu sync.Mutex
	ring   *ring // guarded by ringMu; nil while it cannot be had

	polled  bool // its owner calls Poll; no goroutine reads
	joins   bool // frames alike pass the kernel as one
	deliver func(frames [][]byte)
	batch   [][]byte
	warned  bool // of frames that are too long

	mtu               atomic.Int64
	speed             atomic.Uint64 // bits a second; 0: unknown
	overrun, oversize atomic.Uint64

	attach  sync.Once
	closed  chan struct{} // by Close
	closing sync.Once
	running sync.WaitGroup
}

// Allowed returns an error if this process may not open packet sockets: it needs CAP_NET_RAW.
func Allowed() error {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// Open opens a port on the interface with a name, or on the one that has an IP address; log gets
// the changes of the link. Errors wrap ErrInterface.
func Open(text string, log *slog.Logger) (*Port, error) { return openPort(text, log, false, false) }

// OpenPolled opens a port that delivers frames while Poll is called and at no other time.
func OpenPolled(text string, log *slog.Logger) (*Port, error) {
	return openPort(text, log, true, false)
}

// OpenJoined is OpenPolled for a veth whose far end is a port opened so too: UDP datagrams without
// a checksum and with equal headers, which follow each other, pass the kernel as one (see joined).
func OpenJoined(text string, log *slog.Logger) (*Port, error) {
	return openPort(text, log, true, true)
}

func openPort(text string, log *slog.Logger, polled, joins bool) (*Port, error) {
	p := &Port{log: log, closed: make(chan struct{}), polled: polled, joins: joins,
		batch: make([][]byte, 0, readBatch)}
	if err := p.open(text); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrInterface, text, errors.Join(err, p.release()))
	}
	return p, nil
}

func (p *Port) open(text string) (err error) {
	if address, err := netip.ParseAddr(text); err != nil {
		p.name.Store(&text)
	} else if p.lookup, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return fmt.Errorf("addresses: %w", err)
	} else {
		p.wanted = address
		if err := p.find(); err != nil {
			return err
		}
	}
	link, err := net.InterfaceByName(*p.name.Load())
	if err != nil {
		return err
	}
	p.address = link.HardwareAddr
	if p.joins {
		if err := isVeth(link.Index); err != nil {
			return err
		}
	}
	// The runtime does not watch a blocking socket; it would wake up for every frame.
	kind := unix.SOCK_RAW | unix.SOCK_CLOEXEC
	if !p.polled {
		kind |= unix.SOCK_NONBLOCK
	}
	// No frames before the socket is bound: protocol 0.
	fd, err := unix.Socket(unix.AF_PACKET, kind, 0)
	if err != nil {
		if errors.Is(err, unix.EPERM) {
			err = fmt.Errorf("%w (a packet socket takes CAP_NET_RAW)", err)
		}
		return err
	}
	p.file = os.NewFile(uintptr(fd), text)
	if p.socket, err = p.file.SyscallConn(); err != nil {
		return err
	}
	for _, option := range []struct {
		name  string
		value int
		which int
	}{
		{"PACKET_VERSION", unix.TPACKET_V2, unix.PACKET_VERSION},
		{"PACKET_RESERVE", tagSize, unix.PACKET_RESERVE},
		{"PACKET_VNET_HDR", 1, unix.PACKET_VNET_HDR},
		{"PACKET_IGNORE_OUTGOING", 1, unix.PACKET_IGNORE_OUTGOING},
	} {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, option.which, option.value); err != nil {
			return fmt.Errorf("%s: %w", option.name, err)
		}
	}
	if p.out, err = newTransmitter(p.joins); err != nil {
		return fmt.Errorf("socket for frames out: %w", err)
	}
	// Listened to before the state is read: no change is missed.
	if p.changes, err = nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR,
		unix.RTNLGRP_IPV6_IFADDR); err != nil {
		return fmt.Errorf("link changes: %w", err)
	}
	if p.up, err = p.settle(fd); err != nil {
		return err
	}
	return nil
}

// setSendBuffer passes the system's limit with the right to, and otherwise goes up to the limit.
func setSendBuffer(fd int) error {
	err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, sendBuffer)
	if errors.Is(err, unix.EPERM) {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, sendBuffer)
	}
	return err
}

// HardwareAddr is the interface's Ethernet address when the port was opened.
func (p *Port) HardwareAddr() net.HardwareAddr { return p.address }

// MTU is how many octets a frame may have behind its Ethernet header.
func (p *Port) MTU() int { return int(p.mtu.Load()) }

// Details implements what live.Runner asks of a port.
func (p *Port) Details() live.Details {
	d := live.Details{MAC: p.address, Speed: p.speed.Load()}
	if mtu := p.MTU(); mtu > 0 {
		d.MTU = mtu + ethernetHeader
	}
	return d
}

// SetEnabled implements live.Configurable: it takes the interface down, or up. It needs
// CAP_NET_ADMIN.
func (p *Port) SetEnabled(enabled bool) error {
	return p.change("flags", func(fd int, r *unix.Ifreq) error {
		if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, r); err != nil {
			return err
		}
		flags := r.Uint16() &^ unix.IFF_UP
		if enabled {
			flags |= unix.IFF_UP
		}
		r.SetUint16(flags)
		return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, r)
	})
}

// SetMTU implements live.Configurable: it sets the interface's. It needs CAP_NET_ADMIN.
func (p *Port) SetMTU(octets int) error {
	return p.change("MTU", func(fd int, r *unix.Ifreq) error {
		r.SetUint32(uint32(max(0, octets-ethernetHeader)))
		return unix.IoctlIfreq(fd, unix.SIOCSIFMTU, r)
	})
}

// change changes the port's interface.
func (p *Port) change(what string, f func(fd int, r *unix.Ifreq) error) error {
	name := *p.name.Load()
	r, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	closed := p.socket.Control(func(fd uintptr) { err = f(int(fd), r) })
	if closed != nil {
		return fmt.Errorf("%s: %w", name, closed)
	}
	if err != nil {
		return fmt.Errorf("%s of %s: %w", what, name, err)
	}
	return nil
}

// Attach implements live.Port.
func (p *Port) Attach(deliver func(frames [][]byte), link func(up bool)) {
	p.attach.Do(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.link = link
		if !p.up {
			p.log.Warn("link is down")
			link(false)
		}
		p.deliver = deliver
		if !p.polled {
			p.running.Go(p.read)
		}
		p.running.Go(p.watch)
	})
}

// read delivers frames until the port is closed.
func (p *Port) read() {
	some := func(uintptr) bool { return p.take() }
	for {
		err := p.socket.Read(some)
		if !p.pause(err != nil) {
			return
		}
	}
}

// Poll delivers some of the waiting frames, and reports whether any frame was waiting. Only one
// goroutine at a time may call Poll, after Attach and before Close.
func (p *Port) Poll() bool { return p.take() }

// Descriptor returns a file descriptor that becomes readable when frames wait for Poll, or an error
// does; -1 for a port that reads by itself.
func (p *Port) Descriptor() (fd int) {
	fd = -1
	if !p.polled {
		return fd
	}
	_ = p.socket.Control(func(is uintptr) { fd = int(is) }) // closed: -1
	return fd
}

// take delivers a batch, and reports whether anything was in the ring.
func (p *Port) take() bool {
	p.ringMu.Lock()
	defer p.ringMu.Unlock()
	if p.ring == nil {
		return false
	}
	batch, slots, oversize := p.ring.take(p.batch)
	if len(batch) > 0 {
		p.deliver(batch)
	}
	p.ring.release(slots)
	p.batch = batch[:0]
	if oversize > 0 {
		p.oversize.Add(uint64(oversize))
		if !p.warned {
			p.log.Warn("frames longer than the MTU are dropped: turn off segmentation offload where they "+
				"come from (ethtool -K INTERFACE tso off gso off) and receive offload here (gro off)",
				"mtu", p.MTU())
		}
		p.warned = true
	}
	return slots > 0
}

// Losses returns the frames that never came as far as being delivered.
func (p *Port) Losses() live.Losses {
	_ = p.socket.Control(func(fd uintptr) { // closed: what was seen last stands
		if st, err := unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET,
			unix.PACKET_STATISTICS); err == nil {
			p.overrun.Add(uint64(st.Drops)) // reading them resets them
		}
	})
	return live.Losses{Overrun: p.overrun.Load(), Oversize: p.oversize.Load()}
}

// Close ends the deliveries and releases the interface. None is under way or
// follows when it returns.
func (p *Port) Close() error {
	var err error
	p.closing.Do(func() {
		close(p.closed)
		err = p.release()
	})
	return err
}

func (p *Port) release() error {
	var errs []error
	if p.changes != nil {
		p.changes.Close()
	}
	if p.file != nil {
		errs = append(errs, p.file.Close())
	}
	if p.out != nil {
		errs = append(errs, p.out.file.Close())
	}
	p.running.Wait()
	if p.lookup != nil {
		p.lookup.Close()
	}
	if p.ring != nil {
		errs = append(errs, p.ring.unmap())
	}
	return errors.Join(errs...)
}
