package hostrun

import (
	"errors"
	"fmt"
	"time"

	"github.com/weft-sdn/weft/host/verbs"
)

// QP is a queue pair for WRITEs: PostSend returns verbs.ErrQueueFull until the peer acknowledges
// packets of earlier WRITEs.
type QP interface {
	PostSend(now time.Duration, wr verbs.WorkRequest) error
}

// A Queue holds the data that a queue pair must write.
type Queue struct {
	runner *Runner
	qp     QP
	writes []*writing // that are not complete, and those that repeat
}

// Queue is a queue for a queue pair, empty as yet.
func (r *Runner) Queue(qp QP) *Queue { return &Queue{runner: r, qp: qp} }

// Add reads the file of the write with an index and appends it. Immediate, if not nil, goes with
// its last WRITE.
func (q *Queue) Add(i int, w Write, immediate *uint32) error {
	data, err := w.octets()
	if err != nil {
		return fmt.Errorf("writes[%d]: %w: %w", i, ErrConfig, err)
	}
	n := &writing{Write: w, immediate: immediate, data: data}
	q.runner.writes, q.writes = append(q.runner.writes, n), append(q.writes, n)
	return nil
}

// Completed takes the completion of a WRITE.
func (q *Queue) Completed(c verbs.Completion) error {
	if len(q.writes) == 0 {
		return nil
	}
	w := q.writes[0]
	if c.Status != verbs.StatusOK {
		w.status, w.ended = c.Status, q.runner.Now()
		return fmt.Errorf("%w: %s: %d of %d octets: %v", ErrWrite, w.File, w.complete, len(w.data),
			c.Status)
	}
	w.complete += c.Octets
	return nil
}

// Post posts what the queue pair has room for.
func (q *Queue) Post() error {
	for len(q.writes) > 0 {
		w := q.writes[0]
		if w.next > 0 {
			if q.runner.Now() < w.next {
				break
			}
			w.again()
		}
		if err := q.post(w); err != nil {
			return err
		}
		if !w.done() {
			break
		}
		w.ended, w.rounds = q.runner.Now(), w.rounds+1
		q.writes = q.writes[1:]
		if w.Every > 0 {
			w.next = w.ended + w.Every.D()
			q.writes = append(q.writes, w)
		}
	}
	return nil
}

func (q *Queue) post(w *writing) error {
	if w.began == 0 {
		w.began = q.runner.Now()
	}
	for w.posted < len(w.data) {
		end := min(w.posted+w.Message, len(w.data))
		wr := verbs.WorkRequest{Op: verbs.OpWrite, Data: w.data[w.posted:end], RemoteVA: w.VA +
			uint64(w.posted), RKey: w.RKey}
		if w.immediate != nil && end == len(w.data) {
			wr.Op, wr.Immediate = verbs.OpWriteImmediate, *w.immediate
		}
		err := q.qp.PostSend(q.runner.Now(), wr)
		if errors.Is(err, verbs.ErrQueueFull) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrWrite, w.File, err)
		}
		w.posted = end
	}
	return nil
}
