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

	"github.com/weft-sdn/weft/cmd/weft/hostrun"
	"github.com/weft-sdn/weft/endpoint/uverbs"
	"github.com/weft-sdn/weft/internal/wholefile"
	"github.com/weft-sdn/weft/packet"
)

// door is where applications come in; nil where they may not.
type door struct {
	*uverbs.Server
	socket string
	more   bool // there is work that the last pump has left
	served chan error
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
	l, err := listen(a)
	if err != nil {
		return err
	}
	r.looping = true
	r.door = &door{socket: a.Socket, served: make(chan error, 1), Server: server}
	r.Endpoint = restless{r.nic, r.door}
	go func() { r.door.served <- r.door.Serve(l) }()
	log.Info("applications may connect", "socket", a.Socket, "device", a.Device)
	return nil
}

// restoreControl has a server begin with what a file has kept, where there is one that can be used.
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

// listen makes the socket, and its folder where that is missing.
func listen(a *Applications) (*net.UnixListener, error) {
	mode, gid := uint32(0o600), -1
	if a.Group != "" {
		g, err := user.LookupGroup(a.Group)
		if err != nil {
			return nil, err
		}
		if gid, err = strconv.Atoi(g.Gid); err != nil {
			return nil, err
		}
		mode = 0o660
	}
	if err := os.MkdirAll(filepath.Dir(a.Socket), 0o755); err != nil {
		return nil, fmt.Errorf("socket %s: %w", a.Socket, err)
	}
	l, err := uverbs.Listen(a.Socket, mode)
	if err != nil {
		return nil, err
	}
	if gid >= 0 {
		if err := os.Chown(a.Socket, -1, gid); err != nil {
			return nil, errors.Join(fmt.Errorf("socket %s: group %s: %w", a.Socket, a.Group, err), l.Close())
		}
	}
	return l, nil
}

// close ends the connections of applications.
func (d *door) close() error {
	if d == nil {
		return nil
	}
	return errors.Join(d.Server.Close(), <-d.served)
}

// setPort reports that the door has the NIC know of a port.
func (d *door) setPort(port int, up bool) bool {
	d.SetPort(port, up)
	return true
}

func (d *door) pump(now time.Duration) {
	if d != nil {
		d.more = d.Work(now)
	}
}

// rest reports whether there is more to do.
func (d *door) rest(now time.Duration) bool { return d != nil && d.Pump(now) }

// restless is a NIC that does not sleep while applications have more for it.
type restless struct {
	hostrun.Endpoint
	door *door
}

// Advance is the NIC's.
func (r restless) Advance(now time.Duration) (next time.Duration, pending bool) {
	next, pending = r.Endpoint.Advance(now)
	if r.door.more {
		return now, true
	}
	return next, pending
}
