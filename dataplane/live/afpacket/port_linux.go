package afpacket

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	socketBuffer = 16 << 20 // octets that may wait in the socket, either way
	maxFrame     = 64 << 10 // octets of the longest frame taken
	macs         = 12       // octets of the two addresses, which a VLAN tag follows
	tagSize      = 4
)

// Port is a port on an interface.
type Port struct {
	link   *net.Interface
	file   *os.File
	socket syscall.RawConn

	counters struct{ received, rxDropped, rxCut, sent, txDropped atomic.Uint64 }

	attach  sync.Once
	reading sync.WaitGroup
}

// Stats counts the frames of a port since it was opened.
type Stats struct {
	Received  uint64 // delivered
	RxDropped uint64 // dropped by the kernel: the socket was full
	RxCut     uint64 // dropped: longer than 64 KiB
	Sent      uint64
	TxDropped uint64 // refused by the kernel: no room, too long, or the interface is down
}

// Open opens a port on an interface. Errors wrap ErrInterface.
func Open(name string) (*Port, error) {
	fail := func(err error) (*Port, error) { return nil, fmt.Errorf("%w: %s: %w", ErrInterface, name, err) }
	link, err := net.InterfaceByName(name)
	if err != nil {
		return fail(err)
	}
	// No frames before the socket is bound: protocol 0.
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		if errors.Is(err, unix.EPERM) {
			err = fmt.Errorf("%w (a packet socket takes CAP_NET_RAW)", err)
		}
		return fail(err)
	}
	protocol := uint16(unix.ETH_P_ALL)
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1),
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptPacketMreq(fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP, &unix.PacketMreq{
			Ifindex: int32(link.Index), Type: unix.PACKET_MR_PROMISC,
		}),
		buffer(fd, unix.SO_RCVBUFFORCE, unix.SO_RCVBUF),
		buffer(fd, unix.SO_SNDBUFFORCE, unix.SO_SNDBUF),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: protocol<<8 | protocol>>8, Ifindex: link.Index}),
	)
	if err != nil {
		unix.Close(fd)
		return fail(err)
	}
	p := &Port{link: link, file: os.NewFile(uintptr(fd), name)}
	if p.socket, err = p.file.SyscallConn(); err != nil {
		return fail(errors.Join(err, p.file.Close()))
	}
	return p, nil
}

// buffer sets the size of a buffer past the system's limit where that is
// allowed, and up to it where it is not.
func buffer(fd, force, plain int) error {
	err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, force, socketBuffer)
	if errors.Is(err, unix.EPERM) {
		err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, plain, socketBuffer)
	}
	return err
}

// HardwareAddr is the interface's Ethernet address.
func (p *Port) HardwareAddr() net.HardwareAddr { return p.link.HardwareAddr }

// MTU is how many octets a frame may have behind its Ethernet header.
func (p *Port) MTU() int { return p.link.MTU }

// Attach delivers the frames that arrive from now on. It is called once.
func (p *Port) Attach(deliver func(frame []byte)) {
	p.attach.Do(func() { p.reading.Go(func() { p.read(deliver) }) })
}

// read delivers frames until the port is closed.
func (p *Port) read(deliver func(frame []byte)) {
	// The frame stands behind room for a tag, so that one can be put back.
	buf := make([]byte, tagSize+maxFrame)
	control := make([]byte, unix.CmsgSpace(int(unsafe.Sizeof(unix.TpacketAuxdata{}))))
	for {
		var n, c, flags int
		var err error
		waitErr := p.socket.Read(func(fd uintptr) bool {
			n, c, flags, _, err = unix.Recvmsg(int(fd), buf[tagSize:], control, 0)
			return !errors.Is(err, unix.EAGAIN) && !errors.Is(err, unix.EINTR)
		})
		switch {
		case waitErr != nil: // closed
			return
		case err != nil: // the interface went down, or away; it may come back
			continue
		case flags&unix.MSG_TRUNC != 0:
			p.counters.rxCut.Add(1)
			continue
		}
		p.counters.received.Add(1)
		deliver(untag(buf[:tagSize+n], control[:c]))
	}
}

// untag returns the frame as it was on the wire: the kernel takes a VLAN tag out
// of it and hands it over beside it. b is room for a tag and the frame.
func untag(b, control []byte) []byte {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return b[tagSize:]
	}
	for _, m := range messages {
		if m.Header.Level != unix.SOL_PACKET || m.Header.Type != unix.PACKET_AUXDATA ||
			len(m.Data) < int(unsafe.Sizeof(unix.TpacketAuxdata{})) {
			continue
		}
		aux := (*unix.TpacketAuxdata)(unsafe.Pointer(&m.Data[0]))
		if aux.Status&unix.TP_STATUS_VLAN_VALID == 0 || len(b) < tagSize+macs {
			continue
		}
		tpid := uint16(unix.ETH_P_8021Q)
		if aux.Status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
			tpid = aux.Vlan_tpid
		}
		copy(b, b[tagSize:tagSize+macs])
		b[macs], b[macs+1] = byte(tpid>>8), byte(tpid)
		b[macs+2], b[macs+3] = byte(aux.Vlan_tci>>8), byte(aux.Vlan_tci)
		return b
	}
	return b[tagSize:]
}

// Send transmits a frame, or drops it and reports false when the kernel has no
// room for it.
func (p *Port) Send(frame []byte) bool {
	var err error
	if closed := p.socket.Write(func(fd uintptr) bool {
		_, err = unix.Write(int(fd), frame)
		return !errors.Is(err, unix.EINTR) // EAGAIN: dropped, not waited for
	}); closed != nil || err != nil {
		p.counters.txDropped.Add(1)
		return false
	}
	p.counters.sent.Add(1)
	return true
}

// Stats returns the counts so far.
func (p *Port) Stats() Stats {
	s := Stats{
		Received: p.counters.received.Load(), RxCut: p.counters.rxCut.Load(),
		Sent: p.counters.sent.Load(), TxDropped: p.counters.txDropped.Load(),
	}
	_ = p.socket.Control(func(fd uintptr) { // closed: what was seen last stands
		if st, err := unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS); err == nil {
			p.counters.rxDropped.Add(uint64(st.Drops)) // reading them resets them
		}
	})
	s.RxDropped = p.counters.rxDropped.Load()
	return s
}

// Close ends the deliveries and releases the interface. None is under way or
// follows when it returns.
func (p *Port) Close() error {
	err := p.file.Close()
	p.reading.Wait()
	return err
}
