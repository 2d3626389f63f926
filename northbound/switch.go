package northbound

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/controller/intent"
)

type switchList struct {
	Items    []Switch `json:"items" nullable:"false" doc:"Ordered by id."`
	Continue string   `json:"continue,omitempty" doc:"Ask with this for the next page; absent on the last."`
}

type tableList struct {
	Items []Table `json:"items" nullable:"false"`
}

type entryList struct {
	Items    []Entry `json:"items" nullable:"false" doc:"Ordered by id."`
	Continue string  `json:"continue,omitempty" doc:"Ask with this for the next page; absent on the last."`
}

type counterList struct {
	Items []Counter `json:"items" nullable:"false" doc:"Ordered by name and index."`
}

// SwitchParam is exported because huma passes over other embedded types.
type SwitchParam struct {
	ID string `path:"id" maxLength:"63" doc:"Id of the switch."`
}

func (s *Server) registerSwitches() {
	tags := []string{"switches"}
	const path = "/v1/switches"
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-switches", Method: http.MethodGet, Path: path, Tags: tags, Summary: "List the switches", Errors: []int{422},
	}), s.listSwitches)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "get-switch", Method: http.MethodGet, Path: path + "/{id}", Tags: tags, Summary: "Get a switch", Errors: []int{404},
	}), s.getSwitch)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-tables", Method: http.MethodGet, Path: path + "/{id}/tables", Tags: tags,
		Summary: "List the tables of a switch", Errors: []int{404, 503, 504},
	}), s.listTables)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-entries", Method: http.MethodGet, Path: path + "/{id}/tables/{table}/entries", Tags: tags,
		Summary: "List the entries of a table", Description: "Read back from the switch, in the names of the P4 program.", Errors: []int{404, 422, 503, 504},
	}), s.listEntries)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-counters", Method: http.MethodGet, Path: path + "/{id}/counters", Tags: tags,
		Summary: "List the counters of a switch", Errors: []int{404, 422, 503, 504},
	}), s.listCounters)
}

func (s *Server) listSwitches(_ context.Context, in *PageParams) (*struct{ Body switchList }, error) {
	items, next, err := page(*in, s.controller.Switches(), func(w *Switch) string { return w.ID })
	if err != nil {
		return nil, err
	}
	return &struct{ Body switchList }{switchList{Items: items, Continue: next}}, nil
}

func (s *Server) getSwitch(_ context.Context, in *SwitchParam) (*struct{ Body Switch }, error) {
	all := s.controller.Switches()
	i := slices.IndexFunc(all, func(w Switch) bool { return w.ID == in.ID })
	if i < 0 {
		return nil, newProblem(string(intent.CodeNotFound), fmt.Sprintf("there is no switch %s", strconv.Quote(in.ID)))
	}
	return &struct{ Body Switch }{all[i]}, nil
}

func (s *Server) listTables(ctx context.Context, in *SwitchParam) (*struct{ Body tableList }, error) {
	tables, err := s.controller.Tables(ctx, in.ID)
	if err != nil {
		return nil, problemOf(err)
	}
	return &struct{ Body tableList }{tableList{Items: append([]Table{}, tables...)}}, nil
}

func (s *Server) listEntries(ctx context.Context, in *struct {
	SwitchParam
	PageParams
	Table string `path:"table" maxLength:"128" doc:"Name of the table."`
}) (*struct{ Body entryList }, error) {
	entries, err := s.controller.Entries(ctx, in.ID, in.Table)
	if err != nil {
		return nil, problemOf(err)
	}
	items, next, err := page(in.PageParams, entries, func(e *Entry) string { return e.ID })
	if err != nil {
		return nil, err
	}
	return &struct{ Body entryList }{entryList{Items: items, Continue: next}}, nil
}

func (s *Server) listCounters(ctx context.Context, in *struct {
	SwitchParam
	Name string `query:"name" maxLength:"128" doc:"Only the counter of this name."`
	Zero bool   `query:"zero" doc:"Cells that have counted nothing, too."`
}) (*struct{ Body counterList }, error) {
	counters, err := s.controller.Counters(ctx, in.ID)
	if err != nil {
		return nil, problemOf(err)
	}
	items := make([]Counter, 0, len(counters))
	for _, c := range counters {
		if (in.Name == "" || c.Name == in.Name) && (in.Zero || c.Packets != 0 || c.Bytes != nil && *c.Bytes != 0) {
			items = append(items, c)
		}
	}
	return &struct{ Body counterList }{counterList{Items: items}}, nil
}
