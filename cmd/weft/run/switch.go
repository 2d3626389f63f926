package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/gnmi"
	"github.com/weft-sdn/weft/dataplane/live"
	"github.com/weft-sdn/weft/dataplane/live/afpacket"
	"github.com/weft-sdn/weft/dataplane/live/capture"
	"github.com/weft-sdn/weft/dataplane/live/interfaces"
	"github.com/weft-sdn/weft/dataplane/live/metrics"
	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/dataplane/trace/stream"
	"github.com/weft-sdn/weft/internal/certs"
)

// StopGrace is how long calls in progress may take when a command is asked to end.
const StopGrace = 5 * time.Second

// SharedError reports that the kernel takes part on the interface of a port.
type SharedError struct {
	Port uint32
	Err  error // names the interface
}

func (e *SharedError) Error() string { return fmt.Sprintf("port %d: %v", e.Port, e.Err) }

// TwiceError reports that an interface was given to two ports, by its name and by an address.
type TwiceError struct {
	Port  uint32
	Text  string // as it was given for the port
	Name  string // of the interface
	Other uint32 // the other port
}

func (e *TwiceError) Error() string {
	return fmt.Sprintf("--interface %d@%s: %s has port %d already", e.Port, e.Text, e.Name, e.Other)
}

// Switch is an embedded switch on network interfaces.
type Switch struct {
	Log     *slog.Logger
	Version string // of this program
	Device  uint64 // P4Runtime's id of it
	Switch  dataplane.Config
	Address string // host:port of P4Runtime and gNMI
	Server  p4rt.ServerConfig

	// HTTP is the host:port of metrics and traces, "" for none. It has the certificates of TLS; Stall
	// is how long a client may leave a trace unread.
	HTTP  string
	TLS   certs.Server
	Stall time.Duration

	// Interfaces are the network interfaces of the ports, by name or address. Wait is how long to wait
	// for those that do not exist yet.
	Interfaces map[uint32]string
	Wait       time.Duration

	Program *engine.Program         // nil: none until a controller sends one
	Queues  func(*dataplane.Switch) // sets depths and rates
	// Captures is the folder of a file for each direction of each interface, "" for none; Dump the
	// octets of each frame to log.
	Captures string
	Dump     int

	Advertise *Advertisement // by BGP-LS; nil: nothing

	// ConfigDB is the file for the configuration of a kernel, "" for none.
	ConfigDB string
}

func (s *Switch) secured() bool { return s.Server.Credentials != nil }

// Run runs the switch until ctx ends.
func (s *Switch) Run(ctx context.Context) (err error) {
	log := s.Log
	listener, err := net.Listen("tcp", s.Address)
	if err != nil {
		return fmt.Errorf("P4Runtime server: %w", err)
	}
	names, err := s.findPorts(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	ports, closeFiles, err := s.openPorts(names)
	defer func() { err = errors.Join(err, closeFiles()) }()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	state := gnmi.NewServer(gnmi.System{Hostname: hostname(), Software: s.Version,
		DeviceID: s.Device})
	changed := make(chan struct{}, 1) // a port
	config := s.Switch
	config.PortChanged = func(port uint32, up bool) {
		state.PortChanged(port, up)
		select {
		case changed <- struct{}{}:
		default: // the one that waits will do
		}
	}
	runner, err := live.Start(live.Config{
		Device: p4rt.Config{ID: s.Device, Switch: config}, Ports: ports,
	})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	server := p4rt.NewServer(s.Server)
	if err := server.Add(runner.Sessions(), runner); err != nil {
		return errors.Join(err, runner.Close(), listener.Close())
	}
	state.Register(server, interfaces.New(runner, names))
	if err := runner.WithDevice(ctx, func(_ time.Duration, d *p4rt.Device) {
		s.Queues(d.Switch())
		if s.Program != nil {
			d.Switch().SetProgram(s.Program)
		}
	}); err != nil {
		return errors.Join(err, runner.Close(), listener.Close())
	}
	var shown *HTTP
	if s.HTTP != "" {
		if shown, err = ListenHTTP(s.HTTP, s.handler(runner, server, names), s.TLS,
			server.Limiter(), log); err != nil {
			return errors.Join(err, runner.Close(), listener.Close())
		}
		log.Info("metrics and traces are up", "http", shown.Address.String(), "tls", s.secured())
	}
	defer forgetElections(ctx, runner, log)()
	log.Info("switch is up", "device", s.Device, "p4runtime", listener.Addr().String(), "ports",
		len(ports), "tls", s.secured())
	err = s.serve(ctx, server, listener, changed, portsUp(runner), func(grace context.Context) error {
		state.Close()
		server.Close(grace)
		return shown.Close(grace)
	})
	for _, port := range slices.Sorted(maps.Keys(names)) {
		logPort(log, port, names[port], runner.PortStats(port))
	}
	if n := runner.NoSuchPort(); n > 0 {
		log.Warn("frames for ports there are not", "frames", n)
	}
	return errors.Join(err, runner.Close())
}

// handler is what the switch shows over HTTP.
func (s *Switch) handler(runner *live.Runner, server *p4rt.Server,
	names map[uint32]string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics.New(metrics.Config{
		Switch: runner, Server: server, DeviceID: s.Device, Version: s.Version, Interfaces: names,
	}))
	mux.Handle("GET "+stream.Path, stream.Handler(runner, s.Stall))
	return mux
}

