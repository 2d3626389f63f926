package northbound

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/internal/natural"
)

// SwitchParam is exported because huma passes over other embedded types.
type SwitchParam struct {
	ID string `path:"id" maxLength:"63" doc:"Name of the switch."`
}

func (s *Server) registerSwitches() {
	tags := []string{"switches"}
	const path = "/v1/switches"
	register(s, huma.Operation{
		OperationID: "list-tables", Method: http.MethodGet, Security: asks(access.Read),
		Path: path + "/{id}/tables", Tags: tags,
		Summary: "List the tables of a switch", Errors: []int{404, 503, 504},
	}, s.listTables)
	register(s, huma.Operation{
		OperationID: "list-entries", Method: http.MethodGet, Security: asks(access.Read),
		Path: path + "/{id}/tables/{table}/entries", Tags: tags,
		Summary:     "List the entries of a table",
		Description: "Read back from the switch, in the names of the P4 program, and ordered by key.",
		Errors:      []int{404, 422, 503, 504},
	}, s.listEntries)
	register(s, huma.Operation{
		OperationID: "list-counters", Method: http.MethodGet, Security: asks(access.Read),
		Path: path + "/{id}/counters", Tags: tags,
		Summary:     "List the counters of a switch",
		Description: "Ordered by counter and index; cells that have counted nothing may be missing.",
		Errors:      []int{404, 422, 503, 504},
	}, s.listCounters)
	register(s, huma.Operation{
		OperationID: "get-switch-gnmi", Method: http.MethodGet, Security: asks(access.Read),
		Path: path + "/{id}/gnmi", Tags: tags, Summary: "Get what a switch answers by gNMI",
		Description: "The paths that it is asked for, in which mode it answers each, and what it " +
			"says otherwise than the configuration or BGP-LS.",
		Errors: []int{404},
	}, func(ctx context.Context, in *SwitchParam) (*api.SwitchGNMI, error) {
		g, err := askSwitch[api.SwitchGNMI](ctx, s, in.ID, api.ReadGNMI{})
		return &g, err
	})
	register(s, huma.Operation{
		OperationID: "get-switch-model", Method: http.MethodGet, Security: asks(access.Read),
		Path: path + "/{id}/model", Tags: tags, Summary: "Get what a switch is",
		Description: "Locator, SIDs, routes, ports, classes and queues, without a word of the tables " +
			"of any system: what configurations of switches without P4 are made of.",
		Errors: []int{404},
	}, func(ctx context.Context, in *SwitchParam) (*api.SwitchModel, error) {
		m, err := askSwitch[api.SwitchModel](ctx, s, in.ID, api.ReadModel{})
		return &m, err
	})
}

// switchKind reaches the switches.
func (s *Server) switchKind() kind.Handle[struct{}, api.SwitchStatus] {
	return kind.Of[struct{}, api.SwitchStatus](s.controller.Kinds())
}

// askSwitch has a switch answer a question.
func askSwitch[A any](ctx context.Context, s *Server, name string, question any) (A, error) {
	a, err := kind.Ask[A](ctx, s.switchKind(), name, question, resource.Precondition{})
	return a, problemOf(err)
}

func (s *Server) listTables(ctx context.Context, in *SwitchParam) (*api.List[api.Table], error) {
	tables, err := askSwitch[[]api.Table](ctx, s, in.ID, api.ReadTables{})
	if err != nil {
		return nil, err
	}
	items := append(make([]api.Table, 0, len(tables)), tables...)
	slices.SortFunc(items, func(a, b api.Table) int { return natural.Compare(a.Name, b.Name) })
	return &api.List[api.Table]{Items: items}, nil
}

func (s *Server) listEntries(ctx context.Context, in *struct {
	SwitchParam
	PageParams
	Table string `path:"table" maxLength:"128" doc:"Name of the table."`
}) (*api.List[api.TableEntry], error) {
	entries, err := askSwitch[[]api.TableEntry](ctx, s, in.ID, api.ReadEntries{Table: in.Table})
	if err != nil {
		return nil, err
	}
	keyed := make([]keyedEntry, 0, len(entries))
	for i := range entries {
		keyed = append(keyed, keyedEntry{key: entryKey(&entries[i]), TableEntry: &entries[i]})
	}
	slices.SortFunc(keyed, func(a, b keyedEntry) int { return natural.Compare(a.key, b.key) })
	shown, next, err := page(in.PageParams, keyed, func(e *keyedEntry) string { return e.key })
	if err != nil {
		return nil, err
	}
	items := make([]api.TableEntry, 0, len(shown))
	for _, e := range shown {
		item := *e.TableEntry
		if item.Match == nil {
			item.Match = []api.Field{}
		}
		items = append(items, item)
	}
	return &api.List[api.TableEntry]{Items: items, Continue: next}, nil
}

type keyedEntry struct {
	key string
	*api.TableEntry
}

// entryKey names an entry within its table, in an order that people expect.
func entryKey(e *api.TableEntry) string {
	if e.Default {
		return "~" // after all others
	}
	var b strings.Builder
	for _, f := range e.Match {
		switch v := f.Value.(type) {
		case uint64:
			fmt.Fprintf(&b, "%020d/", v)
		default:
			fmt.Fprintf(&b, "%v/", v)
		}
	}
	fmt.Fprintf(&b, "%d", e.Priority)
	return b.String()
}

func (s *Server) listCounters(ctx context.Context, in *struct {
	SwitchParam
	Counter string `query:"counter" maxLength:"128" doc:"Only this counter."`
}) (*api.List[api.Counter], error) {
	counters, err := askSwitch[[]api.Counter](ctx, s, in.ID, api.ReadCounters{})
	if err != nil {
		return nil, err
	}
	items := make([]api.Counter, 0, len(counters))
	for _, c := range counters {
		if in.Counter == "" || c.Counter == in.Counter {
			items = append(items, c)
		}
	}
	if in.Counter != "" && len(items) == 0 {
		names, err := askSwitch[[]string](ctx, s, in.ID, api.ReadCounterNames{})
		if err != nil {
			return nil, err
		}
		if !slices.Contains(names, in.Counter) {
			return nil, unknown("counter", in.Counter, names)
		}
	}
	slices.SortFunc(items, func(a, b api.Counter) int {
		return cmp.Or(natural.Compare(a.Counter, b.Counter), cmp.Compare(a.Index, b.Index))
	})
	return &api.List[api.Counter]{Items: items}, nil
}
