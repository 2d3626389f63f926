package southbound

import (
	"cmp"
	"context"
	"errors"
	"hash/maphash"
	"slices"
	"sync"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-sdn/weft/p4/wire"
	"github.com/weft-sdn/weft/southbound/entry"
)

// Write carries out updates, in requests of limited size. A switch may reorder updates within a
// request (P4Runtime spec §12), so a request ends wherever the kind of entity changes or the same
// entity comes again. Write sends a request after the switch has answered the request before, so an
// entity may precede an entity that refers to it. Requests between two such places may be under way
// at the same time. Updates whose order matters for another reason belong in separate Writes.
//
// Write attempts every update, even if others fail, and returns the refused updates in order; Write
// refuses an update that the pipeline cannot express, without sending it. An error reports that a
// request failed as a whole (a lost connection, not primary, no pipeline): the outcome of its
// updates is unknown, and later updates were not sent, except for requests already under way.
// Concurrent Writes are not ordered against each other.
func (c *Client) Write(ctx context.Context, updates []entry.Update) ([]entry.Refusal, error) {
	if len(updates) == 0 {
		return nil, nil
	}
	schema, err := c.schema()
	if err != nil {
		return nil, err
	}
	w := newWriting(ctx, c, schema)
	for i, u := range updates {
		if !w.add(i, u) {
			break
		}
	}
	w.send()
	return w.result()
}

// writing is a Write under way.
type writing struct {
	ctx    context.Context
	client *Client
	schema *Schema
	limits Config // only BatchUpdates and BatchBytes

	requests []*request
	making   *request // one of requests; the others are sent
	// For requests under way at once; nil where there is one at a time: a place for each, and those
	// that have come back.
	places  chan struct{}
	idle    chan *request
	sending sync.WaitGroup

	mu      sync.Mutex
	refused []entry.Refusal // guarded by mu
	failed  error           // guarded by mu; of the first request that failed as a whole
}

// request is a WriteRequest in memory that is used again.
type request struct {
	maker
	message p4v1.WriteRequest
	index   []int // of each update in the slice given to Write
	kind    entry.Kind
	keys    map[uint64]struct{} // hashes
	size    int                 // octets of the updates
}

var requests = sync.Pool{New: func() any { return &request{keys: make(map[uint64]struct{})} }}

// keySeed seeds the hashes of keys. If two keys have the same hash, a request ends early.
var keySeed = maphash.MakeSeed()

func newWriting(ctx context.Context, c *Client, schema *Schema) *writing {
	limits := DefaultConfig()
	limits.BatchUpdates = cmp.Or(c.BatchUpdates, limits.BatchUpdates)
	limits.BatchBytes = cmp.Or(c.BatchBytes, limits.BatchBytes)
	w := &writing{ctx: ctx, client: c, schema: schema, limits: limits}
	w.making = requests.Get().(*request)
	w.requests = append(w.requests, w.making)
	if c.AtOnce > 1 {
		w.places, w.idle = make(chan struct{}, c.AtOnce), make(chan *request, c.AtOnce+1)
	}
	return w
}

// add adds an update to the request that is being made, or after having sent that to the next one;
// false when a request has failed as a whole.
func (w *writing) add(i int, u entry.Update) bool {
	r := w.making
	p, err := w.schema.encodeUpdate(&r.maker, u)
	if err != nil {
		w.refuse(entry.Refusal{Update: i, Message: err.Error()})
		return true
	}
	size, kind, key := wire.UpdateSize(p), u.Entity.Kind(), entry.HashKey(keySeed, u.Entity)
	n := len(r.index)
	ordered := n > 0 && kind != r.kind || w.has(key)
	if ordered || n > 0 && (n >= w.limits.BatchUpdates || r.size+size > w.limits.BatchBytes) {
		if !w.send() {
			return false
		}
		if ordered && !w.wait() {
			return false
		}
		r = w.making
		p, _ = w.schema.encodeUpdate(&r.maker, u) // as before, in the memory of this request
	}
	r.message.Updates, r.index = append(r.message.Updates, p), append(r.index, i)
	r.kind, r.size = kind, r.size+size
	r.keys[key] = struct{}{}
	return true
}

// has reports whether a key is in the request under construction, or in a request that may be under
// way.
func (w *writing) has(key uint64) bool {
	for _, r := range w.requests {
		if _, ok := r.keys[key]; ok {
			return true
		}
	}
	return false
}

