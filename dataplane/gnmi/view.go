package gnmi

import (
	"context"
	"errors"
	"maps"
	"time"

	"google.golang.org/grpc/status"
)

// A view is the switch at one moment.
type view struct {
	at       time.Time
	system   System
	ports    []Port
	settings map[uint32]Settings // by port
	links    map[uint32]link     // by port; those that have changed
}

// view reads the switch.
func (s *Server) view(ctx context.Context, parts Parts) (*view, error) {
	ports, err := s.source.Ports(ctx, parts)
	if err != nil {
		return nil, sourceError(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &view{time.Now(), s.system, ports, maps.Clone(s.settings), maps.Clone(s.links)}, nil
}

// sourceError is the status of a failure of the source.
func sourceError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	return errClosed
}
