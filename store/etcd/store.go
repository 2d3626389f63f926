package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/weft-sdn/weft/store"
)

// prefix is before the key of every record, so that other users of an etcd keep theirs.
const prefix = "weft/"

// Store is a [store.Store] on etcd.
type Store struct {
	client *clientv3.Client
	// free reports whether a write may begin; see Config.MinFree.
	free func() error
	// maxOps and maxOctets bound a transaction.
	maxOps, maxOctets int
	close             func() error
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, key string) (store.Record, error) {
	r, err := s.client.Get(ctx, prefix+key)
	if err != nil {
		return store.Record{}, unavailable(err)
	}
	if len(r.Kvs) == 0 {
		return store.Record{}, fmt.Errorf("%w: %s", store.ErrNotFound, key)
	}
	return record(r.Kvs[0]), nil
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, of string) ([]store.Record, int64, error) {
	r, err := s.client.Get(ctx, prefix+of, clientv3.WithPrefix(), clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend))
	if err != nil {
		return nil, 0, unavailable(err)
	}
	var out []store.Record
	for _, kv := range r.Kvs {
		out = append(out, record(kv))
	}
	return out, r.Header.Revision, nil
}

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, key string, value []byte, expect int64) (int64, error) {
	return s.write(ctx, key, expect, clientv3.OpPut(prefix+key, string(value)))
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, key string, expect int64) (int64, error) {
	return s.write(ctx, key, expect, clientv3.OpDelete(prefix+key))
}

// write carries out an operation if the record's revision is the expected one.
func (s *Store) write(ctx context.Context, key string, expect int64, op clientv3.Op) (int64, error) {
	if err := s.writable(op); err != nil {
		return 0, err
	}
	txn := s.client.Txn(ctx)
	if expect != store.Any {
		txn = txn.If(clientv3.Compare(clientv3.ModRevision(prefix+key), "=", expect))
	}
	r, err := txn.Then(op).Commit()
	switch {
	case err != nil:
		return 0, unavailable(err)
	case !r.Succeeded:
		return 0, fmt.Errorf("%w: %s", store.ErrConflict, key)
	}
	return r.Header.Revision, nil
}

// Apply implements [store.Store].
func (s *Store) Apply(ctx context.Context, ops []store.Op) error {
	last := make(map[string]int, len(ops)) // etcd takes a key once a transaction
	for i, op := range ops {
		last[op.Key] = i
	}
	var then []clientv3.Op
	octets := 0
	for _, i := range slices.Sorted(maps.Values(last)) {
		op := ops[i]
		if size := len(op.Key) + len(op.Value); len(then) == s.maxOps || len(then) > 0 && octets+size > s.maxOctets {
			if err := s.commit(ctx, then); err != nil {
				return err
			}
			then, octets = then[:0], 0
		}
		octets += len(op.Key) + len(op.Value)
		if op.Value == nil {
			then = append(then, clientv3.OpDelete(prefix+op.Key))
		} else {
			then = append(then, clientv3.OpPut(prefix+op.Key, string(op.Value)))
		}
	}
	return s.commit(ctx, then)
}

// commit carries out operations in one transaction.
func (s *Store) commit(ctx context.Context, ops []clientv3.Op) error {
	if len(ops) == 0 {
		return nil
	}
	if err := s.writable(ops...); err != nil {
		return err
	}
	if _, err := s.client.Txn(ctx).Then(ops...).Commit(); err != nil {
		return unavailable(err)
	}
	return nil
}

// writable returns why nothing more can be kept. What frees room is always allowed.
func (s *Store) writable(ops ...clientv3.Op) error {
	if s.free == nil || !slices.ContainsFunc(ops, clientv3.Op.IsPut) {
		return nil
	}
	return s.free()
}

// Writable implements [store.Store].
func (s *Store) Writable() error {
	if s.free == nil {
		return nil
	}
	return s.free()
}

// Watch implements [store.Store].
func (s *Store) Watch(ctx context.Context, of string, after int64) (<-chan store.Event, error) {
	// The watch itself would say so only after it has begun.
	_, err := s.client.Get(ctx, prefix, clientv3.WithRev(after+1), clientv3.WithCountOnly())
	switch {
	case errors.Is(err, rpctypes.ErrCompacted):
		return nil, fmt.Errorf("%w: %d", store.ErrCompacted, after)
	case err != nil && !errors.Is(err, rpctypes.ErrFutureRev):
		return nil, unavailable(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	watch := s.client.Watch(ctx, prefix+of, clientv3.WithPrefix(), clientv3.WithRev(after+1))
	out := make(chan store.Event)
	go func() {
		defer close(out)
		defer cancel()
		for r := range watch {
			for _, e := range r.Events {
				select {
				case out <- event(e):
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
	r, err := s.client.Snapshot(ctx)
	if err != nil {
		return unavailable(err)
	}
	_, err = io.Copy(w, r)
	return errors.Join(err, r.Close())
}

// Close ends the use of the store.
func (s *Store) Close() error { return s.close() }

func record(kv *mvccpb.KeyValue) store.Record {
	value := kv.Value
	if value == nil {
		value = []byte{}
	}
	return store.Record{Key: strings.TrimPrefix(string(kv.Key), prefix), Value: value, Revision: kv.ModRevision}
}

func event(e *clientv3.Event) store.Event {
	if e.Type == clientv3.EventTypeDelete {
		return store.Event{Record: store.Record{Key: strings.TrimPrefix(string(e.Kv.Key), prefix), Revision: e.Kv.ModRevision}, Deleted: true}
	}
	return store.Event{Record: record(e.Kv)}
}

// unavailable says that the store cannot be used, except to who gave up waiting.
func unavailable(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}