func logPort(log *slog.Logger, port uint32, name string, n live.PortStats) {
	log.Info("port", "port", port, "interface", name, "received", n.Received, "receivedOctets",
		n.RxOctets,
		"receiveDrops", n.RxDropped+n.RxLost.Overrun+n.RxLost.Oversize, "sent", n.Sent, "sentOctets",
		n.SentOctets, "sendDrops", n.TxDropped)
}

// findPorts returns the interfaces by port with their names, where some are given by addresses.
func (s *Switch) findPorts(ctx context.Context) (map[uint32]string, error) {
	ports := slices.Sorted(maps.Keys(s.Interfaces))
	texts := make([]string, len(ports))
	for i, p := range ports {
		texts[i] = s.Interfaces[p]
	}
	found, err := Interfaces(ctx, s.Wait, texts...)
	if err != nil {
		return nil, err
	}
	out := make(map[uint32]string, len(ports))
	taken := make(map[string]uint32, len(ports))
	for i, p := range ports {
		if other, twice := taken[found[i]]; twice {
			return nil, &TwiceError{Port: p, Text: texts[i], Name: found[i], Other: other}
		}
		out[p], taken[found[i]] = found[i], p
	}
	return out, nil
}

// openPorts opens the interfaces; names gives the present names. openPorts returns closeFiles even
// after a failure. closeFiles closes the capture files of the ports, once the ports are closed.
func (s *Switch) openPorts(names map[uint32]string) (
	ports map[uint32]live.Port, closeFiles func() error, err error,
) {
	var files []*capture.File
	closeFiles = func() error {
		var errs []error
		for _, f := range files {
			errs = append(errs, f.Close())
		}
		return errors.Join(errs...)
	}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		if isAddress(s.Interfaces[n]) {
			continue // it has to keep it
		}
		if err := unshared(names[n]); err != nil {
			return nil, closeFiles, &SharedError{Port: n, Err: err}
		}
	}
	ports = make(map[uint32]live.Port, len(names))
	fail := func(err error) (map[uint32]live.Port, func() error, error) {
		errs := []error{err}
		for _, open := range ports {
			errs = append(errs, open.Close())
		}
		return nil, closeFiles, errors.Join(errs...)
	}
	for _, n := range slices.Sorted(maps.Keys(names)) {
		name := names[n]
		log := s.Log.With("port", n, "interface", name)
		p, err := afpacket.OpenPolled(s.Interfaces[n], log)
		if err != nil {
			return fail(err)
		}
		ports[n] = p
		if s.Captures != "" {
			tap := &capture.Tap{Port: ports[n]}
			for suffix, frames := range map[string]*func([][]byte){
				"_in.pcap": &tap.In, "_out.pcap": &tap.Out} {
				file, err := capture.Create(filepath.Join(s.Captures, name+suffix), func(err error) {
					log.Error("frames are not written any more", "error", err)
				})
				if err != nil {
					return fail(fmt.Errorf("--pcap: %w", err))
				}
				files, *frames = append(files, file), file.Write
			}
			ports[n] = tap
		}
		if s.Dump > 0 {
			d := &dumper{log, s.Dump}
			ports[n] = &capture.Tap{Port: ports[n], In: d.frames("frame in"), Out: d.frames("frame out")}
		}
	}
	return ports, closeFiles, nil
}

// serve runs the server, and the switch's advertisement if configured, until either or ctx ends.
// Then serve calls end, which closes the server within the time of its context.
func (s *Switch) serve(ctx context.Context, server *p4rt.Server, listener net.Listener,
	changed <-chan struct{}, up func(context.Context) (map[uint32]bool, error),
	end func(grace context.Context) error) error {
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	saying, quiet := context.WithCancel(ctx)
	said := make(chan error, 1)
	if s.Advertise != nil {
		go func() { said <- s.Advertise.run(saying, changed, up) }()
	} else {
		context.AfterFunc(saying, func() { said <- nil })
	}
	var err error
	select {
	case how := <-served:
		served <- how
	case err = <-said:
		said <- nil
	case <-ctx.Done():
	}
	quiet()
	err = errors.Join(err, <-said)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopGrace)
	defer cancel()
	ended := end(grace)
	return errors.Join(err, <-served, ended)
}
