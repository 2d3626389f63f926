package southbound

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"golang.org/x/time/rate"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// portState is what a session knows of the ports of its switch. It belongs to the
// goroutine that watches them, of which there is one at a time.
type portState struct {
	up      map[uint32]bool // as told last; nil: nothing
	failing codes.Code      // why nothing more is told, as the owner knows; OK: it is
}

// watchPorts keeps a subscription to the states of the switch's ports until ctx
// ends. dial gives the connection, and what is to be done with it afterwards.
func (s *Session) watchPorts(ctx context.Context, dial func() (cc grpc.ClientConnInterface, release func(), err error)) {
	s.cfg.Backoff.Keep(ctx, func(ctx context.Context) (time.Duration, error) {
		cc, release, err := dial()
		if err != nil {
			return 0, err
		}
		defer release()
		served, err := s.subscribePorts(ctx, gpb.NewGNMIClient(cc))
		if ctx.Err() == nil && refused(err) {
			s.noPorts(ctx, err, nil)
			wait := time.NewTimer(s.cfg.PortStateRetry)
			defer wait.Stop()
			select {
			case <-wait.C:
			case <-ctx.Done():
			}
		}
		return served, err
	}, func(err error, _ time.Duration) { s.noPorts(ctx, err, s.ports.up) })
}

// noPorts tells the owner, once for each reason, that there is no subscription, and what is known
// all the same.
func (s *Session) noPorts(ctx context.Context, err error, known map[uint32]bool) {
	code := status.Code(err) // Unknown for what is no status
	if s.ports.failing == code && maps.Equal(known, s.ports.up) {
		return
	}
	s.ports = portState{up: known, failing: code}
	s.emit(ctx, Ports{Up: maps.Clone(known), Err: fmt.Errorf("gNMI: %w", err)})
}

// refused reports whether a switch that was asked for the states of its ports has
// none to tell: asking again soon is of no use.
func refused(err error) bool {
	switch status.Code(err) {
	case codes.Unimplemented, codes.InvalidArgument, codes.NotFound, codes.PermissionDenied, codes.Unauthenticated:
		return true
	}
	return false
}

// subscribePorts follows the states of the ports until that fails. served is the
// time since all were known.
func (s *Session) subscribePorts(ctx context.Context, client gpb.GNMIClient) (served time.Duration, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the stream
	stream, err := client.Subscribe(ctx, grpc.MaxCallRecvMsgSize(maxStreamMessage))
	if err != nil {
		return 0, err
	}
	if err := stream.Send(portStateRequest()); err != nil && !errors.Is(err, io.EOF) { // io.EOF: Recv has the reason
		return 0, err
	}
	var (
		all    interfaces
		synced time.Time
		pace   = rate.NewLimiter(portNotifications, portBurst)
	)
	for {
		// Flow control holds a switch back that sends more.
		if err := pace.Wait(ctx); err != nil {
			return 0, err
		}
		first := false
		m, err := stream.Recv()
		switch u := m.GetUpdate(); {
		case errors.Is(err, io.EOF):
			err = fmt.Errorf("%w: the switch ended the subscription to its ports", ErrNotConnected)
		case err != nil:
		case u != nil:
			err = all.take(u)
		case m.GetSyncResponse() && synced.IsZero():
			synced, first = time.Now(), true
		}
		if err != nil {
			if !synced.IsZero() {
				served = time.Since(synced)
			}
			return served, err
		}
		if synced.IsZero() {
			continue
		}
		if up := all.ports(); first || !maps.Equal(up, s.ports.up) {
			s.ports = portState{up: up}
			s.emit(ctx, Ports{Up: maps.Clone(up), Ignored: all.ignored})
		}
	}
}
