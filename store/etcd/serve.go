package etcd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver/api/v3rpc"
	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/internal/certs"
)

// An etcd ends its process if its disk fails, because it cannot take back an acknowledged write. An
// etcd also ends its process when it reads damaged data in its database. The controller must
// survive this, so the server runs in a separate process ([Config.Apart]): the same program,
// started with [serverMark] in its environment. A socket (file 3) connects the two. The controller
// sends commands over the socket, and hands over one end of each connection of its client. The
// server ends at once when the controller has gone, because the socket is then closed. File 4 is
// the lock of the data directory, which lasts until both processes have ended.

const (
	// serverMark is set in the environment of a server's process.
	serverMark = "WEFT_ETCD_SERVER"
	// controlFile is the descriptor of the socket to the controller.
	controlFile = 3
	// maxMessage is the maximum length of a message on the socket, in octets.
	maxMessage = 64 << 10
	// leadLook is how often the server checks whether this member leads.
	leadLook = 100 * time.Millisecond
)

// order is a message from the controller to the server.
type order struct {
	// Start is the first message.
	Start *startOrder `json:"start,omitempty"`
	// Do is "connect", with one end of a connection, "yield" or "stop".
	Do string `json:"do,omitempty"`
}

// startOrder has the fields of a [Config] for the server process.
type startOrder struct {
	Dir      string            `json:"dir"`
	NoSync   bool              `json:"noSync,omitempty"`
	Name     string            `json:"name,omitempty"` // with the following: of Peers
	Listen   string            `json:"listen,omitempty"`
	Members  map[string]string `json:"members,omitempty"`
	Cert     string            `json:"cert,omitempty"`
	Key      string            `json:"key,omitempty"`
	CA       string            `json:"ca,omitempty"`
	Election time.Duration     `json:"election,omitempty"`
	Compare  time.Duration     `json:"compare,omitempty"`
}

func (c *Config) order() *startOrder {
	s := &startOrder{Dir: c.Dir, NoSync: c.NoSync, Compare: c.compare}
	if p := c.Peers; p != nil {
		s.Name, s.Listen, s.Members, s.Election = p.Name, p.Listen, p.Members, p.Election
		s.Cert, s.Key, s.CA = p.TLS.CertFile, p.TLS.KeyFile, p.TLS.ClientCAFile
	}
	return s
}

func (s *startOrder) config(log *slog.Logger) *Config {
	c := &Config{Dir: s.Dir, NoSync: s.NoSync, Log: log, compare: s.Compare}
	if s.Members != nil {
		c.Peers = &Peers{
			Name: s.Name, Listen: s.Listen, Members: s.Members, Election: s.Election,
			TLS: certs.Server{CertFile: s.Cert, KeyFile: s.Key, ClientCAFile: s.CA},
		}
	}
	return c
}

// word is a message from the server to the controller.
type word struct {
	Ready bool `json:"ready,omitempty"`
	// Leads reports whether this member leads the etcd, when that has changed.
	Leads *bool `json:"leads,omitempty"`
	// Yielded answers "yield"; Fault is what went wrong, "" for nothing.
	Yielded bool `json:"yielded,omitempty"`
	// Differs is why this member is to stop for good: the controller then stops the server.
	Differs string `json:"differs,omitempty"`
	// Ended reports that the server ends. Fault gives the reason, and Is indexes its error in reasons;
	// 0: no such error.
	Ended bool   `json:"ended,omitempty"`
	Fault string `json:"fault,omitempty"`
	Is    int    `json:"is,omitempty"`
}

// reasons are the errors that survive the way from the server to the controller.
var reasons = []error{nil, ErrDataLost, ErrDamaged, ErrReplaced, ErrForeign, ErrRestored,
	ErrDiffers}

// reason is an error that came from the server.
type reason struct {
	text string
	is   error
}

func (r *reason) Error() string { return r.text }
func (r *reason) Unwrap() error { return r.is }

func (w *word) err() error {
	is := error(nil)
	if w.Is > 0 && w.Is < len(reasons) {
		is = reasons[w.Is]
	}
	return &reason{w.Fault, is}
}

// IsServer reports whether this process was started to be the server of a controller. A program
// that opens stores with [Config.Apart] calls [Serve] then, before anything else.
func IsServer() bool { return os.Getenv(serverMark) != "" }

// Serve is the server of a controller. It returns the exit status of the process.
func Serve() int {
	// The controller ends the server, in its own order; a terminal and systemd signal both.
	signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	f := os.NewFile(controlFile, "control")
	conn, err := net.FileConn(f)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s is set, and no controller started this process: %v\n", serverMark, err)
		return 2
	}
	_ = f.Close() // conn has its own
	s := &served{control: conn.(*net.UnixConn), conns: make(chan net.Conn),
		stopping: make(chan struct{}), gone: func() { os.Exit(1) }}
	return s.serve(slog.New(slog.NewJSONHandler(os.Stderr, nil)))
}

