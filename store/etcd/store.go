package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/raft/v3"

	"github.com/weft-sdn/weft/store"
)

// droppedPause lies between two tries of a write that a leader does not take.
const droppedPause = 5 * time.Millisecond

// defaultPrefix precedes the key of every record, so other users of an etcd keep their keys.
const defaultPrefix = "weft/"

// Store is a [store.Shared] on etcd.
type Store struct {
	client *clientv3.Client
	// prefix is before the key of every record.
	prefix string
	// timeout bounds a request: an etcd without a leader does not answer.
	timeout time.Duration
	// peers, when not nil, lists the members of the etcd to which this process belongs.
	peers *Peers
	// guard is the key and revision of the record that all writes depend on; nil: on none.
	guard *guard
	// health, when not nil, says whether the etcd answers.
	health *health
	// free reports whether a write may begin; see Config.MinFree.
	free func() error
	// maxOps and maxOctets bound a transaction.
	maxOps, maxOctets int
	// member, when not nil, is the member of the etcd in this process.
	member *etcdserver.EtcdServer
	// ward, when not nil, keeps the member in a process of its own.
	ward  *ward
	close func() error
}

type guard struct {
	key      string // with the prefix
	revision int64
}

// bound returns a context for one request, and what gives its error.
func (s *Store) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if err := s.ward.down(); err != nil {
		ctx, cancel := context.WithCancelCause(ctx)
		cancel(err)
		return ctx, func() { cancel(nil) }
	}
	return context.WithTimeoutCause(ctx, s.timeout, fmt.Errorf("%w: no answer within %v",
		store.ErrUnavailable, s.timeout))
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key string) (store.Record, error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	r, err := s.client.Get(ctx, s.prefix+key)
	if err != nil {
		return store.Record{}, unavailable(ctx, err)
	}
	if len(r.Kvs) == 0 {
		return store.Record{}, fmt.Errorf("%w: %s", store.ErrNotFound, key)
	}
	return s.record(r.Kvs[0]), nil
}

// page is how many records List asks for at a time.
const page = 1000

// List implements [store.Store].
func (s *Store) List(ctx context.Context, of string) ([]store.Record, int64, error) {
	var out []store.Record
	var revision int64
	from, end := s.prefix+of, clientv3.GetPrefixRangeEnd(s.prefix+of)
	for {
		r, err := s.list(ctx, from, end, revision)
		if err != nil {
			return nil, 0, err
		}
		if revision == 0 {
			revision = r.Header.Revision
		}
		for _, kv := range r.Kvs {
			out = append(out, s.record(kv))
		}
		if !r.More {
			return out, revision, nil
		}
		from = string(r.Kvs[len(r.Kvs)-1].Key) + "\x00"
	}
}

// list reads one page, at a revision or, for 0, the present one.
func (s *Store) list(ctx context.Context, from, end string, revision int64) (*clientv3.GetResponse,
	error) {
	ctx, cancel := s.bound(ctx)
	defer cancel()
	r, err := s.client.Get(ctx, from, clientv3.WithRange(end), clientv3.WithRev(revision),
		clientv3.WithLimit(page),
		clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend))
	if err != nil {
		return nil, unavailable(ctx, err)
	}
	return r, nil
}

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, key string, value []byte, expect int64) (int64, error) {
	return s.write(ctx, key, expect, clientv3.OpPut(s.prefix+key, string(value)))
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, key string, expect int64) (int64, error) {
	return s.write(ctx, key, expect, clientv3.OpDelete(s.prefix+key))
}

// write carries out an operation if the record's revision is the expected one.
func (s *Store) write(ctx context.Context, key string, expect int64, op clientv3.Op) (int64,
	error) {
	var conditions []clientv3.Cmp
	if expect != store.Any {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(s.prefix+key), "=", expect))
	}
	revision, err := s.commit(ctx, conditions, []clientv3.Op{op})
	if errors.Is(err, store.ErrConflict) {
		err = fmt.Errorf("%w: %s", store.ErrConflict, key)
	}
	return revision, err
}

