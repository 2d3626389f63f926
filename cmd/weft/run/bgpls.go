package run

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/weft-sdn/weft/topology/bgpls"
	"github.com/weft-sdn/weft/topology/static"
)

// Sessions are what a BGP-LS speaker is started with.
type Sessions struct {
	Config bgpls.Config
	Peers  []bgpls.Peer
}

// start starts the speaker.
func (s *Sessions) start(ctx context.Context) (*bgpls.Speaker, error) {
	speaker, err := bgpls.Start(ctx, s.Config)
	if err != nil {
		return nil, err
	}
	for _, p := range s.Peers {
		if err := speaker.AddPeer(ctx, p); err != nil {
			return nil, errors.Join(err, speaker.Close())
		}
	}
	return speaker, nil
}

// Advertisement is what a switch advertises, and to whom.
type Advertisement struct {
	Sessions
	Topology *static.Topology
	Node     string // the switch, a node of Topology
}

// run advertises the switch until ctx ends. run advertises the links of ports that are up, and
// again after each signal on changed.
func (a *Advertisement) run(ctx context.Context, changed <-chan struct{},
	ports func(context.Context) (map[uint32]bool, error)) error {
	speaker, err := a.start(ctx)
	if err != nil {
		return err
	}
	for {
		up, err := ports(ctx)
		if err == nil {
			// it has the node
			said, _ := a.Topology.Of(a.Node, func(port uint32) bool { return up[port] })
			objects := bgpls.Objects(said)
			err = speaker.Originate(&objects)
		}
		if err != nil {
			if ctx.Err() != nil {
				err = nil
			}
			return errors.Join(err, speaker.Close())
		}
		select {
		case <-changed:
		case <-speaker.Done():
			return speaker.Err()
		case <-ctx.Done():
			return speaker.Close()
		}
	}
}

// Speaker advertises switches by BGP-LS that cannot do so themselves.
type Speaker struct {
	Sessions
	Log *slog.Logger
	// Objects returns the present advertisements; called on each SIGHUP.
	Objects func() ([]*bgpls.Objects, error)
}

// Run advertises objects, and what follows them, until ctx ends.
func (s *Speaker) Run(ctx context.Context, all []*bgpls.Objects) error {
	// Before the sessions: a signal that came earlier would end the process.
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	defer signal.Stop(again)
	speaker, err := s.start(ctx)
	if err != nil {
		return err
	}
	if err := speaker.Originate(all...); err != nil {
		return errors.Join(err, speaker.Close())
	}
	s.Log.Info("speaker is up", "nodes", len(all), "peers", len(s.Peers), "listen",
		speaker.ListenAddr().String())
	return errors.Join(s.follow(ctx, speaker, again, s.Log), speaker.Close())
}

// follow advertises the file anew on each signal, until ctx ends.
func (s *Speaker) follow(ctx context.Context, speaker *bgpls.Speaker, again <-chan os.Signal,
	log *slog.Logger,
) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-speaker.Done():
			return nil // Close returns why
		case <-again:
		}
		all, err := s.Objects()
		if err == nil {
			err = speaker.Originate(all...)
		}
		if err != nil {
			log.Error("the file is not used", "reason", err)
			continue
		}
		log.Info("the file is read again", "nodes", len(all))
	}
}
