package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/weft-sdn/weft/store"
)

// The pause before a server that has ended is started again doubles from againMin to againMax.
const (
	againMin = 500 * time.Millisecond
	againMax = 10 * time.Second
	// tellTime is the time between the report of damage and the stop: the controller tells the other
	// controllers meanwhile.
	tellTime = 2 * time.Second
)

// ward keeps a server running in a separate process as long as the disk can be written.
type ward struct {
	c     *Config
	lock  *os.File
	disk  *disk
	log   *slog.Logger
	stop  context.CancelFunc
	ended chan struct{}
	// clean reports whether the last server ended in order, on a disk that takes writes. The
	// goroutine of run sets it; others read it after ended is closed.
	clean bool

	// mu guards the fields below it.
	mu     sync.Mutex
	server *process // nil: none takes requests
	why    error    // why none does
}

// openApart has the server in a process of its own.
func (s *Store) openApart(ctx context.Context, c *Config, lock *os.File) error {
	w := &ward{c: c, lock: lock, disk: newDisk(c), log: c.Log, ended: make(chan struct{})}
	if w.log == nil {
		w.log = slog.New(slog.DiscardHandler)
	}
	first, err := w.start(ctx)
	if err != nil {
		w.disk.close()
		return err
	}
	w.server = first
	client, err := clientv3.New(clientv3.Config{
		// what is wrong with the server the ward says
		Endpoints: []string{"etcd"}, Logger: zap.New(newClientCore(nil)),
		MaxCallSendMsgSize: maxRequest + 1<<20,
		DialOptions: []grpc.DialOption{
			grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return w.connect() }),
			grpc.WithConnectParams(grpc.ConnectParams{
				Backoff: backoff.Config{BaseDelay: 20 * time.Millisecond, Multiplier: 1.6,
					MaxDelay: againMin},
				MinConnectTimeout: dialTimeout,
			}),
			grpc.WithIdleTimeout(0),
		},
	})
	if err != nil {
		first.stop()
		w.disk.close()
		return err
	}
	if c.Peers != nil {
		s.health = newHealth(client, defaultPrefix)
	}
	running, stop := context.WithCancel(context.Background())
	w.stop = stop
	go w.run(running)
	s.client, s.ward = client, w
	s.free = w.writable
	s.close = func() error {
		s.health.close()
		w.stop()
		err := client.Close()
		<-w.ended
		w.disk.close()
		if errors.Is(err, context.Canceled) {
			err = nil
		}
		return err
	}
	return nil
}

// start starts a server and waits until it takes requests, the disk fails or ctx ends.
func (w *ward) start(ctx context.Context) (*process, error) {
	p, err := spawn(w.c, w.lock)
	if p == nil {
		return nil, err
	}
	for {
		state, changed := w.disk.now()
		if state.Out() {
			p.stop()
			return nil, state.err()
		}
		select {
		case <-p.ready:
			return p, nil
		case <-p.ended:
			if p.err == nil {
				return nil, errors.New("etcd stopped while it started")
			}
			return nil, p.err
		case <-changed:
		case <-ctx.Done():
			p.kill() // it has promised nothing yet that is not on the disk
			return nil, ctx.Err()
		}
	}
}

// connect returns a connection to the server.
func (w *ward) connect() (net.Conn, error) {
	w.mu.Lock()
	p, why := w.server, w.why
	w.mu.Unlock()
	if p == nil {
		return nil, why
	}
	return p.connect()
}

// set puts a server in force, or none with the reason.
func (w *ward) set(p *process, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.server, w.why = p, why
}

// run keeps a server running until ctx ends.
func (w *ward) run(ctx context.Context) {
	defer close(w.ended)
	for {
		w.mu.Lock()
		p := w.server
		w.mu.Unlock()
		why := w.follow(ctx, p)
		state, _ := w.disk.now()
		w.clean = p.clean() && state.State != store.DiskFailed
		w.set(nil, why)
		if ctx.Err() != nil {
			return
		}
		w.log.Error("etcd has ended", "dir", w.c.Dir, "reason", why)
		if !w.again(ctx) {
			return
		}
		w.log.Info("etcd takes requests again", "dir", w.c.Dir)
	}
}

// follow returns when a server has ended, with the reason; it stops one whose disk fails.
func (w *ward) follow(ctx context.Context, p *process) error {
	for {
		state, changed := w.disk.now()
		if state.Out() {
			p.stop()
			return state.err()
		}
		select {
		case <-p.ended:
			// The disk may say more than the server did.
			if state, _ := w.disk.look(); state.Out() {
				return fmt.Errorf("%w: %w", state.err(), p.err)
			}
			if p.err == nil {
				return errors.New("its process ended")
			}
			return p.err
		case why := <-p.differs:
			w.disk.condemn(why)
			select {
			case <-time.After(tellTime):
			case <-p.ended:
			case <-ctx.Done():
			}
		case <-changed:
		case <-ctx.Done():
			p.stop()
			return errors.New("the store is closed")
		}
	}
}

// again starts a server as soon as the disk takes one. It returns false when ctx ends.
func (w *ward) again(ctx context.Context) bool {
	pause := againMin
	for {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return false
		}
		state, changed := w.disk.now()
		if !state.Back() {
			w.set(nil, state.err())
			select {
			case <-changed:
			case <-ctx.Done():
				return false
			}
			continue
		}
		p, err := w.restart(ctx)
		if err == nil {
			w.set(p, nil)
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		if errors.Is(err, ErrDiffers) {
			w.disk.condemn(err)
		}
		w.set(nil, err)
		w.log.Error("etcd cannot be started", "dir", w.c.Dir, "reason", err, "retry", pause)
		pause = min(2*pause, againMax)
	}
}

// restart starts a server after the previous server, on the data that are surely on the disk.
func (w *ward) restart(ctx context.Context) (*process, error) {
	if !w.clean {
		if err := w.c.renew(); err != nil {
			return nil, err
		}
	}
	w.clean = false
	return w.start(ctx)
}

// down returns why no server takes requests, or nil.
func (w *ward) down() error {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.server != nil {
		return nil
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, w.why)
}

// writable returns why a write may not begin.
func (w *ward) writable() error {
	if err := w.down(); err != nil {
		return err
	}
	return w.disk.room()
}

// kill ends the server at once, and for good.
func (w *ward) kill() {
	w.mu.Lock()
	p := w.server
	w.mu.Unlock()
	if p != nil {
		p.kill()
	}
	w.stop()
	<-w.ended
}

func (w *ward) leads() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.server != nil && w.server.leads.Load()
}

func (w *ward) yield(ctx context.Context) error {
	w.mu.Lock()
	p := w.server
	w.mu.Unlock()
	if p == nil {
		return w.down()
	}
	return p.yield(ctx)
}
