package etcd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.uber.org/zap"
)

// Config is where and how an etcd in the process keeps its data.
type Config struct {
	// Dir is the data directory. It is made when it is missing.
	Dir string
	// Release names this program in the directory's FORMAT.
	Release string
	// MinFree is how many octets must be free on the disk for a write to begin. An etcd whose
	// disk is full ends the process. Default 64 MiB.
	MinFree uint64
	// Log, when not nil, gets the warnings and errors of the etcd server.
	Log *slog.Logger
	// Peers are the members of the etcd, when this is one of several. Default: it is alone.
	Peers *Peers
	// NoSync leaves out every sync to disk, for tests: a write may be lost with the machine.
	NoSync bool
}

const (
	defaultMinFree = 64 << 20
	// segment is the size of a segment of the write-ahead log, which is allocated ahead.
	segment = 8 << 20
	// quota is the most that the data may take.
	quota = 2 << 30
	// maxOps is the most operations of one transaction: all groups of a controller, and more.
	maxOps = 4096
	// maxOctets is the most octets of one transaction, and maxRequest of a request with it.
	maxOctets  = 8 << 20
	maxRequest = 10 << 20
	// retention is how many revisions a watch may be behind.
	retention = "10000"
)

// The size of segments is a variable of etcd's, which its goroutines read.
func init() { wal.SegmentSizeBytes = segment }

// Open starts an etcd on a data directory and waits until it takes requests.
//
// Errors say what is wrong with the directory: it cannot be written, another process uses it
// ([ErrLocked]), a newer release wrote it ([ErrNewer]), or its disk is full ([ErrFull]).
func Open(ctx context.Context, c Config) (*Store, error) {
	if c.MinFree == 0 {
		c.MinFree = defaultMinFree
	}
	if c.Peers != nil {
		if err := c.Peers.validate(); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	unlock, err := lock(c.Dir)
	if err != nil {
		return nil, err
	}
	server, err := start(ctx, &c)
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	client := v3client.New(server.Server)
	var h *health
	if c.Peers != nil {
		h = newHealth(client, defaultPrefix)
	}
	return &Store{
		member: server.Server,
		client: client, prefix: defaultPrefix, timeout: defaultTimeout, health: h, peers: c.Peers, maxOps: maxOps, maxOctets: maxOctets,
		free: func() error { return checkFree(c.Dir, c.MinFree) },
		close: func() error {
			h.close()
			err := client.Close()
			server.close()
			if errors.Is(err, context.Canceled) {
				err = nil // what Close of a client within the process returns
			}
			return errors.Join(err, unlock())
		},
	}, nil
}

// start starts the server on a directory that is locked.
func start(ctx context.Context, c *Config) (*server, error) {
	if err := checkFormat(c.Dir); err != nil {
		return nil, err
	}
	if err := checkFree(c.Dir, c.MinFree); err != nil {
		return nil, err
	}
	if err := writeFormat(c.Dir, c.Release); err != nil {
		return nil, err
	}
	log := newCore(c.Log)
	conf := c.embedded(log)
	if c.Peers != nil {
		var err error
		if conf.ClusterState, err = c.Peers.join(ctx, conf.Dir); err != nil {
			return nil, fmt.Errorf("data directory %s: %w", c.Dir, err)
		}
	}
	e, err := embed.StartEtcd(conf)
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", c.Dir, err)
	}
	s := &server{e, log}
	if err := c.await(ctx, s); err != nil {
		s.close()
		return nil, fmt.Errorf("data directory %s: %w", c.Dir, err)
	}
	log.started.Store(true)
	return s, nil
}

// server is an etcd within the process, and its log.
type server struct {
	*embed.Etcd
	log *core
}

func (s *server) close() {
	s.log.closed.Store(true)
	s.Etcd.Close()
}

// await waits until a server is ready. One that is alone is in less than a second, and is waited
// for whatever ctx says: closed before, it may wait for itself for ever. One of several waits for
// the others.
func (c *Config) await(ctx context.Context, s *server) error {
	interrupted := ctx.Done()
	if c.Peers == nil {
		interrupted = nil
	}
	for {
		select {
		case <-s.Server.ReadyNotify():
			return ctx.Err()
		case err := <-s.Err():
			return err
		case <-s.Server.StopNotify():
			return errors.New("etcd stopped while it started")
		case <-interrupted:
			return ctx.Err()
		case <-time.After(waiting):
			s.log.log.Warn("waiting until more than half of the members are there", "members", s.Config().InitialCluster)
		}
	}
}

// embedded returns the configuration of a server of one member without listeners.
func (c *Config) embedded(log *core) *embed.Config {
	e := embed.NewConfig()
	e.Dir = filepath.Join(c.Dir, "etcd")
	e.Name = "weft"
	// The member's own address identifies it; nothing listens there.
	self := url.URL{Scheme: "http", Host: "localhost:2380"}
	e.ListenClientUrls, e.AdvertiseClientUrls, e.ListenPeerUrls = nil, nil, nil
	e.AdvertisePeerUrls = []url.URL{self}
	e.InitialCluster = e.Name + "=" + self.String()
	e.AutoCompactionMode, e.AutoCompactionRetention = embed.CompactorModeRevision, retention
	e.QuotaBackendBytes, e.MaxTxnOps, e.MaxRequestBytes = quota, maxOps, maxRequest
	e.WarningApplyDuration = time.Second
	e.UnsafeNoFsync = c.NoSync
	if c.Peers != nil {
		c.Peers.configure(e)
	}
	e.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(log))
	return e
}
