package mrchost

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"github.com/weft-sdn/weft/host/hostrun"
	"github.com/weft-sdn/weft/host/uverbs"
	"github.com/weft-sdn/weft/internal/wholefile"
	"github.com/weft-sdn/weft/packet"
)

// door is where applications come in; nil where they may not.
type door struct {
	*uverbs.Server
	found  bool // by the last pump: work for Advance
	served chan struct{}
	failed chan error // why no application can come in any more
}

// sockets are the sockets of a door: for data, and for control and data.
const sockets = 2

// controlSuffix follows the name of the socket for data in that of the socket for control
// (host/libmrc/src/nic.h).
const controlSuffix = ".control"

func newDoor(s *uverbs.Server) *door {
	return &door{Server: s, served: make(chan struct{}, sockets), failed: make(chan error, sockets)}
}

// routedOverhead is the octets around the payload of a request with source routing.
const routedOverhead = requestOverhead + packet.IPv6Len + packet.SRHFixedLen + packet.SegmentLen

// open lets applications in, if they may.
func (r *runner) open(log *slog.Logger) error {
	a := r.cfg.Applications
	if a == nil {
		return nil
	}
	mtu := 0
	for _, link := range r.links {
		if link.MTU > 0 && (mtu == 0 || link.MTU < mtu) {
			mtu = link.MTU
		}
	}
	cfg := uverbs.Config{NIC: r.nic, Do: r.do, Name: a.Device, MTU: mtu, Overhead: routedOverhead,
		Log: log, LocalControl: a.LocalControl}
	if a.State != "" {
		cfg.Keep = func(text []byte) error { return wholefile.Put(a.State, text) }
	}
	server := uverbs.New(cfg)
	if err := restoreControl(server, a.State, log); err != nil {
		return err
	}
	data, err := listen(a.Socket, a.Group)
	if err != nil {
		return err
	}
	control, err := listen(a.Socket+controlSuffix, a.ControlGroup)
	if err != nil {
		return errors.Join(err, data.Close())
	}
	r.looping = true
	r.door = newDoor(server)
	r.Endpoint = restless{r.nic, r.door}
	go r.door.serve(data, false, r.do)
	go r.door.serve(control, true, r.do)
	log.Info("applications may connect", "socket", a.Socket, "device", a.Device)
	return nil
}

// serve accepts applications until the server is closed. After a failure it wakes the NIC by do,
// and pump returns the error.
func (d *door) serve(l *net.UnixListener, control bool, do func(func(time.Duration)) error) {
	defer func() { d.served <- struct{}{} }()
	if err := d.Serve(l, control); err != nil {
		d.failed <- fmt.Errorf("socket %s: %w", l.Addr(), err)
		_ = do(func(time.Duration) {}) // the NIC has ended by itself
	}
}

// restoreControl restores the server's state from a file, if the file exists and is valid.
func restoreControl(s *uverbs.Server, file string, log *slog.Logger) error {
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("applications.state: %w", err)
	}
	if err := s.Restore(text); err != nil {
		log.Error("the NIC begins without what mrc_ctl has configured", "file", file, "reason", err)
	}
	return nil
}

// listen makes a socket for the NIC's user and a group, and its folder where that is missing.
func listen(socket, group string) (*net.UnixListener, error) {
	mode, gid := uint32(0o600), -1
	if group != "" {
		g, err := user.LookupGroup(group)
		if err != nil {
			return nil, err
		}
		if gid, err = strconv.Atoi(g.Gid); err != nil {
			return nil, err
		}
		mode = 0o660
	}
	if err := os.MkdirAll(filepath.Dir(socket), 0o755); err != nil {
		return nil, fmt.Errorf("socket %s: %w", socket, err)
	}
	l, err := uverbs.Listen(socket, mode)
	if err != nil {
		return nil, err
	}
	if gid >= 0 {
		if err := os.Chown(socket, -1, gid); err != nil {
			return nil, errors.Join(fmt.Errorf("socket %s: group %s: %w: want the user of weft nic in this "+
				"group (systemd: SupplementaryGroups=)", socket, group, err), l.Close())
		}
	}
	return l, nil
}

// close ends the connections of applications.
func (d *door) close() error {
	if d == nil {
		return nil
	}
	err := d.Server.Close()
	for range sockets {
		<-d.served // pump has its error
	}
	return err
}

// setPort reports that the door has the NIC know of a port.
func (d *door) setPort(port int, up bool) bool {
	d.SetPort(port, up)
	return true
}

// pump has the NIC work for applications; an error ends it.
func (d *door) pump(now time.Duration) error {
	if d == nil {
		return nil
	}
	d.found = d.Work(now)
	select {
	case err := <-d.failed:
		return err
	default:
		return nil
	}
}

// memory returns the report's part about applications' memory.
func (d *door) memory() *MemoryReport {
	if d == nil {
		return nil
	}
	return &MemoryReport{Waits: d.Memory().Waits, GivenUp: d.Memory().GivenUp}
}

// rest reports whether applications have given the NIC work since the NIC's last Advance.
func (d *door) rest(now time.Duration) bool { return d != nil && (d.Pump(now) || d.found) }

// restless is a NIC that does not sleep after applications have given it work.
type restless struct {
	hostrun.Endpoint
	door *door
}

// Advance is the NIC's.
func (r restless) Advance(now time.Duration) (next time.Duration, pending bool) {
	next, pending = r.Endpoint.Advance(now)
	if r.door.found {
		return now, true
	}
	return next, pending
}
