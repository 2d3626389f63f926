// Package store keeps the controller's records: the specs of clients, and decisions of the
// controller that must survive restarts.
//
// A [Store] is a small part of what etcd offers: keys in one order, a revision
// that grows with every change, conditional writes, and a watch that starts
// at a revision. [Memory] keeps everything in the process; package etcd keeps it on disk.
package store

import (
	"context"
	"errors"
	"time"
)

var (
	// ErrNotFound: no record has the key.
	ErrNotFound = errors.New("store: no such record")
	// ErrConflict: the record's revision is not the expected one.
	ErrConflict = errors.New("store: record was changed meanwhile")
	// ErrCompacted: the store no longer remembers the revision a watch asks for.
	ErrCompacted = errors.New("store: revision is too old")
	// ErrFenced: the record that guards the write has changed.
	ErrFenced = errors.New("store: the guard of the write has changed")
	// ErrNoRoom: the disk of the store has no room for more. Nothing was written.
	ErrNoRoom = errors.New("its disk is full")
	// ErrDisk: the disk of the store takes no writes.
	ErrDisk = errors.New("its disk fails")
	// ErrUnwritten: the store was not asked to keep it, and will not be.
	ErrUnwritten = errors.New("it was not written")
	// ErrUnavailable: the store cannot be used now. Whether a write took effect is unknown.
	ErrUnavailable = errors.New("store: unavailable")
)

// Record is a value with its key.
type Record struct {
	Key   string
	Value []byte
	// Revision is the revision of the store when the record was written last.
	Revision int64
}

// Expectations of Put and Delete, beside a Revision.
const (
	// Any accepts any record, and also a missing record.
	Any int64 = -1
	// Absent: there is no record.
	Absent int64 = 0
)

// Event is a change of a record. Record.Value is nil after a deletion; Record.Revision is the
// revision of the change.
type Event struct {
	Record  Record
	Deleted bool
}

// Store keeps records. Its methods may be called from any goroutine. Values
// belong to the store once written, and to the caller once read.
type Store interface {
	// Get returns a record, or ErrNotFound.
	Get(ctx context.Context, key string) (Record, error)
	// List returns the records whose keys have a prefix, in order of their keys,
	// and the revision of the store they were read at.
	List(ctx context.Context, prefix string) ([]Record, int64, error)
	// Put writes a record if its revision is the expected one, and returns the
	// new one.
	Put(ctx context.Context, key string, value []byte, expect int64) (revision int64, err error)
	// Delete removes a record if its revision is the expected one. Removing a missing record succeeds
	// when Any or Absent is expected.
	Delete(ctx context.Context, key string, expect int64) (revision int64, err error)
	// Apply carries out writes in order, whatever the records contain. The writes take effect
	// together, as far as the store's limit of writes at once allows. After an ErrFenced that is not
	// also ErrUnavailable, no write takes effect; after any other error the outcome is unknown.
	Apply(ctx context.Context, ops []Op) error
	// Writable returns nil, or why a Put would fail now.
	Writable() error
	// Watch sends the changes after a revision of the records whose keys have a
	// prefix, in order, until ctx ends; then the channel is closed. A watcher
	// that does not keep up holds nobody up.
	Watch(ctx context.Context, prefix string, after int64) (<-chan Event, error)
}

// Shared is a Store that several processes use.
type Shared interface {
	Store
	// Lease begins a lease, which is renewed until it is closed or lost. ttl is how long it lasts
	// after the process has fallen silent, rounded up to what the store can do.
	Lease(ctx context.Context, ttl time.Duration) (Lease, error)
	// Leads reports whether this process leads the store, if the processes that use the store elect a
	// leader among them. If the leader dies, the others elect a new leader before they learn that the
	// dead process's leases are over.
	Leads() bool
	// Yield makes another process lead the store if this process leads. All leases then start again.
	Yield(ctx context.Context) error
	// Guarded returns the store with writes that take effect only while a record has a revision;
	// otherwise they return ErrFenced.
	Guarded(key string, revision int64) Store
}