// serve runs the server that the first order is for. It returns the exit status of the process.
func (s *served) serve(log *slog.Logger) int {
	o, _, err := s.read()
	if err != nil || o.Start == nil {
		return 1
	}
	if err := s.run(o.Start.config(log)); err != nil {
		w := word{Ended: true, Fault: err.Error()}
		for i := range reasons {
			if errors.Is(err, reasons[i]) {
				w.Is = i
			}
		}
		s.say(w)
		return 1
	}
	return 0
}

// served is the server in a process of its own.
type served struct {
	control  *net.UnixConn
	conns    chan net.Conn
	stopping chan struct{} // closed when it is to stop
	gone     func()        // ends the process at once: the controller is gone

	mu     sync.Mutex
	server *server // nil: it starts
}

func (s *served) say(w word) {
	text, err := json.Marshal(w)
	if err == nil {
		_, _ = s.control.Write(text) // a controller that is gone ends this process
	}
}

// read returns the next order, with a connection or nil.
func (s *served) read() (o order, conn net.Conn, err error) {
	text, rights := make([]byte, maxMessage), make([]byte, unix.CmsgSpace(4))
	n, m, _, _, err := s.control.ReadMsgUnix(text, rights)
	if err != nil {
		return o, nil, err
	}
	if err := json.Unmarshal(text[:n], &o); err != nil {
		return o, nil, err
	}
	messages, err := unix.ParseSocketControlMessage(rights[:m])
	if err != nil || len(messages) == 0 {
		return o, nil, err
	}
	files, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return o, nil, err
	}
	for _, fd := range files {
		syscall.CloseOnExec(fd)
		f := os.NewFile(uintptr(fd), "connection")
		if conn, err = net.FileConn(f); err == nil {
			err = f.Close()
		}
	}
	return o, conn, err
}

// follow carries out orders until the controller is gone. Then it ends the process at once, as kill
// -9 does: the process has no user any more.
func (s *served) follow() {
	stop := sync.OnceFunc(func() { close(s.stopping) })
	for {
		o, conn, err := s.read()
		if err != nil {
			s.gone()
			return
		}
		switch o.Do {
		case "connect":
			if conn != nil {
				go func() { s.conns <- conn }()
			}
		case "stop":
			stop()
		case "yield":
			go s.yield()
		}
	}
}

func (s *served) yield() {
	s.mu.Lock()
	server := s.server
	s.mu.Unlock()
	w := word{Yielded: true}
	if server != nil {
		if err := server.Server.TryTransferLeadershipOnShutdown(); err != nil {
			w.Fault = cmp.Or(err.Error(), "failed")
		}
	}
	s.say(w)
}

// run serves until the controller has it stop, or something fails.
func (s *served) run(c *Config) (err error) {
	go s.follow()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-s.stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	log := newCore(c.Log)
	server, err := orDamaged(c, func() (*server, error) { return c.serve(ctx, log) })
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return c.explain(err, log)
	}
	s.mu.Lock()
	s.server = server
	s.mu.Unlock()
	rpc := v3rpc.Server(server.Server, nil, nil)
	go func() { _ = rpc.Serve(s) }()
	s.say(word{Ready: true})
	if c.Peers != nil {
		server.watchContents(c.Peers, cmp.Or(c.compare, compareEvery), func(err error) {
			s.say(word{Differs: err.Error()})
		})
	}
	leads := false
	look := time.Tick(leadLook)
	for err == nil {
		select {
		case <-look:
			if is := server.leads(); is != leads {
				leads = is
				s.say(word{Leads: &is})
			}
			continue
		case <-s.stopping:
		case err = <-server.failed:
			err = c.explain(err, log)
		case <-server.Server.StopNotify():
			err = c.explain(errors.New("etcd stopped"), log)
		}
		break
	}
	server.close()
	rpc.Stop()
	return err
}

// leads reports whether this member leads the etcd.
func (s *server) leads() bool { return s.Server.Leader() == s.Server.MemberID() }

// Accept implements [net.Listener]: a connection is one that the controller hands over.
func (s *served) Accept() (net.Conn, error) {
	select {
	case c := <-s.conns:
		return c, nil
	case <-s.stopping:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (*served) Close() error { return nil }

// Addr implements [net.Listener].
func (s *served) Addr() net.Addr { return s.control.LocalAddr() }

// orDamaged calls a function that reads a data directory, and converts a panic over a damaged
// directory to an error. A database is mapped to memory, so a truncated file, or a file that the
// disk cannot read, causes a memory fault.
func orDamaged[T any](c *Config, read func() (T, error)) (out T, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %s cannot be read: %v", ErrDamaged, c.database(), p)
		}
	}()
	return read()
}
