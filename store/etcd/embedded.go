package etcd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

// Config is where and how an etcd in the process keeps its data.
type Config struct {
	// Dir is the data directory. It is created if missing.
	Dir string
	// Release names this program in the directory's FORMAT.
	Release string
	// MinFree is how many octets must be free on the disk for a write to begin. An etcd whose
	// disk is full ends the process. Default 64 MiB.
	MinFree uint64
	// Log, when not nil, gets the warnings and errors of the etcd server.
	Log *slog.Logger
	// Peers lists the members if several processes form the etcd. Default: a single member.
	Peers *Peers
	// LeastFree is how many octets must be free, unless the reserve is whole, for the server to go on.
	// With less it is stopped, before a write fails. Default 16 MiB.
	LeastFree uint64
	// Apart runs the server in a separate process, whose failure does not stop this process: the store
	// stops the server while the disk cannot be written, and starts it again. See [IsServer].
	Apart bool
	// NoSync leaves out every sync to disk, for tests: a write may be lost with the machine.
	NoSync bool

	disk    func(*disk)   // changes what a disk is, for tests
	compare time.Duration // pause between two comparisons of contents, for tests; 0: compareEvery
}

const (
	defaultMinFree   = 64 << 20
	defaultLeastFree = 16 << 20
	// segment is the size of a preallocated segment of the write-ahead log.
	segment = 8 << 20
	// quota is the maximum size of the data.
	quota = 2 << 30
	// maxOps is the most operations of one transaction: all groups of a controller, and more.
	maxOps = 4096
	// maxOctets is the maximum size of a transaction, in octets, and maxRequest of a request with a
	// transaction.
	maxOctets  = 8 << 20
	maxRequest = 10 << 20
	// retention is how many revisions a watch may be behind.
	retention = 10_000
	// catchUp is the number of log entries in memory for a member that lags; a member further behind
	// gets a snapshot. An entry may carry hundreds of records, and etcd's default is 5000 entries.
	catchUp = 200
)

// alone is the address of a single member: the address identifies the member, and nothing listens
// there.
const alone = "localhost:2380"

const (
	// startTime is the longest time that a single server takes to start.
	startTime = 2 * time.Minute
	// firstLook is the time after which a starting member first reports what it waits for; waiting is
	// the interval of later reports.
	firstLook = 3 * time.Second
	waiting   = 10 * time.Second
)

// etcd's goroutines read the segment size from a package variable of etcd.
func init() { wal.SegmentSizeBytes = segment }

// Open starts an etcd on a data directory and waits until it takes requests.
//
// Errors report the fault of the directory: the process may not write there, another process uses
// the directory ([ErrLocked]), a newer release wrote the data ([ErrNewer]), the disk is full
// ([ErrFull]), reading fails ([ErrDamaged]), the data belong to another etcd ([ErrForeign]),
// somebody replaced the member ([ErrReplaced]), the member lost its data ([ErrDataLost]) or differs
// from the other members ([ErrDiffers]), or somebody restored this directory alone from a backup
// ([ErrRestored]).
func Open(ctx context.Context, c Config) (*Store, error) {
	c.MinFree = cmp.Or(c.MinFree, defaultMinFree)
	c.LeastFree = min(cmp.Or(c.LeastFree, defaultLeastFree), c.MinFree)
	if c.Peers != nil {
		if err := c.Peers.validate(); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	held, err := lock(c.Dir)
	if err != nil {
		return nil, err
	}
	if err := c.prepare(); err != nil {
		return nil, errors.Join(err, held.Close())
	}
	s := &Store{prefix: defaultPrefix, timeout: defaultTimeout, peers: c.Peers, maxOps: maxOps,
		maxOctets: maxOctets}
	if c.Apart {
		err = s.openApart(ctx, &c, held)
	} else {
		err = s.openWithin(ctx, &c)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("data directory %s: %w", c.Dir, err), held.Close())
	}
	end := s.close
	s.close = func() error {
		err := end()
		if err == nil && (s.ward == nil || s.ward.clean) {
			_ = os.Remove(c.unclean()) // one that stays costs the next start a moment
		}
		return errors.Join(err, held.Close())
	}
	return s, nil
}