// Apply implements [store.Store]. What exceeds the limits of a transaction takes effect in several,
// in order: a crash between two leaves the first.
func (s *Store) Apply(ctx context.Context, ops []store.Op) error {
	last := make(map[string]int, len(ops)) // etcd takes a key once a transaction
	for i, op := range ops {
		last[op.Key] = i
	}
	var then []clientv3.Op
	octets, parts := 0, 0
	for _, i := range slices.Sorted(maps.Values(last)) {
		op := ops[i]
		if size := len(op.Key) + len(op.Value); len(then) == s.maxOps || len(then) > 0 &&
			octets+size > s.maxOctets {
			if _, err := s.commit(ctx, nil, then); err != nil {
				return partly(err, parts)
			}
			then, octets = then[:0], 0
			parts++
		}
		octets += len(op.Key) + len(op.Value)
		if op.Value == nil {
			then = append(then, clientv3.OpDelete(s.prefix+op.Key))
		} else {
			then = append(then, clientv3.OpPut(s.prefix+op.Key, string(op.Value)))
		}
	}
	_, err := s.commit(ctx, nil, then)
	return partly(err, parts)
}

// partly returns the error of a part of a write after other parts have taken effect: the write is
// then neither made nor refused, whatever the part's error.
func partly(err error, before int) error {
	if err == nil || before == 0 || errors.Is(err, store.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: a part of the write is made: %w", store.ErrUnavailable, err)
}

// commit carries out operations in one transaction, if the conditions and the guard hold.
func (s *Store) commit(ctx context.Context, conditions []clientv3.Cmp, ops []clientv3.Op) (int64,
	error) {
	if len(ops) == 0 {
		return 0, nil
	}
	if err := s.writable(ctx, ops...); err != nil {
		return 0, err
	}
	ctx, cancel := s.bound(ctx)
	defer cancel()
	var otherwise []clientv3.Op
	if s.guard != nil {
		conditions = append(conditions, clientv3.Compare(clientv3.ModRevision(s.guard.key), "=",
			s.guard.revision))
		otherwise = append(otherwise, clientv3.OpGet(s.guard.key, clientv3.WithKeysOnly()))
	}
	var r *clientv3.TxnResponse
	err := propose(ctx, func() (err error) {
		r, err = s.client.Txn(ctx).If(conditions...).Then(ops...).Else(otherwise...).Commit()
		return err
	})
	switch {
	case err != nil:
		return 0, unavailable(ctx, err)
	case r.Succeeded:
		return r.Header.Revision, nil
	case s.guard != nil:
		if kvs := r.Responses[0].GetResponseRange().Kvs; len(kvs) == 0 ||
			kvs[0].ModRevision != s.guard.revision {
			return 0, fmt.Errorf("%w: %s is not at revision %d", store.ErrFenced,
				strings.TrimPrefix(s.guard.key, s.prefix), s.guard.revision)
		}
	}
	return 0, store.ErrConflict
}

// Yield implements [store.Shared].
func (s *Store) Yield(ctx context.Context) error {
	if s.ward != nil {
		if err := s.ward.yield(ctx); err != nil {
			return fmt.Errorf("%w: etcd: another member cannot lead: %w", store.ErrUnavailable, err)
		}
		return nil
	}
	if s.member == nil {
		return nil
	}
	done := make(chan error, 1)
	// If this member leads and other members exist, the call moves the leadership to the member with
	// the longest connection; despite its name the call stops nothing. The goroutine ends with this
	// member.
	go func() { done <- s.member.TryTransferLeadershipOnShutdown() }()
	select {
	case err := <-done:
		if err != nil {
			err = fmt.Errorf("%w: etcd: another member cannot lead: %w", store.ErrUnavailable, err)
		}
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Leads implements [store.Shared].
func (s *Store) Leads() bool {
	if s.ward != nil {
		return s.ward.leads()
	}
	return s.member != nil && s.member.Leader() == s.member.MemberID()
}

// Disk implements [store.OnDisk].
func (s *Store) Disk() (store.Disk, bool) {
	if s.ward == nil {
		return store.Disk{}, false
	}
	state, _ := s.ward.disk.now()
	return state.Disk, true
}

// Kill ends the member in a process of its own as kill -9 does, for benchmarks: the others learn
// nothing. It is not started again. Close must follow.
func (s *Store) Kill() {
	if s.ward != nil {
		s.ward.kill()
	}
}

// propose carries out a write. A leader takes none while the leadership moves, for some
// milliseconds, and says so: nothing of the write has then taken effect.
func propose(ctx context.Context, write func() error) error {
	for {
		err := write()
		if err == nil || !strings.Contains(err.Error(), raft.ErrProposalDropped.Error()) {
			return err
		}
		select {
		case <-time.After(droppedPause):
		case <-ctx.Done():
			return err
		}
	}
}

// Guarded implements [store.Shared].
func (s *Store) Guarded(key string, revision int64) store.Store {
	g := *s
	g.guard = &guard{key: s.prefix + key, revision: revision}
	return &g
}

// writable returns the reason for refusing a write. Writes that free room are always allowed, with
// the small records of a deletion, and so are writes with the reserve.
func (s *Store) writable(ctx context.Context, ops ...clientv3.Op) error {
	if s.free == nil || store.MayUseReserve(ctx) || !slices.ContainsFunc(ops, clientv3.Op.IsPut) ||
		slices.ContainsFunc(ops, clientv3.Op.IsDelete) {
		return nil
	}
	return s.free()
}

// Writable implements [store.Store].
func (s *Store) Writable() error {
	if err := s.ward.down(); err != nil {
		return err // it says more than that the etcd does not answer
	}
	if s.health != nil {
		if err := s.health.err(); err != nil {
			return err
		}
	}
	if s.free == nil {
		return nil
	}
	return s.free()
}

// Watch implements [store.Store].
func (s *Store) Watch(ctx context.Context, of string, after int64) (<-chan store.Event, error) {
	// The watch itself would say so only after it has begun.
	asked, asking := s.bound(ctx)
	defer asking()
	_, err := s.client.Get(asked, s.prefix, clientv3.WithRev(after+1), clientv3.WithCountOnly())
	switch {
	case errors.Is(err, rpctypes.ErrCompacted):
		return nil, fmt.Errorf("%w: %d", store.ErrCompacted, after)
	case err != nil && !errors.Is(err, rpctypes.ErrFutureRev):
		return nil, unavailable(asked, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	watch := s.client.Watch(ctx, s.prefix+of, clientv3.WithPrefix(), clientv3.WithRev(after+1))
	out := make(chan store.Event)
	go func() {
		defer close(out)
		defer cancel()
		for r := range watch {
			for _, e := range r.Events {
				select {
				case out <- s.event(e):
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return out, nil
}

// Backup writes a snapshot of all records, which [Restore] takes.
func (s *Store) Backup(ctx context.Context, w io.Writer) error {
	// A member may be behind the others. A read waits until it has all that was acknowledged.
	if _, err := s.Get(ctx, "schema"); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	r, err := s.client.Snapshot(ctx)
	if err != nil {
		return unavailable(ctx, err)
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, r.Close())
}

// Close ends the use of the store.
func (s *Store) Close() error { return s.close() }

func (s *Store) record(kv *mvccpb.KeyValue) store.Record {
	value := kv.Value
	if value == nil {
		value = []byte{}
	}
	return store.Record{Key: strings.TrimPrefix(string(kv.Key), s.prefix), Value: value,
		Revision: kv.ModRevision}
}

func (s *Store) event(e *clientv3.Event) store.Event {
	r := s.record(e.Kv)
	if e.Type == clientv3.EventTypeDelete {
		r.Value = nil
		return store.Event{Record: r, Deleted: true}
	}
	return store.Event{Record: r}
}

// unavailable returns the error for an unusable store, or the error of ctx if the caller gave up
// waiting. ctx comes from [Store.bound].
func unavailable(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, store.ErrUnavailable) {
		return cause
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if errors.Is(err, rpctypes.ErrCorrupt) {
		err = fmt.Errorf("%w: %w", errCorrupt, err)
	}
	if errors.Is(err, rpctypes.ErrNoSpace) { // nothing is written then
		return fmt.Errorf("%w, or its quota is used up: %w", store.ErrNoRoom, err)
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}
