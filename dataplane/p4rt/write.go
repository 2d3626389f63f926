package p4rt

import (
	"math"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
)

// Write applies a batch of updates in order. The error of an attempted batch has code UNKNOWN and
// one p4.v1.Error per update in its details.
//
// Write supports all three atomicity modes. The device processes no packet during Write, so
// ROLLBACK_ON_ERROR and DATAPLANE_ATOMIC mean the same here: all updates or none. If a batch is
// rolled back, the first failed update reports its own code and every other update reports ABORTED.
// A rollback restores entries and their direct counters and meters; a deleted entry comes back at
// the end of its table's insertion order, with its idle timer restarted.
func (d *Device) Write(now time.Duration, req *p4v1.WriteRequest) error {
	w, err := d.startWrite(now, req, nil)
	if err != nil {
		return err
	}
	w.step(now, math.MaxInt)
	return w.result()
}

// writing is a Write in progress. It lets packets pass between some updates, but no second reader
// or writer of the device's state.
type writing struct {
	r     *realm
	req   *p4v1.WriteRequest
	allow func(*p4v1.Entity) *Error

	undo   *undoLog // nil: updates that fail do not undo the others
	each   []*Error // of the updates, once one has failed
	next   int
	failed int // the first that failed; -1: none
}

// startWrite checks a request as a whole, before its updates. allow, when not
// nil, reports whether an entity may be written.
func (d *Device) startWrite(now time.Duration, req *p4v1.WriteRequest,
	allow func(*p4v1.Entity) *Error) (*writing, error) {
	if err := d.checkID(req.GetDeviceId()); err != nil {
		return nil, err
	}
	w := &writing{r: d.current(), req: req, allow: allow, failed: -1}
	if w.r == nil {
		return nil, errNoPipeline
	}
	w.r.releaseTexts(now)
	switch req.GetAtomicity() {
	case p4v1.WriteRequest_CONTINUE_ON_ERROR:
	case p4v1.WriteRequest_ROLLBACK_ON_ERROR, p4v1.WriteRequest_DATAPLANE_ATOMIC:
		w.undo = new(undoLog)
	default:
		return nil, invalid("atomicity %d; want CONTINUE_ON_ERROR, ROLLBACK_ON_ERROR or DATAPLANE_ATOMIC",
			req.GetAtomicity())
	}
	return w, nil
}

// step carries out the next limit updates, or takes as many back; true when
// everything is done. A batch that must be atomic to packets is one step.
func (w *writing) step(now time.Duration, limit int) bool {
	atomic := w.req.GetAtomicity() == p4v1.WriteRequest_DATAPLANE_ATOMIC
	updates := w.req.GetUpdates()
	for n := 0; w.next < len(updates) && (w.undo == nil || w.failed < 0); n++ {
		if n == limit && !atomic {
			return false
		}
		if err := w.update(now, updates[w.next]); err != nil {
			if w.failed < 0 {
				w.failed, w.each = w.next, make([]*Error, len(updates))
			}
			w.each[w.next] = err
		}
		w.next++
	}
	if w.undo == nil || w.failed < 0 {
		return true
	}
	if atomic {
		limit = len(*w.undo)
	}
	return w.undo.run(limit)
}

func (w *writing) update(now time.Duration, u *p4v1.Update) *Error {
	if w.allow != nil {
		if err := w.allow(u.GetEntity()); err != nil {
			return err
		}
	}
	return w.r.update(now, u, w.undo)
}

// result returns the status of a finished request.
func (w *writing) result() error {
	if w.failed < 0 {
		return nil
	}
	if w.undo != nil {
		for i := range w.each {
			if i != w.failed {
				w.each[i] = errorf(codes.Aborted, "rolled back: update %d of the batch failed", w.failed)
			}
		}
	}
	return batchError("updates", w.each)
}
