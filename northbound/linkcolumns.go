package northbound

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/topology"
)

// columnsAtOnce is how many links the fabric is asked for at a time: what it does meanwhile waits.
const columnsAtOnce = 4096

func (s *Server) registerLinkColumns() {
	register(s, huma.Operation{
		OperationID: "get-link-columns", Method: http.MethodGet, Security: asks(access.Read),
		Path: "/v1/link-columns", Tags: []string{fabricTag},
		Summary:     "Get all links of the fabric, field by field",
		Description: "What GET /v1/links lists, in one answer that stays small in a large network.",
	}, s.linkColumns)
}

func (s *Server) linkColumns(ctx context.Context, _ *struct{}) (*api.LinkColumns, error) {
	var b columnsBuilder
	q := kind.Query{Limit: columnsAtOnce}
	for {
		p, err := kindOf[api.AdminSpec, api.Link](s).List(ctx, q)
		if err != nil {
			return nil, problemOf(err)
		}
		for i := range p.Items {
			b.add(&p.Items[i])
		}
		if !p.More || len(p.Items) == 0 {
			return new(b.done()), nil
		}
		q.After = string(p.Items[len(p.Items)-1].ID)
	}
}

// filling is a column under construction. Values with the same key are the same.
type filling[K comparable, T any] struct {
	out    api.Column[T]
	places map[K]int // of values
	last   K
	at     int // the place of the value of last
}

// add adds the value of the next object.
func (f *filling[K, T]) add(key K, value func() T) {
	if len(f.out.Values) == 0 || key != f.last {
		at, ok := f.places[key]
		if !ok {
			if f.places == nil {
				f.places = make(map[K]int)
			}
			at = len(f.out.Values)
			f.out.Values = append(f.out.Values, value())
			f.places[key] = at
		}
		f.last, f.at = key, at
	}
	f.out.Index = append(f.out.Index, f.at)
}

func (f *filling[K, T]) done() api.Column[T] {
	if len(f.out.Values) <= 1 {
		f.out.Index = nil
	}
	if f.out.Values == nil {
		f.out.Values = []T{}
	}
	return f.out
}

// columnsBuilder puts links into columns.
type columnsBuilder struct {
	out              api.LinkColumns
	from, to         filling[topology.NodeID, api.LinkEnd]
	admin            filling[adminKey, api.LinkAdmin]
	plane            filling[int, int]
	phase, cause     filling[string, string]
	fromPort, toPort filling[string, string]
	since, until     filling[time.Time, string]
	sources          filling[string, []string]
	denied, drained  filling[bool, bool]
	drains           filling[string, []api.Drain]
}

type adminKey struct {
	version uint64
	changed time.Time
	admin   api.AdminState
}

// add adds a link.
func (b *columnsBuilder) add(l *api.Link) {
	st := &l.Status
	from, to, ok := linkNumbers(l.ID, st.From, st.To)
	if !ok {
		if b.out.IDs == nil {
			b.out.IDs = make(map[int]topology.LinkID)
		}
		b.out.IDs[b.out.Count] = l.ID
	}
	b.out.Count++
	b.out.FromID, b.out.ToID = append(b.out.FromID, from), append(b.out.ToID, to)
	b.from.add(st.From, func() api.LinkEnd { return api.LinkEnd{ID: st.From, Name: st.FromName} })
	b.to.add(st.To, func() api.LinkEnd { return api.LinkEnd{ID: st.To, Name: st.ToName} })
	b.admin.add(adminKey{l.Version, l.Changed, l.Spec.Admin}, func() api.LinkAdmin {
		a := api.LinkAdmin{Version: l.Version, Spec: l.Spec}
		if !l.Changed.IsZero() {
			a.Changed = &l.Changed
		}
		return a
	})
	b.plane.add(st.Plane, func() int { return st.Plane })
	b.phase.add(st.Phase, func() string { return st.Phase })
	b.cause.add(st.Cause, func() string { return st.Cause })
	b.fromPort.add(st.FromPort, func() string { return st.FromPort })
	b.toPort.add(st.ToPort, func() string { return st.ToPort })
	b.since.add(st.Since, func() string { return timeText(st.Since) })
	b.until.add(st.Until, func() string { return timeText(st.Until) })
	b.sources.add(strings.Join(st.Sources, "\x00"),
		func() []string { return append([]string{}, st.Sources...) })
	b.denied.add(st.Denied, func() bool { return st.Denied })
	b.drained.add(st.Drained, func() bool { return st.Drained })
	b.drains.add(drainsText(st.Drains),
		func() []api.Drain { return append([]api.Drain{}, st.Drains...) })
}

// done returns the columns.
func (b *columnsBuilder) done() api.LinkColumns {
	out := b.out
	if out.Count == 0 {
		out.FromID, out.ToID = []uint32{}, []uint32{}
	}
	out.From, out.To, out.Admin, out.Plane = b.from.done(), b.to.done(), b.admin.done(), b.plane.done()
	out.Phase, out.Cause, out.FromPort, out.ToPort = b.phase.done(), b.cause.done(), b.fromPort.done(),
		b.toPort.done()
	out.Since, out.Until, out.Sources = b.since.done(), b.until.done(), b.sources.done()
	out.Denied, out.Drained, out.Drains = b.denied.done(), b.drained.done(), b.drains.done()
	return out
}

// timeText returns a time as in JSON, "" for the zero time.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

// drainsText returns the same text for the same drains.
func drainsText(drains []api.Drain) string {
	var b strings.Builder
	for _, d := range drains {
		fmt.Fprintf(&b, "%s\x00%v\x00%s\x01", d.Target, d.Drained, strings.Join(d.Awaits, "\x00"))
	}
	return b.String()
}

// linkNumbers returns the link identifiers in the id of a link FROM,ID~TO,ID; ok is false for
// another id.
func linkNumbers(id topology.LinkID, from, to topology.NodeID) (fromID, toID uint32, ok bool) {
	number := func(end string, node topology.NodeID) (uint32, bool) {
		text, ok := strings.CutPrefix(end, string(node)+",")
		n, err := strconv.ParseUint(text, 10, 32)
		return uint32(n), ok && err == nil && strconv.FormatUint(n, 10) == text
	}
	a, b, _ := strings.Cut(string(id), "~")
	fromID, okFrom := number(a, from)
	toID, okTo := number(b, to)
	return fromID, toID, okFrom && okTo
}
