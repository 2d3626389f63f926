package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	stdlog "log"
	"math"
	"net"
	"net/http"
	"path/filepath"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.etcd.io/etcd/client/pkg/v3/types"
	"go.etcd.io/etcd/server/v3/config"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/etcdhttp"
	"go.etcd.io/etcd/server/v3/etcdserver/api/membership"
	"go.etcd.io/etcd/server/v3/etcdserver/api/rafthttp"
	"go.etcd.io/etcd/server/v3/features"
	"go.uber.org/zap"
)

// server is an etcd within the process, its listener for peers, and its log. etcd's package embed
// starts a server too, but links gateways, listeners for clients, tracing and profiles, which this
// server does not have.
type server struct {
	Server *etcdserver.EtcdServer
	log    *core
	peers  *http.Server // nil: a single member
	failed chan error   // gets why the listener for peers has failed; of capacity 1
	// settled: the comparison at the start found no difference between members (compare).
	settled bool
}

// closeTime bounds the wait for requests of peers that are under way when a server closes.
const closeTime = time.Second

// member returns the configuration of a server, alone or with the peers of c. etcd keeps its
// defaults in package embed, so Weft repeats the shared defaults.
func (c *Config) member(log *core) *config.ServerConfig {
	s := &config.ServerConfig{
		Name: "weft", DataDir: filepath.Join(c.Dir, "etcd"), Logger: zap.New(log),
		InitialClusterToken: "etcd-cluster", NewCluster: true,
		TickMs: 100, ElectionTicks: heartbeats, InitialElectionTickAdvance: true, PreVote: true,
		SnapshotCount: etcdserver.DefaultSnapshotCount, SnapshotCatchUpEntries: catchUp,
		MaxSnapFiles: 5, MaxWALFiles: 5, BackendFreelistType: bolt.FreelistMapType,
		AutoCompactionMode: "revision", AutoCompactionRetention: retention,
		QuotaBackendBytes: quota, MaxTxnOps: maxOps, MaxRequestBytes: maxRequest,
		MaxConcurrentStreams: math.MaxUint32, StrictReconfigCheck: true,
		MaxLearners: membership.DefaultMaxLearners, AuthToken: "simple", BcryptCost: 10, TokenTTL: 300,
		CompactHashCheckTime: time.Minute, DowngradeCheckTime: 5 * time.Second,
		WarningApplyDuration: time.Second, WarningUnaryRequestDuration: 300 * time.Millisecond,
		UnsafeNoFsync: c.NoSync, V2Deprecation: config.V2DeprDefault, Metrics: "basic",
		ServerFeatureGate: features.NewDefaultServerFeatureGate("weft", nil),
	}
	if c.Peers != nil {
		c.Peers.configure(s)
	} else {
		s.PeerURLs = types.URLs{{Scheme: "http", Host: alone}}
		s.InitialPeerURLsMap = types.URLsMap{s.Name: s.PeerURLs}
	}
	return s
}

// startMember starts a server. With peers, the server listens before it reads its data, so an
// address in use shows first.
func (c *Config) startMember(conf *config.ServerConfig, log *core) (s *server, err error) {
	s = &server{log: log, failed: make(chan error, 1)}
	var listener net.Listener
	if c.Peers != nil {
		conf.PeerTLSInfo.HandshakeFailure = func(from *tls.Conn, err error) {
			if !errors.Is(err, io.EOF) {
				conf.Logger.Warn("rejected connection on peer endpoint",
					zap.Stringer("remote-addr", from.RemoteAddr()), zap.Error(err))
			}
		}
		at := c.Peers.listen()
		listener, err = transport.NewListenerWithOpts(at.Host, at.Scheme,
			transport.WithTLSInfo(&conf.PeerTLSInfo),
			transport.WithTimeout(rafthttp.ConnReadTimeout, rafthttp.ConnWriteTimeout))
		if err != nil {
			return nil, err
		}
	}
	if s.Server, err = etcdserver.NewServer(*conf); err != nil {
		if listener != nil {
			err = errors.Join(err, listener.Close())
		}
		return nil, err
	}
	s.Server.Start()
	if listener != nil {
		s.peers = &http.Server{
			Handler: etcdhttp.NewPeerHandler(conf.Logger, s.Server), ReadTimeout: 5 * time.Minute,
			ErrorLog: stdlog.New(io.Discard, "", 0), // errors of single requests
			// Peers stream over HTTP/1.1.
			TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		}
		go func() {
			if err := s.peers.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				s.failed <- err
			}
		}()
	}
	return s, nil
}

func (s *server) close() {
	s.log.closed.Store(true)
	s.Server.Stop()
	if s.peers != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		if s.peers.Shutdown(ctx) != nil {
			_ = s.peers.Close() // of requests that take longer
		}
	}
}