// Lease is a process's right to take part.
type Lease interface {
	// Put writes a record like [Store.Put]. The store removes the record at the end of the lease.
	Put(ctx context.Context, key string, value []byte, expect int64) (revision int64, err error)
	// Until returns the time until which the lease surely lasts, with a reading of the monotonic
	// clock. For a process that was paused too long, the time lies in the past.
	Until() time.Time
	// Done is closed when the lease has ended, or can no longer be renewed in time.
	Done() <-chan struct{}
	// Close ends the lease, and removes its records at once where the store can be reached.
	Close(ctx context.Context) error
}

// Op is a write that has been decided on: Put with a Value, Delete without.
type Op struct {
	Key   string
	Value []byte // nil deletes
}

// reserveKey marks the context of writes that may use the reserve of a store.
type reserveKey struct{}

// WithReserve returns a context whose writes a store also takes when its disk is nearly full, by
// its reserve. The reserve is for writes that keep controllers and their network running, not for
// requests of clients.
func WithReserve(ctx context.Context) context.Context {
	return context.WithValue(ctx, reserveKey{}, true)
}

// MayUseReserve reports whether a context is one of [WithReserve].
func MayUseReserve(ctx context.Context) bool { return ctx.Value(reserveKey{}) != nil }

// Formed is a Store formed by the processes that use it.
type Formed interface {
	// Others returns how this process finds the other processes, sorted by name; nil if different
	// processes form the store.
	Others(ctx context.Context) []Other
}

// Other is another process of a store that several processes form.
type Other struct {
	Name, Address string
	// Absence is why the process takes no part; empty if the process takes part. Reason explains the
	// absence in a sentence.
	Absence Absence
	Reason  string
}

// Absence is why a process takes no part in a store.
type Absence string

// The absences.
const (
	// AbsenceUnreachable: the process does not answer.
	AbsenceUnreachable Absence = "unreachable"
	// AbsenceCertificate: the other process or this process refuses the other side's certificate.
	AbsenceCertificate Absence = "certificate"
	// AbsenceCluster: the process has the data of another store.
	AbsenceCluster Absence = "cluster"
	// AbsenceReplaced: the process was replaced, and has not started since.
	AbsenceReplaced Absence = "replaced"
	// AbsenceClock: the clock of the process differs from this machine's clock.
	AbsenceClock Absence = "clock"
)

// OnDisk is a Store on a disk of this machine.
type OnDisk interface {
	// Disk returns the state of the disk; false when there is none to watch.
	Disk() (Disk, bool)
}

// Disk describes the state of a store's disk.
type Disk struct {
	// Dir is the directory of the store.
	Dir string
	// Free and Total are octets of the file system; Marks are how many must be free for writes to
	// begin, and for the store to go on when the reserve is used up.
	Free, Total uint64
	Marks       [2]uint64
	// Reserve reports whether what the store needs to go on for a while is allocated ahead.
	Reserve bool
	// Sync is how long the last write took until it was on the disk.
	Sync  time.Duration
	State DiskState
	// Slow reports whether syncs take longer than the members of the store wait for each other.
	Slow bool
	// Reason describes the fault, in a sentence; empty when nothing is.
	Reason string
}

// DiskState defines which writes a disk can take.
type DiskState uint8

// The states.
const (
	// DiskOK takes everything.
	DiskOK DiskState = iota
	// DiskLow has little room left: it takes deletions, from a reserve.
	DiskLow
	// DiskOut has no room: this process's part of the store is stopped before a write fails.
	DiskOut
	// DiskFailed cannot be written: it is mounted read-only, or has failed.
	DiskFailed
)

// String implements [fmt.Stringer].
func (s DiskState) String() string {
	return [...]string{DiskOK: "ok", DiskLow: "low", DiskOut: "out", DiskFailed: "failed"}[s]
}
