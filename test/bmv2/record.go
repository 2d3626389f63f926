//go:build linux

package bmv2

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Frame is a frame on a cable. Its octets belong to whoever has it.
type Frame struct {
	From, To Port // the zero Port is the far end of a tap
	Octets   []byte
}

// cable is one direction of a veth pair: what comes in at one of its interfaces.
type cable struct {
	near, far int // indices of the interfaces at to and at from
	from, to  Port
}

// ErrLost marks a recording that is not complete.
var ErrLost = errors.New("frames went unrecorded")

// recordBuffer is the number of unread octets that the kernel holds, including its own overhead.
const recordBuffer = 256 << 20

// Recorder sees every frame on every cable of a network, in the order the kernel has them arrive. A
// switch gets the frames of one port in this order; between ports, a switch may take another.
type Recorder struct {
	file *os.File
	done sync.WaitGroup
	err  error // why reading ended; once done
}

// Record calls take with each frame from now on, one at a time, until the recorder is closed.
func (n *Network) Record(take func(Frame)) (*Recorder, error) {
	r := &Recorder{}
	err := n.ns.Do(func() (err error) {
		r.file, err = openRecorder()
		return err
	})
	if err != nil {
		return nil, err
	}
	raw, err := r.file.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, r.file.Close())
	}
	cables := map[int]cable{}
	for _, c := range n.cables {
		cables[c.near] = c
	}
	r.done.Go(func() {
		buffer := make([]byte, MaxFrame)
		for {
			var size int
			var from unix.Sockaddr
			var err error
			closed := raw.Read(func(fd uintptr) bool {
				size, from, err = unix.Recvfrom(int(fd), buffer, 0)
				return err != unix.EAGAIN
			})
			if closed != nil {
				return
			}
			if err != nil {
				r.err = err
				return
			}
			link, ok := from.(*unix.SockaddrLinklayer)
			if !ok {
				continue
			}
			if c, ok := cables[link.Ifindex]; ok {
				take(Frame{From: c.from, To: c.to, Octets: append([]byte(nil), buffer[:size]...)})
			}
		}
	})
	return r, nil
}

// openRecorder must run on the namespace's thread.
func openRecorder() (*os.File, error) {
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		return nil, err
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	// Every interface but loopback, where the control connections are.
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: ancillaryInterface},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: uint32(lo.Index), Jt: 0, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: 0},
		{Code: unix.BPF_RET | unix.BPF_K, K: 1 << 18},
	}
	err = errors.Join(
		unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_IGNORE_OUTGOING, 1),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, recordBuffer),
		unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER,
			&unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}),
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: everyProtocol}),
	)
	if err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("packet socket: %w", err)
	}
	return os.NewFile(uintptr(fd), "recorder"), nil
}

const (
	// ancillaryInterface is where a filter reads the index of the interface: SKF_AD_OFF +
	// SKF_AD_IFINDEX.
	ancillaryInterface = 0xfffff000 + 8
	everyProtocol      = unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8 // in network order
)

// Close ends the recording. ErrLost says that the kernel had to drop frames.
func (r *Recorder) Close() error {
	raw, err := r.file.SyscallConn()
	if err != nil {
		return err
	}
	var lost error
	err = raw.Control(func(fd uintptr) {
		stats, err := unix.GetsockoptTpacketStats(int(fd), unix.SOL_PACKET, unix.PACKET_STATISTICS)
		if err != nil {
			lost = err
		} else if stats.Drops > 0 {
			lost = fmt.Errorf("%w: %d", ErrLost, stats.Drops)
		}
	})
	err = errors.Join(err, lost, r.file.Close())
	r.done.Wait()
	return errors.Join(err, r.err)
}

// openSender must run on the namespace's thread.
func openSender() (int, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("packet socket: %w", err)
	}
	// On the short way the frame does not show to the switch at the far end, which looks at what
	// leaves its interface too.
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_QDISC_BYPASS, 1); err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("packet socket: %w", err)
	}
	return fd, nil
}

// Inject has a frame arrive at a port, as if it came from the far end of the port's cable.
func (n *Network) Inject(to Port, frame []byte) error {
	for _, c := range n.cables {
		if c.to == to {
			return unix.Sendto(n.sender, frame, 0, &unix.SockaddrLinklayer{Ifindex: c.far})
		}
	}
	return fmt.Errorf("%w: no port %v", ErrTopology, to)
}
