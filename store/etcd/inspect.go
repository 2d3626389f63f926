package etcd

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/server/v3/etcdserver/api/snap"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"go.etcd.io/etcd/server/v3/storage/wal/walpb"
	"go.uber.org/zap"
	"google.golang.org/protobuf/proto"
)

var (
	// ErrDamaged reports a data directory that cannot be read.
	ErrDamaged = errors.New("it is damaged")
	// ErrReplaced reports the data directory of a member that was replaced since.
	ErrReplaced = errors.New("this member was replaced, and the directory is from before")
	// ErrForeign reports the data directory of another etcd.
	ErrForeign = errors.New("it is of another etcd")
)

func (c *Config) database() string { return filepath.Join(c.Dir, "etcd", "member", "snap", "db") }

func (c *Config) log() string { return filepath.Join(c.Dir, "etcd", "member", "wal") }

// content describes the etcd in a data directory.
type content struct {
	member, cluster uint64
	members         []Member // as it knew them last
	empty           bool     // it has no data yet
	fresh           bool     // it has never taken part: it has neither voted nor taken an entry
	restored        string   // the SHA-256 of the backup that it was made of; "": of none
	applied         uint64   // number of the last entry that is in the database
	last            uint64   // number of the last entry of the write-ahead log
}

// inspect reads a data directory; nil: it has no data yet. Errors wrap [ErrDamaged]; a damaged
// database may also panic or fault.
func (c *Config) inspect() (*content, error) {
	if !wal.Exist(c.log()) {
		return nil, nil
	}
	f, err := readFormat(c.Dir)
	if err != nil {
		return nil, err
	}
	d := &content{restored: f.Restored}
	if err := d.readLog(c.log(), filepath.Dir(c.database())); err != nil {
		return nil, fmt.Errorf("%w: the write-ahead log in %s: %w", ErrDamaged, c.log(), err)
	}
	if _, err := os.Stat(c.database()); errors.Is(err, os.ErrNotExist) {
		if d.last == 0 {
			return d, nil // it ended before it had begun
		}
		return nil, fmt.Errorf("%w: %s is missing", ErrDamaged, c.database())
	}
	if err := d.readDatabase(c.database()); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrDamaged, c.database(), err)
	}
	if d.last < d.applied {
		return nil, fmt.Errorf("%w: the write-ahead log in %s is cut: it ends with entry %d, and the "+
			"database has entry %d", ErrDamaged, c.log(), d.last, d.applied)
	}
	return d, nil
}

func (d *content) readLog(dir, snapDir string) error {
	quiet := zap.NewNop()
	snapshots, err := wal.ValidSnapshotEntries(quiet, dir)
	if err != nil {
		return err
	}
	from := &walpb.Snapshot{}
	newest, err := snap.New(quiet, snapDir).LoadNewestAvailable(snapshots)
	switch {
	case errors.Is(err, snap.ErrNoSnapshot):
	case err != nil:
		return err
	default:
		index, term := newest.Metadata.GetIndex(), newest.Metadata.GetTerm()
		from.Index, from.Term, d.last = &index, &term, index
	}
	w, err := wal.OpenForRead(quiet, dir, from)
	if err != nil {
		return err
	}
	meta, state, entries, err := w.ReadAll()
	_ = w.Close() // what is read is closed then, and it says so
	if err := unlessTorn(err); err != nil {
		return err
	}
	if n := len(entries); n > 0 {
		d.last = entries[n-1].GetIndex()
	}
	var m etcdserverpb.Metadata
	if err := proto.Unmarshal(meta, &m); err != nil {
		return err
	}
	d.member, d.cluster = m.GetNodeID(), m.GetClusterID()
	d.fresh = state.GetTerm() <= firstTerm
	return nil
}

// firstTerm is the term of the entries in a new directory. An election begins a later term, and a
// member stores the term before it votes or accepts an entry.
const firstTerm = 1

// started reports whether the member knows that it has taken part.
func (d *content) started() bool {
	return slices.ContainsFunc(d.members, func(m Member) bool { return m.ID == d.member && m.Started })
}

// unlessTorn ignores that the last record is torn, as a crash leaves it: etcd cuts it off.
func unlessTorn(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// databaseWait bounds the wait for another process that has the database open.
const databaseWait = 2 * time.Second

func (d *content) readDatabase(file string) error {
	db, err := bolt.Open(file, 0o400, &bolt.Options{ReadOnly: true, Timeout: databaseWait})
	if err != nil {
		return err
	}
	err = db.View(func(tx *bolt.Tx) error {
		if meta := tx.Bucket([]byte("meta")); meta != nil {
			if index := meta.Get([]byte("consistent_index")); len(index) == 8 {
				d.applied = binary.BigEndian.Uint64(index)
			}
		}
		members := tx.Bucket([]byte("members"))
		if members == nil {
			return nil
		}
		return members.ForEach(func(_, value []byte) error {
			var m struct {
				ID      uint64   `json:"id"`
				Name    string   `json:"name"`
				Peers   []string `json:"peerURLs"`
				Clients []string `json:"clientURLs"`
			}
			if err := json.Unmarshal(value, &m); err != nil {
				return err
			}
			d.members = append(d.members, member(m.ID, m.Name, m.Peers, m.Clients))
			return nil
		})
	})
	return errors.Join(err, db.Close())
}

// fits reports whether a data directory is that of a configuration.
func (c *Config) fits(d *content) error {
	if d == nil || len(d.members) == 0 {
		return nil
	}
	var names []string
	for _, m := range d.members {
		names = append(names, m.Name+" at "+m.Address)
	}
	slices.Sort(names)
	all := strings.Join(names, ", ")
	if c.Peers == nil {
		if len(d.members) > 1 || d.members[0].Address != alone {
			return fmt.Errorf("%w, which controllers form (%s), and the configuration is of a controller "+
				"alone: "+
				"give it their cluster.etcd.members, or have \"weft restore\" make a new directory of a backup",
				ErrForeign, all)
		}
		return nil
	}
	self := c.Peers.Members[c.Peers.Name]
	if slices.ContainsFunc(d.members, func(m Member) bool { return m.Address == self }) {
		return nil
	}
	if d.members[0].Address == alone {
		return fmt.Errorf("%w, of a controller alone, and the configuration has cluster.etcd.members: "+
			"take a backup with the old configuration, and have \"weft restore\" make a new directory of it",
			ErrForeign)
	}
	return fmt.Errorf("%w: its members are %s, and this one is %s at %s: take the right directory, "+
		"or an empty one", ErrForeign, all, c.Peers.Name, self)
}
