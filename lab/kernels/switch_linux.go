package kernels

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"sync"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"

	"github.com/weft-sdn/weft/dataplane/kernel"
	"github.com/weft-sdn/weft/internal/netns"
)

// Switch is a network namespace whose kernel forwards as a switch. Its methods may be called from
// any goroutine.
type Switch struct {
	cfg      Config
	ns       *netns.Namespace
	taps     map[uint32]*os.File
	agent    *kernel.Agent
	server   *grpc.Server
	listener net.Listener
	serving  sync.WaitGroup
	readers  sync.WaitGroup
	closed   chan struct{}
}

// mtu of ports, as of most switches; no packet of a lab is longer.
const mtu = 9000

// batch is the most frames of a port handed on at once.
const batch = 32

// Open makes a network namespace and starts the agent of a switch there. Close ends it.
func Open(cfg Config) (s *Switch, err error) {
	s = &Switch{cfg: cfg, taps: make(map[uint32]*os.File),
		closed: make(chan struct{})}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.ns, err = netns.New(); err != nil {
		return s, fmt.Errorf("%w: kernels as switches need root", err)
	}
	// Duplicate address detection would leave ports without an address for a second. Nothing in a lab
	// sends router advertisements.
	for what, value := range map[string]string{"accept_dad": "0", "router_solicitations": "0",
		"accept_ra": "0"} {
		if err := s.ns.Set(what, value); err != nil {
			return s, err
		}
	}
	if err = s.ns.Do(s.start); err != nil {
		return s, err
	}
	if s.listener, err = net.Listen("tcp", cfg.Listen); err != nil {
		return s, err
	}
	s.server = grpc.NewServer()
	s.agent.Register(s.server)
	s.serving.Go(func() { _ = s.server.Serve(s.listener) }) // Close is the only end of it
	if cfg.Changed != nil {
		s.serving.Go(s.watch)
	}
	for port, tap := range s.taps {
		s.readers.Go(func() { s.read(port, tap) })
	}
	return s, nil
}

// watch passes on which ports are enabled, until Close.
func (s *Switch) watch() {
	for {
		select {
		case <-s.agent.Changed():
			s.cfg.Changed(s.agent.Enabled())
		case <-s.closed:
			return
		}
	}
}

// start makes ports and agent, on the thread of the namespace.
func (s *Switch) start() error {
	names := make(map[uint32]string, len(s.cfg.Ports))
	for i := range s.cfg.Ports {
		p := &s.cfg.Ports[i]
		name := kernel.NameOf(p.Number)
		names[p.Number] = name
		tap, err := openTap(name)
		if err != nil {
			return fmt.Errorf("interface %s: %w", name, err)
		}
		s.taps[p.Number] = tap
		if err := s.configure(name, p); err != nil {
			return fmt.Errorf("interface %s: %w", name, err)
		}
	}
	var err error
	s.agent, err = kernel.Open(kernel.Config{Ports: names, Hostname: s.cfg.Name, Log: s.cfg.Log})
	return err
}

// openTap makes an interface on the calling thread, in the namespace of that thread. A write to the
// file arrives at the interface, and a read returns a frame that the kernel sends.
func openTap(name string) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	req, err := unix.NewIfreq(name)
	if err == nil {
		req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
		err = unix.IoctlIfreq(fd, unix.TUNSETIFF, req)
	}
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), name), nil
}

// configure gives an interface its address, MTU and neighbor, and brings it up.
func (s *Switch) configure(name string, p *Port) error {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return err
	}
	if err := cmp.Or(netlink.LinkSetHardwareAddr(l, s.cfg.MAC[:]),
		netlink.LinkSetMTU(l, mtu), netlink.LinkSetUp(l)); err != nil {
		return err
	}
	if err := cmp.Or(carrier(s.taps[p.Number], p.Up), shape(l, p.Rate)); err != nil ||
		!p.Host.IsValid() {
		return err
	}
	return netlink.NeighAdd(&netlink.Neigh{LinkIndex: l.Attrs().Index, IP: p.Host.AsSlice(),
		HardwareAddr: p.HostMAC[:], State: netlink.NUD_PERMANENT})
}

// The kernel shapes to a part of a link's rate, because the kernel does not count what frames take
// beyond their octets. So packets wait in the kernel, which knows their order, and not at the link.
const (
	shaped = 0.98
	burst  = 2 * mtu // octets
)

// shape limits an interface to the rate of its link, as an administrator would.
func shape(l netlink.Link, rate uint64) error {
	if rate == 0 {
		return nil
	}
	octets := uint64(shaped * float64(rate) / 8)
	return netlink.QdiscReplace(&netlink.Tbf{QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT},
		Rate: octets, Limit: math.MaxInt32, Buffer: netlink.Xmittime(octets, burst)})
}

// carrier turns the carrier of an interface on or off.
func carrier(tap *os.File, up bool) error {
	raw, err := tap.SyscallConn()
	if err != nil {
		return err
	}
	on := 0
	if up {
		on = 1
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetPointerInt(int(fd), unix.TUNSETCARRIER, on)
	})
	return cmp.Or(err, failed)
}

// Address returns host:port of the agent's gNMI server.
func (s *Switch) Address() string { return s.listener.Addr().String() }

// Do runs f in the network namespace of the kernel, on a thread of its own.
func (s *Switch) Do(f func() error) error { return s.ns.Do(f) }

// SetCarrier turns the carrier of a port on or off.
func (s *Switch) SetCarrier(port uint32, up bool) error { return carrier(s.taps[port], up) }

// Send puts a frame on the link of a port towards the kernel. A frame to a missing port, or to a
// port that is down, is lost.
func (s *Switch) Send(port uint32, frame []byte) {
	if tap := s.taps[port]; tap != nil {
		_, _ = tap.Write(frame) // EIO: the interface is down
	}
}

// read passes on the frames that the kernel sends at a port, until the tap is closed.
func (s *Switch) read(port uint32, tap *os.File) {
	raw, err := tap.SyscallConn()
	if err != nil {
		return
	}
	var buffers [batch][mtu + 32]byte
	frames := make([][]byte, 0, batch)
	for {
		frames = frames[:0]
		var failed error
		err := raw.Read(func(fd uintptr) (done bool) {
			for len(frames) < batch {
				b := buffers[len(frames)][:]
				n, err := unix.Read(int(fd), b)
				switch {
				case errors.Is(err, unix.EINTR):
				case errors.Is(err, unix.EAGAIN):
					return len(frames) > 0
				case err != nil:
					failed = err
					return true
				default:
					frames = append(frames, b[:n])
				}
			}
			return true
		})
		if len(frames) > 0 {
			s.cfg.Deliver(port, frames)
		}
		if err != nil || failed != nil {
			return
		}
	}
}

// Close ends the switch, and removes its namespace with all state of the kernel there.
func (s *Switch) Close() error {
	close(s.closed)
	if s.agent != nil {
		s.agent.Close()
	}
	var err error
	if s.server != nil {
		s.server.Stop()
	} else if s.listener != nil {
		err = s.listener.Close()
	}
	s.serving.Wait()
	for _, tap := range s.taps {
		err = errors.Join(err, tap.Close())
	}
	s.readers.Wait()
	if s.ns != nil {
		s.ns.Close()
	}
	return err
}
