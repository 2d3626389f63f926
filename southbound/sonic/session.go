package sonic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc"

	"github.com/weft-sdn/weft/southbound"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

// Config defines how to reach a switch and how to treat it.
type Config struct {
	// Config is the common configuration of switches; PortOf must be set. Its P4Runtime fields have no
	// meaning here, and NoPortState turns off port states and counters.
	southbound.Config
	// ApplyTime is how long the switch may take from CONFIG_DB to APPL_DB. Default 5 s.
	ApplyTime time.Duration
	// SetTimeout bounds a Set, which the switch checks by its YANG models and carries out one after
	// the other. Default 2 m.
	SetTimeout time.Duration
}

const (
	defaultApplyTime  = 5 * time.Second
	defaultSetTimeout = 2 * time.Minute
)

// Session is a lasting relation to one switch, which connects again by itself. Its methods may be
// called from any goroutine.
type Session struct {
	cfg     Config
	handler southbound.Handler
	cancel  context.CancelFunc
	ended   sync.WaitGroup
	ports   *gnmi.Watcher

	emitting sync.Mutex // held while handler runs
	writing  sync.Mutex // held while a Set is carried out: the switch does one at a time

	// mu guards the fields below it.
	mu     sync.Mutex
	client gpb.GNMIClient // nil: not connected
	seen   taken          // what whoever wants rows knows of; nil: nobody has read the switch yet
}

// Open starts a session. handler gets [southbound.Ready] when the switch has answered, and again
// whenever it holds something else than this session has seen; [southbound.Down] and
// [southbound.Ports].
func Open(ctx context.Context, cfg Config, handler southbound.Handler) (*Session, error) {
	cfg.ApplyTime = cmp.Or(cfg.ApplyTime, defaultApplyTime)
	cfg.SetTimeout = cmp.Or(cfg.SetTimeout, defaultSetTimeout)
	cfg.Config = cfg.GNMIOnly()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.PortOf == nil {
		return nil, errors.New("want PortOf")
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &Session{cfg: cfg, handler: handler, cancel: cancel}
	if s.ports = gnmi.New(cfg.Watch(), func(ctx context.Context, p gnmi.State) {
		s.emit(ctx, southbound.PortsOf(p))
	}); !cfg.NoPortState {
		s.ended.Go(func() { s.ports.Run(ctx, s.dial) })
	}
	s.ended.Go(func() {
		cfg.Backoff.Keep(ctx, s.serve, func(err error, pause time.Duration) {
			s.emit(ctx, southbound.Down{Err: err, Retry: pause})
		})
	})
	return s, nil
}

// dial makes a connection for the states and counters of ports: a Set, which takes seconds, holds
// up nothing there.
func (s *Session) dial() (grpc.ClientConnInterface, func(), error) {
	cc, err := s.cfg.Connect(s.cfg.Target)
	if err != nil {
		return nil, nil, err
	}
	return cc, func() { _ = cc.Close() }, nil
}

// Close ends the session.
func (s *Session) Close() error {
	s.cancel()
	s.ended.Wait()
	return nil
}

func (s *Session) emit(ctx context.Context, e southbound.Event) {
	s.emitting.Lock()
	defer s.emitting.Unlock()
	if ctx.Err() == nil {
		s.handler(ctx, e)
	}
}

// serve connects, and watches the switch until that fails.
func (s *Session) serve(ctx context.Context) (served time.Duration, err error) {
	cc, err := s.cfg.Connect(s.cfg.Target)
	if err != nil {
		return 0, err
	}
	defer cc.Close()
	client := gpb.NewGNMIClient(cc)
	if err := s.probe(ctx, client); err != nil {
		return 0, err
	}
	begun := time.Now()
	s.mu.Lock()
	s.client, s.seen = client, nil
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.client = nil
		s.mu.Unlock()
	}()
	s.emit(ctx, southbound.Ready{})
	err = s.watch(ctx, client)
	return time.Since(begun), err
}

// probe asks whether the switch answers.
func (s *Session) probe(ctx context.Context, client gpb.GNMIClient) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ProbeTimeout)
	defer cancel()
	if _, err := client.Capabilities(ctx, &gpb.CapabilityRequest{}); err != nil {
		return fmt.Errorf("gNMI Capabilities: %w", err)
	}
	return nil
}

// connected returns the client of the present connection.
func (s *Session) connected() (gpb.GNMIClient, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client == nil {
		return nil, southbound.ErrNotConnected
	}
	return s.client, nil
}

// SetPort writes settings of an interface. A SONiC switch takes part in no election.
func (s *Session) SetPort(
	ctx context.Context, iface string, want *gnmi.Settings,
) ([]gnmi.Refusal, error) {
	refused, err := s.ports.Set(ctx, gnmi.Election{}, iface, want)
	if errors.Is(err, gnmi.ErrNotConnected) {
		err = fmt.Errorf("%w by gNMI", southbound.ErrNotConnected)
	}
	return refused, err
}
