package audit

import (
	"context"
	"log/slog"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/store"
)

// Recorder collects the records of changes until they are written with them. It has the only writer
// of a chain. Its methods must not be called concurrently.
type Recorder struct {
	chain   *Chain
	waiting []api.AuditRecord
}

// NewRecorder returns a recorder on the chain of a name.
func NewRecorder(ctx context.Context, s store.Store, chain string, log *slog.Logger) (*Recorder,
	error) {
	c, err := Load(ctx, s, chain, log)
	return &Recorder{chain: c}, err
}

// Note records the change that a context's request has just made, if the request has an entry.
func (r *Recorder) Note(ctx context.Context) {
	if record, ok := Of(ctx).Take(); ok {
		r.waiting = append(r.waiting, record)
	}
}

// Writes returns the store operations for the records since the last call. Put the operations
// before the writes of the changes, in the same transaction.
func (r *Recorder) Writes() []store.Op {
	ops := r.chain.Append(r.waiting...)
	r.waiting = nil
	return ops
}
