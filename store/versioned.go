package store

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"time"
)

// RecordSchema is the version of the record format that this program writes. Each record carries
// its version, as a number and a line feed before the value.
const RecordSchema = 1

// migrations convert a record to the next version; the index is the record's version.
var migrations = [RecordSchema]func(key string, value []byte) ([]byte, error){
	// Records of version 0 carry none; their values are those of version 1.
	func(_ string, value []byte) ([]byte, error) { return value, nil },
}

// Versioned returns a store whose records carry [RecordSchema] in s. It reads older records as if
// this program had written them, and returns [ErrSchema], with the record and its version, for
// newer records. The result is a [Shared] if s is a [Shared].
func Versioned(s Store) Store {
	v := versioned{s}
	if shared, ok := s.(Shared); ok {
		return versionedShared{v, shared}
	}
	return v
}

type versioned struct{ Store }

// stamp returns the stored form of a record's value. Every release can read the form of the schema
// record.
func stamp(key string, value []byte) []byte {
	if key == schemaKey {
		return value
	}
	return append(strconv.AppendInt(nil, RecordSchema, 10), append([]byte{'\n'}, value...)...)
}

// unstamp removes the version from a record, as this program would have written the record.
func unstamp(r Record) (Record, error) {
	version := 0
	if head, value, ok := bytes.Cut(r.Value, []byte{'\n'}); ok {
		if n, err := strconv.Atoi(string(head)); err == nil && n > 0 {
			version, r.Value = n, value
		}
	}
	if version > RecordSchema {
		return r, fmt.Errorf("%w: record %s has version %d; this one reads up to %d", ErrSchema, r.Key,
			version, RecordSchema)
	}
	for ; version < RecordSchema; version++ {
		value, err := migrations[version](r.Key, r.Value)
		if err != nil {
			return r, fmt.Errorf("record %s: from version %d: %w", r.Key, version, err)
		}
		r.Value = value
	}
	return r, nil
}

// Get implements [Store].
func (v versioned) Get(ctx context.Context, key string) (Record, error) {
	r, err := v.Store.Get(ctx, key)
	if err != nil {
		return r, err
	}
	return unstamp(r)
}

// List implements [Store].
func (v versioned) List(ctx context.Context, prefix string) ([]Record, int64, error) {
	list, revision, err := v.Store.List(ctx, prefix)
	if err != nil {
		return nil, 0, err
	}
	for i := range list {
		if list[i].Key == schemaKey { // a controller may be older than those that began meanwhile
			_, err = schemaOf(list[i])
		} else {
			list[i], err = unstamp(list[i])
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return list, revision, nil
}

// Put implements [Store].
func (v versioned) Put(ctx context.Context, key string, value []byte, expect int64) (int64, error) {
	return v.Store.Put(ctx, key, stamp(key, value), expect)
}

// Apply implements [Store].
func (v versioned) Apply(ctx context.Context, ops []Op) error {
	stamped := make([]Op, len(ops))
	for i, op := range ops {
		if op.Value != nil {
			op.Value = stamp(op.Key, op.Value)
		}
		stamped[i] = op
	}
	return v.Store.Apply(ctx, stamped)
}

// Watch implements [Store]. The watch ends at a newer record, like the watch of a slow watcher: the
// next List returns the error.
func (v versioned) Watch(ctx context.Context, prefix string, after int64) (<-chan Event, error) {
	ctx, cancel := context.WithCancel(ctx)
	events, err := v.Store.Watch(ctx, prefix, after)
	if err != nil {
		cancel()
		return nil, err
	}
	out := make(chan Event)
	go func() {
		defer close(out)
		defer func() { // the store's goroutine waits for nobody
			cancel()
			for range events {
			}
		}()
		for e := range events {
			if !e.Deleted {
				if e.Record, err = unstamp(e.Record); err != nil {
					return
				}
			}
			select {
			case out <- e:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out, nil
}

// Others implements [Formed].
func (v versioned) Others(ctx context.Context) []Other {
	if f, ok := v.Store.(Formed); ok {
		return f.Others(ctx)
	}
	return nil
}

// Disk implements [OnDisk].
func (v versioned) Disk() (Disk, bool) {
	if d, ok := v.Store.(OnDisk); ok {
		return d.Disk()
	}
	return Disk{}, false
}

type versionedShared struct {
	versioned
	shared Shared
}

// Lease implements [Shared].
func (v versionedShared) Lease(ctx context.Context, ttl time.Duration) (Lease, error) {
	l, err := v.shared.Lease(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return versionedLease{l}, nil
}

// Leads implements [Shared].
func (v versionedShared) Leads() bool { return v.shared.Leads() }

// Yield implements [Shared].
func (v versionedShared) Yield(ctx context.Context) error { return v.shared.Yield(ctx) }

// Guarded implements [Shared].
func (v versionedShared) Guarded(key string, revision int64) Store {
	return versioned{v.shared.Guarded(key, revision)}
}

type versionedLease struct{ Lease }

// Put implements [Lease].
func (l versionedLease) Put(ctx context.Context, key string, value []byte, expect int64) (int64,
	error) {
	return l.Lease.Put(ctx, key, stamp(key, value), expect)
}