// prepare looks at a directory that is locked, before a server uses it.
func (c *Config) prepare() error {
	f, err := readFormat(c.Dir)
	if err != nil {
		return err
	}
	if err := checkFree(c.Dir, c.MinFree); err != nil {
		return err
	}
	if err := c.begin(); err != nil {
		return err
	}
	return writeFormat(c.Dir, c.Release, f.Restored)
}

// openWithin has the server in this process.
func (s *Store) openWithin(ctx context.Context, c *Config) error {
	log := newCore(c.Log)
	server, err := orDamaged(c, func() (*server, error) { return c.serve(ctx, log) })
	if err != nil {
		return c.explain(err, log)
	}
	client := v3client.New(server.Server)
	if c.Peers != nil {
		s.health = newHealth(client, defaultPrefix)
	}
	s.member, s.client = server.Server, client
	s.free = func() error { return checkFree(c.Dir, c.MinFree) }
	s.close = func() error {
		s.health.close()
		err := client.Close()
		server.close()
		if errors.Is(err, context.Canceled) {
			err = nil // what Close of a client within the process returns
		}
		return err
	}
	return nil
}

// serve starts the server on a directory that is locked, and waits until it is ready.
func (c *Config) serve(ctx context.Context, log *core) (*server, error) {
	has, err := c.inspect()
	if err != nil {
		return nil, err
	}
	if err := c.fits(has); err != nil {
		return nil, err
	}
	conf := c.member(log)
	if c.Peers != nil {
		if has == nil {
			if has, err = initial(conf); err != nil {
				return nil, err
			}
		}
		if conf.NewCluster, err = c.Peers.join(ctx, has); err != nil {
			return nil, err
		}
		if !conf.NewCluster {
			has = nil // it gets what the others have
		}
	}
	s, err := c.startMember(conf, log)
	if err != nil {
		return nil, err
	}
	if err := c.await(ctx, s, has); err != nil {
		s.close()
		return nil, err
	}
	if c.Peers != nil {
		// A member that was killed before etcd's next commit would find a database without itself.
		s.Server.Backend().ForceCommit()
		bound, end := context.WithTimeout(ctx, askTimeout)
		var err error
		s.settled, err = s.compare(bound, c.Peers)
		end()
		if errors.Is(err, ErrDiffers) {
			s.close()
			return nil, err
		}
	}
	log.started.Store(true)
	return s, nil
}

// explain adds what is to be done about an error of the server.
func (c *Config) explain(err error, log *core) error {
	if log != nil && log.removed.Load() {
		err = fmt.Errorf("%w (%w)", ErrReplaced, err)
	}
	switch {
	case errors.Is(err, ErrReplaced):
		return fmt.Errorf("%w: move the directory away, and start with an empty one", err)
	case errors.Is(err, ErrDamaged) && c.Peers == nil:
		return fmt.Errorf("%w: move the directory away, and have \"weft restore\" make a new one of a "+
			"backup", err)
	case errors.Is(err, ErrDamaged):
		return fmt.Errorf("%w: have the controller replaced (\"weft replace controller %s\" at another "+
			"one), and start it with an empty directory", err, c.Peers.Name)
	}
	return err
}

// await waits until a server is ready. A server without peers is ready in less than a second, and
// await ignores ctx: a server that is closed too early may wait for itself for ever. A server with
// peers waits for the other members, logs what is wrong with them, and stops when it may not take
// part.
func (c *Config) await(ctx context.Context, s *server, has *content) error {
	interrupted, late, look := ctx.Done(), (<-chan time.Time)(nil), time.NewTimer(firstLook)
	defer look.Stop()
	if c.Peers == nil {
		interrupted, late = nil, time.After(startTime)
	}
	for {
		select {
		case <-s.Server.ReadyNotify():
			return ctx.Err()
		case err := <-s.failed:
			return err
		case <-s.Server.StopNotify():
			return errors.New("etcd stopped while it started")
		case <-interrupted:
			return ctx.Err()
		case <-late:
			return fmt.Errorf("etcd has not started within %v", startTime)
		case <-look.C:
			if c.Peers != nil {
				answers := c.Peers.askAll(ctx)
				if err := c.Peers.judge(has, answers); err != nil {
					return err
				}
				s.log.log.Warn("waiting until more than half of the members are there", "members",
					c.Peers.missing(has, answers))
			}
			look.Reset(waiting)
		}
	}
}
