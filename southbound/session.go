package southbound

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

// Session is a lasting relation to one switch. Its methods may be called from
// any goroutine.
type Session struct {
	cfg     Config
	handler Handler
	// stream, when not nil, takes what the switch sends over the stream but arbitration, and digests
	// are not acknowledged.
	stream func(context.Context, *p4v1.StreamMessageResponse)
	cancel context.CancelCauseFunc
	done   chan struct{} // closed when the session's goroutine has ended

	emitting sync.Mutex    // held while the handler runs
	ports    *gnmi.Watcher // nil: nothing is known of ports
	rival    rival         // lead's

	// mu guards the fields below it.
	mu      sync.Mutex
	state   State
	conn    *conn         // nil unless StateBackup or StateReady
	lastErr error         // why the session was down last
	changed chan struct{} // closed and replaced at every change of state
}

// Open starts a session, which lasts until Close or the end of ctx. It does not
// wait for the switch; the first event does. A nil handler ignores events.
func Open(ctx context.Context, cfg Config, handler Handler) (*Session, error) {
	return openWith(ctx, cfg, handler, nil)
}

func openWith(ctx context.Context, cfg Config, handler Handler,
	stream func(context.Context, *p4v1.StreamMessageResponse)) (*Session, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Name == "" {
		cfg.Name = cfg.Target
	}
	if handler == nil {
		handler = func(context.Context, Event) {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	s := &Session{
		cfg: cfg, handler: handler, stream: stream, cancel: cancel,
		done: make(chan struct{}), state: StateConnecting, changed: make(chan struct{}),
		rival: rival{held: cfg.Held, begun: time.Now()},
	}
	if !cfg.NoPortState {
		s.ports = gnmi.New(cfg.Watch(), func(ctx context.Context, p gnmi.State) {
			s.emit(ctx, PortsOf(p))
		})
	}
	go s.run(ctx)
	return s, nil
}

// Close ends the session and waits until its goroutines and the connection are
// gone. No event is delivered after it.
func (s *Session) Close() error {
	s.cancel(ErrClosed)
	<-s.done
	return nil
}

// State returns where the session stands and, when it is not connected, why.
func (s *Session) State() (State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stateNow(), s.lastErr
}

// stateNow is the state, StateDown when the connection has just been lost and
// the session's goroutine has yet to say so. s.mu is held.
func (s *Session) stateNow() State {
	if s.conn != nil && s.conn.ctx.Err() != nil {
		return StateDown
	}
	return s.state
}

// WaitReady waits until this controller is primary of a switch that runs the pipeline. The error
// gives the session's last reason for being down.
func (s *Session) WaitReady(ctx context.Context) error {
	for {
		s.mu.Lock()
		state, changed, lastErr := s.stateNow(), s.changed, s.lastErr
		s.mu.Unlock()
		switch state {
		case StateReady:
			return nil
		case StateClosed:
			return ErrClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			if lastErr != nil {
				return fmt.Errorf("%w (%s: last attempt: %w)", ctx.Err(), s.cfg.Name, lastErr)
			}
			return fmt.Errorf("%w (%s: %s)", ctx.Err(), s.cfg.Name, state)
		}
	}
}

// Write is [Client.Write] by the primary.
func (s *Session) Write(ctx context.Context, updates []entry.Update) ([]entry.Refusal, error) {
	c, err := s.primary()
	if err != nil {
		return nil, err
	}
	refused, err := c.client().Write(ctx, updates)
	return refused, s.named(err)
}

// Confirm is [Client.Confirm] by the primary.
func (s *Session) Confirm(ctx context.Context, updates []entry.Update) ([]entry.Refusal, error) {
	c, err := s.primary()
	if err != nil {
		return nil, err
	}
	refused, err := c.client().Confirm(ctx, updates)
	return refused, s.named(err)
}

// ReadAll is [Client.ReadAll]; a backup may read too.
func (s *Session) ReadAll(ctx context.Context) (entry.Contents, error) {
	c, err := s.connected()
	if err != nil {
		return entry.Contents{}, err
	}
	all, err := c.client().ReadAll(ctx)
	return all, s.named(err)
}

// ReadTable is [Client.ReadTable]; a backup may read too.
func (s *Session) ReadTable(ctx context.Context, table string) ([]entry.Table, error) {
	c, err := s.connected()
	if err != nil {
		return nil, err
	}
	entries, err := c.client().ReadTable(ctx, table)
	return entries, s.named(err)
}

// ReadCounters is [Client.ReadCounters]; a backup may read too.
func (s *Session) ReadCounters(ctx context.Context, name string) ([]entry.Counter, error) {
	c, err := s.connected()
	if err != nil {
		return nil, err
	}
	cells, err := c.client().ReadCounters(ctx, name)
	return cells, s.named(err)
}

// PacketOut hands a packet to the switch. It returns once the packet is queued
// for the stream: P4Runtime does not acknowledge packet-outs.
func (s *Session) PacketOut(ctx context.Context, p entry.PacketOut) error {
	c, err := s.primary()
	if err != nil {
		return err
	}
	return s.named(c.client().PacketOut(ctx, p))
}

// SetPort writes settings of an interface, by its name at the switch, as the primary. It returns
// the settings that the switch refuses. An error means that the switch may have applied some.
func (s *Session) SetPort(ctx context.Context, iface string, want *gnmi.Settings) ([]gnmi.Refusal,
	error) {
	c, err := s.primary()
	if err != nil {
		return nil, err
	}
	if s.ports == nil {
		return nil, s.named(fmt.Errorf("%w: gNMI is off", ErrUnsupported))
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.RequestTimeout)
	defer cancel()
	id := c.own()
	refused, err := s.ports.Set(ctx, gnmi.Election{Role: s.cfg.Role, High: id.High, Low: id.Low},
		iface, want)
	if errors.Is(err, gnmi.ErrNotConnected) {
		err = fmt.Errorf("%w by gNMI", ErrNotConnected)
	}
	return refused, s.named(err)
}

// run connects, serves and waits, until ctx ends.
func (s *Session) run(ctx context.Context) {
	defer close(s.done)
	defer s.setState(StateClosed, nil, nil)
	if !s.cfg.NoPortState && s.cfg.GNMI != "" {
		var apart sync.WaitGroup
		defer apart.Wait()
		apart.Go(func() {
			s.ports.Run(ctx, func() (grpc.ClientConnInterface, func(), error) {
				cc, err := s.cfg.Connect(s.cfg.GNMI)
				if err != nil {
					return nil, nil, err
				}
				return cc, func() { _ = cc.Close() }, nil
			})
		})
	}
	s.cfg.Backoff.Keep(ctx, func(ctx context.Context) (time.Duration, error) {
		s.setState(StateConnecting, nil, nil)
		return s.serve(ctx)
	}, func(err error, pause time.Duration) {
		s.setState(StateDown, nil, err)
		s.emit(ctx, Down{Err: err, Retry: pause})
	})
}

func (s *Session) emit(ctx context.Context, e Event) {
	s.emitting.Lock()
	defer s.emitting.Unlock()
	if ctx.Err() == nil {
		s.handler(ctx, e)
	}
}

// setState publishes the state; c is the connection that requests may use.
func (s *Session) setState(state State, c *conn, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state, s.conn = state, c
	switch {
	case err != nil:
		s.lastErr = err
	case c != nil:
		s.lastErr = nil
	}
	close(s.changed)
	s.changed = make(chan struct{})
}

// connected returns the connection of a session that is primary or backup.
func (s *Session) connected() (*conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.conn != nil && s.conn.ctx.Err() == nil:
		return s.conn, nil
	case s.state == StateClosed:
		return nil, s.named(ErrClosed)
	case s.lastErr != nil && !errors.Is(s.lastErr, ErrNotConnected):
		return nil, s.named(fmt.Errorf("%w: %w", ErrNotConnected, s.lastErr))
	}
	return nil, s.named(ErrNotConnected)
}

// primary returns the connection of a session that may write.
func (s *Session) primary() (*conn, error) {
	c, err := s.connected()
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != StateReady {
		return nil, s.named(ErrNotPrimary)
	}
	return c, nil
}

// named adds the name of the switch to an error.
func (s *Session) named(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", s.cfg.Name, err)
}

// asError turns a gRPC error for a whole request into one of this package's.
func asError(err error) error {
	if err == nil {
		return nil
	}
	st := status.Convert(err)
	sentinel := map[codes.Code]error{
		codes.Unavailable:        ErrNotConnected,
		codes.Canceled:           context.Canceled,
		codes.DeadlineExceeded:   context.DeadlineExceeded,
		codes.PermissionDenied:   ErrNotPrimary,
		codes.FailedPrecondition: ErrNoPipeline,
		codes.Unimplemented:      ErrUnsupported,
	}[st.Code()]
	if sentinel == nil {
		return err
	}
	return fmt.Errorf("%w: %s", sentinel, st.Message())
}

// codeOf is a canonical gRPC code from a message, never OK.
func codeOf(n int32) codes.Code {
	if n <= 0 || n > math.MaxInt16 {
		return codes.Unknown
	}
	return codes.Code(n)
}
