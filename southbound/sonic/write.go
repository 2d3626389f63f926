package sonic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"github.com/weft-sdn/weft/southbound/entry"
)

// Write carries out updates of rows with one Set, which the switch applies whole or not at all. If
// the switch refuses the Set, Write writes each table alone, so that a bad row blocks only its own
// table. Write reads back the result of a Set, because a Set may answer an error and still take
// effect.
func (s *Session) Write(ctx context.Context, updates []entry.Update) ([]entry.Refusal, error) {
	client, err := s.connected()
	if err != nil {
		return nil, err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	h, err := s.look(ctx, client)
	if err != nil {
		return nil, err
	}
	w := writer{s: s, client: client, held: &h, all: updates}
	var todo []int
	for i := range updates {
		r, ok := updates[i].Entity.(entry.Row)
		switch {
		case !ok || !known(r.Table):
			w.refuse(i, entry.RefusedOther, "a SONiC switch has no such table")
		case r.Table == tableTrimming && updates[i].Type != entry.Delete && !w.trims(ctx):
			w.refuse(i, entry.RefusedOther, "the switch says that it cannot trim "+
				"(SWITCH_TRIMMING_CAPABLE): it would take the row and do nothing")
		default:
			todo = append(todo, i)
		}
	}
	if todo, err = w.renew(ctx, todo); err == nil {
		err = w.write(ctx, todo)
	}
	return w.refused, err
}

func known(table string) bool {
	_, ok := tables[table]
	return ok
}

// writer carries out one Write.
type writer struct {
	s       *Session
	client  gpb.GNMIClient
	held    *held
	all     []entry.Update
	refused []entry.Refusal

	capable *bool
}

func (w *writer) row(i int) entry.Row { return w.all[i].Entity.(entry.Row) }

func (w *writer) refuse(i int, why entry.RefusalReason, message string) {
	w.refused = append(w.refused, entry.Refusal{Update: i, Reason: why, Message: message})
}

// trims reports whether the switch can trim, as far as it says.
func (w *writer) trims(ctx context.Context) bool {
	if w.capable == nil {
		can := true
		text, err := w.s.get(ctx, w.client, path(stateDB, "SWITCH_CAPABILITY", "switch"))
		if err == nil {
			if fields, err := decode[map[string]string](text); err == nil {
				can = fields["SWITCH_TRIMMING_CAPABLE"] != "false"
			}
		}
		w.capable = &can
	}
	return *w.capable
}

// renew removes the rows that CONFIG_DB has and the switch has lost: writing an existing row
// unchanged changes nothing, and no daemon looks at it. renew returns the updates that remain.
func (w *writer) renew(ctx context.Context, todo []int) ([]int, error) {
	away := writer{s: w.s, client: w.client, held: w.held}
	var lost, all []int
	for _, i := range todo {
		if r := w.row(i); w.all[i].Type != entry.Delete && w.held.config.holds(r) &&
			w.held.lost(r) != "" {
			all = append(all, len(lost))
			lost = append(lost, i)
			away.all = append(away.all, entry.Update{Type: entry.Delete, Entity: r})
		}
	}
	err := away.write(ctx, all)
	w.held = away.held
	for _, r := range away.refused {
		i := lost[r.Update]
		w.refuse(i, r.Reason, "the switch has lost the row, and does not let Weft take the row away "+
			"to write it anew: "+r.Message)
		todo = slices.DeleteFunc(todo, func(j int) bool { return j == i })
	}
	return todo, err
}

// write carries out some of the updates, together first.
func (w *writer) write(ctx context.Context, todo []int) error {
	failed, err := w.together(ctx, todo)
	if err != nil || failed == nil {
		return err
	}
	byTable := make(map[string][]int)
	for _, i := range todo {
		byTable[w.row(i).Table] = append(byTable[w.row(i).Table], i)
	}
	for _, table := range slices.Sorted(maps.Keys(byTable)) {
		of := byTable[table]
		if len(byTable) > 1 {
			if failed, err = w.together(ctx, of); err != nil {
				return err
			}
		}
		for _, i := range of {
			if failed != nil && w.without(i) {
				w.refuse(i, entry.RefusedOther, failed.Error())
			}
		}
	}
	return nil
}

// together carries out updates with one Set. failed is the reason why the switch has not carried
// out all updates.
func (w *writer) together(ctx context.Context, some []int) (failed, err error) {
	req := w.request(some)
	if len(req.Delete)+len(req.Replace)+len(req.Update) == 0 {
		return nil, nil
	}
	failed = w.s.set(ctx, w.client, req)
	if failed != nil && !refusal(failed) {
		return nil, failed
	}
	h, err := w.s.look(ctx, w.client)
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	w.held = &h
	if !slices.ContainsFunc(some, w.without) {
		return nil, nil // whatever it has answered
	}
	if failed == nil {
		failed = errors.New("the switch has answered that it is done, and CONFIG_DB does not have it")
	}
	return failed, nil
}

// without reports whether CONFIG_DB does not show an update.
func (w *writer) without(i int) bool {
	r := w.row(i)
	if w.all[i].Type == entry.Delete {
		return w.held.config.has(r)
	}
	return !w.held.config.holds(r)
}

// request returns the Set of some updates. A JSON Patch adds nothing to what is not there (RFC
// 6902, section 4.1): a row of a table without rows comes with its table, and a cell of a missing
// row with its row. The switch refuses a patch that leaves a table without rows (EmptyTableError of
// generic_config_updater): the last row goes with its table. Operations without effect are left
// out.
func (w *writer) request(some []int) *gpb.SetRequest {
	var req gpb.SetRequest
	next := w.held.config.after(w.all, some)
	for _, table := range slices.Sorted(maps.Keys(next)) {
		was, rows := w.held.config[table], next[table]
		switch {
		case len(rows) == 0 && len(was) > 0:
			req.Delete = append(req.Delete, written([]string{table}))
			continue
		case len(rows) > 0 && len(was) == 0:
			req.Update = append(req.Update, update(rows, table))
			continue
		}
		for name := range was {
			if _, stays := rows[name]; !stays {
				req.Delete = append(req.Delete, written([]string{table, name}))
			}
		}
		for name, fields := range rows {
			old, there := was[name]
			switch {
			case reflect.DeepEqual(old, fields):
			case !there:
				req.Update = append(req.Update, update(fields, table, name))
			case !tables[table].shared:
				req.Replace = append(req.Replace, update(fields, table, name))
			default:
				for field := range old {
					if _, stays := fields[field]; !stays {
						req.Delete = append(req.Delete, written([]string{table, name, field}))
					}
				}
				for field, v := range fields {
					if !reflect.DeepEqual(old[field], v) {
						req.Update = append(req.Update, update(v, table, name, field))
					}
				}
			}
		}
	}
	slices.SortFunc(req.Update, func(a, b *gpb.Update) int {
		return slices.CompareFunc(a.Path.Elem, b.Path.Elem, func(x, y *gpb.PathElem) int {
			return cmp.Compare(x.Name, y.Name)
		})
	})
	return &req
}

// applyPause is the pause between two reads of the switch's APPL_DB.
const applyPause = 100 * time.Millisecond

// Confirm waits until the switch has taken updates, ApplyTime at most, and returns a refusal for
// each that it has not taken by then.
func (s *Session) Confirm(ctx context.Context, updates []entry.Update) ([]entry.Refusal, error) {
	client, err := s.connected()
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(s.cfg.ApplyTime); ; {
		h, err := s.look(ctx, client)
		if err != nil {
			return nil, err
		}
		var without []entry.Refusal
		for i := range updates {
			if why := h.without(&updates[i]); why != "" {
				without = append(without, entry.Refusal{Update: i, Message: why})
			}
		}
		if len(without) == 0 || !time.Now().Before(deadline) {
			s.done(&h, updates)
			return without, nil
		}
		wait := time.NewTimer(applyPause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return nil, fmt.Errorf("reading back: %w", ctx.Err())
		}
	}
}

// without returns why an update has had no effect, or "".
func (h *held) without(u *entry.Update) string {
	r, ok := u.Entity.(entry.Row)
	switch {
	case !ok:
		return "it is no row"
	case u.Type == entry.Delete && h.config.has(r):
		return "the switch accepted it, and CONFIG_DB still has the row"
	case u.Type == entry.Delete:
		return ""
	case !h.config.holds(r):
		return "the switch accepted it, and CONFIG_DB does not have it"
	}
	return h.lost(r)
}
