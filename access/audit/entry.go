package audit

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/weft-sdn/weft/api"
)

// Entry is the record of a request while it is carried out. The nil Entry records nothing: changes
// that no client asked for have none.
type Entry struct {
	// mu guards the fields below it.
	mu        sync.Mutex
	record    api.AuditRecord
	taken     bool
	unchanged bool
}

type entryKey struct{}

// With returns a context of a request whose change is recorded.
func With(ctx context.Context, r api.AuditRecord) (context.Context, *Entry) {
	e := &Entry{record: r}
	return context.WithValue(ctx, entryKey{}, e), e
}

// Of returns the entry of a context; nil: there is none.
func Of(ctx context.Context) *Entry {
	e, _ := ctx.Value(entryKey{}).(*Entry)
	return e
}

// Change sets what the request changes: specs or nil.
func (e *Entry) Change(before, after any) {
	if e == nil {
		return
	}
	b, a := text(before), text(after)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.record.Before, e.record.After = b, a
}

// At sets the path of the resource, where the path of the request does not name it: a POST has the
// name in its body.
func (e *Entry) At(path string) {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.record.ServiceRequest.Path = path
}

// Unchanged marks a request that changes nothing: it is not recorded.
func (e *Entry) Unchanged() {
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unchanged = true
}

// Take returns the record, for the transaction of the change. It is false without anything to
// record.
func (e *Entry) Take() (api.AuditRecord, bool) {
	if e == nil {
		return api.AuditRecord{}, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.unchanged {
		return api.AuditRecord{}, false
	}
	e.taken = true
	r := e.record
	r.Outcome = api.AuditSuccess
	return r, true
}

// Settled reports whether the change was taken for a transaction, or there was none.
func (e *Entry) Settled() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.taken || e.unchanged
}

// Failed returns the record of a request that was refused.
func (e *Entry) Failed(status int, detail string) api.AuditRecord {
	e.mu.Lock()
	defer e.mu.Unlock()
	r := e.record
	r.Outcome, r.Status, r.Detail, r.Before, r.After = api.AuditFailure, status, detail, nil, nil
	return r
}

// maxSpec is the longest spec that a record has, in octets.
const maxSpec = 64 << 10

// text returns a spec in the form of records.
func text(spec any) json.RawMessage {
	if spec == nil {
		return nil
	}
	b, err := json.Marshal(spec)
	if err != nil {
		panic(fmt.Sprintf("audit: spec cannot be written: %v", err)) // plain structs of our own
	}
	if len(b) <= maxSpec {
		return b
	}
	sum := sha256.Sum256(b)
	return fmt.Appendf(nil, `{"octets":%d,"sha256":%q}`, len(b), hex.EncodeToString(sum[:]))
}