// send sends the request that has been made and provides for the next; false when one has failed as
// a whole.
func (w *writing) send() bool {
	r := w.making
	if len(r.index) == 0 || w.failure() != nil {
		return w.failure() == nil
	}
	if w.places == nil {
		w.carryOut(r)
		r.reset()
		return w.failure() == nil
	}
	w.places <- struct{}{}
	if w.failure() != nil {
		return false
	}
	w.sending.Go(func() {
		w.carryOut(r)
		w.idle <- r
		<-w.places
	})
	if len(w.requests) < cap(w.idle) {
		w.making = requests.Get().(*request)
		w.requests = append(w.requests, w.making)
		return true
	}
	w.making = <-w.idle
	w.making.reset()
	return true
}

// wait waits for all requests that are under way; false when one has failed as a whole.
func (w *writing) wait() bool {
	w.sending.Wait()
	for _, r := range w.requests {
		if r != w.making {
			r.reset()
		}
	}
	return w.failure() == nil
}

// carryOut sends a request and takes the answer.
func (w *writing) carryOut(r *request) {
	c := w.client
	m := &r.message
	m.DeviceId, m.Role, m.ElectionId = c.DeviceID, c.Role, c.Election.proto()
	err := c.Transport.Write(w.ctx, m)
	if err == nil {
		return
	}
	said, whole := decodeWriteError(err, r.index)
	w.refuse(said...)
	if whole {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.failed = cmp.Or(w.failed, err)
	}
}

func (w *writing) refuse(some ...entry.Refusal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = append(w.refused, some...)
}

func (w *writing) failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failed
}

// result waits for all requests and returns the outcome of the Write.
func (w *writing) result() ([]entry.Refusal, error) {
	w.wait()
	for _, r := range w.requests {
		r.reset()
		if cap(r.index) <= keptUpdates {
			requests.Put(r)
		}
	}
	slices.SortFunc(w.refused, func(a, b entry.Refusal) int { return cmp.Compare(a.Update, b.Update) })
	return w.refused, w.failed
}

// keptUpdates bounds what a request keeps for another Write.
const keptUpdates = 4096

// reset makes a request empty.
func (r *request) reset() {
	clear(r.message.Updates)
	r.message.Updates, r.index, r.size = r.message.Updates[:0], r.index[:0], 0
	r.message.ElectionId = nil
	clear(r.keys)
	r.maker.reset()
}

// decodeWriteError returns a switch's refusals for the updates of one request, whose indices are
// batch (P4Runtime spec §12.3). whole reports that the switch did not process the request, or that
// its outcome is unknown.
func decodeWriteError(err error, batch []int) (refused []entry.Refusal, whole bool) {
	for _, w := range []error{ErrNotConnected, ErrNotPrimary, ErrNoPipeline, ErrUnsupported,
		context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, w) {
			return nil, true
		}
	}
	st := status.Convert(err)
	details := st.Proto().GetDetails()
	if len(details) == len(batch) {
		for i, d := range details {
			var e p4v1.Error
			if err := d.UnmarshalTo(&e); err != nil {
				refused = nil
				break
			}
			if e.GetCanonicalCode() != int32(codes.OK) {
				refused = append(refused, refusal(batch[i], codeOf(e.GetCanonicalCode()), e.GetMessage()))
			}
		}
		if len(refused) > 0 {
			return refused, false
		}
	}
	switch st.Code() {
	case codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.PermissionDenied,
		codes.FailedPrecondition, codes.Unauthenticated, codes.Unimplemented:
		return nil, true
	}
	// The server names no update, so all updates of the batch count as refused.
	for _, i := range batch {
		refused = append(refused, refusal(i, st.Code(), st.Message()))
	}
	return refused, false
}

func refusal(update int, code codes.Code, message string) entry.Refusal {
	r := entry.Refusal{Update: update, Message: code.String()}
	if message != "" {
		r.Message += ": " + message
	}
	switch code {
	case codes.AlreadyExists:
		r.Reason = entry.RefusedExists
	case codes.NotFound:
		r.Reason = entry.RefusedMissing
	case codes.ResourceExhausted:
		r.Reason = entry.RefusedCapacity
	}
	return r
}
