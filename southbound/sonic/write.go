package sonic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"

	"github.com/weft-sdn/weft/southbound/entry"
)

// Write carries out updates of rows with one Set, which the switch applies whole or not at all.
// When it refuses that, each table is written alone, so that one bad row holds up its table only.
// What a Set has done is read back: it may answer an error and take effect.
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
	if err := w.renew(ctx, todo); err != nil {
		return w.refused, err
	}
	return w.refused, w.write(ctx, todo)
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

// renew takes away what CONFIG_DB has and the switch has lost: written as it is there already, a
// row changes nothing, and no daemon looks at it.
func (w *writer) renew(ctx context.Context, todo []int) error {
	var req gpb.SetRequest
	for _, i := range todo {
		if r := w.row(i); w.all[i].Type != entry.Delete && w.held.config.holds(r) &&
			w.held.lost(r) != "" {
			req.Delete = append(req.Delete, written([]string{r.Table, r.Name}))
			delete(w.held.config[r.Table], r.Name)
		}
	}
	if len(req.Delete) == 0 {
		return nil
	}
	if err := w.s.set(ctx, w.client, &req); err != nil && !refusal(err) {
		return err
	}
	h, err := w.s.look(ctx, w.client)
	if err == nil {
		w.held = &h
	}
	return err
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

// together carries out updates with one Set. failed is why the switch has not done all of them.
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
// row with its row. What would change nothing is left out.
func (w *writer) request(some []int) *gpb.SetRequest {
	var req gpb.SetRequest
	gone := make(map[string]map[string]bool) // cells that go, by row
	type place struct{ table, name string }
	fresh := make(map[place]map[string]any) // rows that are new
	for _, i := range some {
		r, at := w.row(i), place{w.row(i).Table, w.row(i).Name}
		switch fields, there := w.held.config[r.Table][r.Name]; {
		case w.all[i].Type == entry.Delete && !w.held.config.has(r):
		case w.all[i].Type == entry.Delete && r.Field == "":
			req.Delete = append(req.Delete, written([]string{r.Table, r.Name}))
		case w.all[i].Type == entry.Delete:
			key := r.Table + "|" + r.Name
			if gone[key] == nil {
				gone[key] = make(map[string]bool)
			}
			if gone[key][r.Field] = true; len(gone[key]) < len(fields) {
				req.Delete = append(req.Delete, written([]string{r.Table, r.Name, r.Field}))
				continue
			}
			req.Delete = slices.DeleteFunc(req.Delete, func(p *gpb.Path) bool { // the row goes
				return p.Elem[2].Name == pointer.Replace(r.Table) && p.Elem[3].Name == pointer.Replace(r.Name)
			})
			req.Delete = append(req.Delete, written([]string{r.Table, r.Name}))
		case w.held.config.holds(r):
		case !there:
			if fresh[at] == nil {
				fresh[at] = make(map[string]any)
			}
			maps.Copy(fresh[at], object(&r))
		case r.Field != "":
			req.Update = append(req.Update, update(value(&r.Cells[0]), r.Table, r.Name, r.Field))
		default:
			req.Replace = append(req.Replace, update(object(&r), r.Table, r.Name))
		}
	}
	whole := make(map[string]map[string]any) // tables that are new
	for at, fields := range fresh {
		if len(w.held.config[at.table]) > 0 {
			req.Update = append(req.Update, update(fields, at.table, at.name))
			continue
		}
		if whole[at.table] == nil {
			whole[at.table] = make(map[string]any)
		}
		whole[at.table][at.name] = fields
	}
	for table, rows := range whole {
		req.Update = append(req.Update, update(rows, table))
	}
	slices.SortFunc(req.Update, func(a, b *gpb.Update) int {
		return slices.CompareFunc(a.Path.Elem, b.Path.Elem, func(x, y *gpb.PathElem) int {
			return cmp.Compare(x.Name, y.Name)
		})
	})
	return &req
}

// applyPause lies between looks at what the switch has taken.
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
			s.saw(&h)
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
