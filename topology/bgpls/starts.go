package bgpls

import (
	"context"
	"sync"

	"github.com/osrg/gobgp/v4/api"
	"github.com/osrg/gobgp/v4/pkg/server"
)

// servers lists the GoBGP servers of this process. A starting server writes package variables of
// GoBGP that all servers read, so startServer holds the other servers meanwhile.
var servers struct {
	mu      sync.Mutex
	running map[*server.BgpServer]bool
}

// startServer starts a server while no other one works.
func startServer(ctx context.Context, s *server.BgpServer, global *api.Global) error {
	servers.mu.Lock()
	defer servers.mu.Unlock()
	release := make(chan struct{})
	var held, freed sync.WaitGroup
	defer freed.Wait()
	defer close(release)
	for other := range servers.running {
		held.Add(1)
		freed.Go(func() {
			holding := sync.OnceFunc(held.Done)
			defer holding() // a server that has stopped needs no holding
			hold(other, func() {
				holding()
				<-release
			})
		})
	}
	held.Wait()
	if err := s.StartBgp(ctx, &api.StartBgpRequest{Global: global}); err != nil {
		return err
	}
	if servers.running == nil {
		servers.running = make(map[*server.BgpServer]bool)
	}
	servers.running[s] = true
	return nil
}

func forgetServer(s *server.BgpServer) {
	servers.mu.Lock()
	defer servers.mu.Unlock()
	delete(servers.running, s)
}

// hold calls f while a server does nothing else: an option of a watcher is
// applied under the lock that everything the server does takes. The watcher
// itself sees nothing and ends at once.
func hold(s *server.BgpServer, f func()) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	const nobody = "192.0.2.0" // TEST-NET-1, RFC 5737
	_ = s.WatchEvent(ctx, server.WatchEventMessageCallbacks{},
		before(f, server.WatchUpdate(false, nobody, "")))
}

// before returns an option that calls f first. T is an unexported type of GoBGP.
func before[T any](f func(), option func(*T)) func(*T) {
	return func(t *T) {
		f()
		option(t)
	}
}
