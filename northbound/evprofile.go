package northbound

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/resource"
	"github.com/weft-sdn/weft/hostapi"
)

const (
	evProfilesPath = "/v1/ev-profiles"
	fabricTag      = kind.HeadingFabric
)

// multipath returns the controller of the MRC fabric, or a problem when there is
// none.
func (s *Server) multipath() (Multipath, error) {
	if s.cfg.Multipath == nil {
		return nil, newProblem(codeNoSection, mrc.EVProfileKind.Needs)
	}
	return s.cfg.Multipath, nil
}

func (s *Server) hasMultipath() error {
	_, err := s.multipath()
	return err
}

// pageOfFabric is the part of a list that a client asks for.
func pageOfFabric[V any](
	s *Server, in PageParams, list func(Multipath, mrc.Page) ([]V, bool, error), key func(*V) string, filters ...named,
) (*listOf[V], error) {
	m, err := s.multipath()
	if err != nil {
		return nil, err
	}
	after, err := decodeToken(in.Continue)
	if err != nil {
		return nil, err
	}
	items, more, err := list(m, mrc.Page{After: after, Limit: in.Limit})
	if err != nil {
		return nil, problemOf(err)
	}
	return &listOf[V]{pageOf(kind.Page[V]{Items: items, More: more}, key)}, known(in, len(items), filters...)
}

func (s *Server) registerEVProfiles() {
	tags := []string{fabricTag}
	k := mrc.EVProfileKind
	if s.cfg.Multipath != nil {
		k = kind.Bind(k, evProfiles{s: s})
	}
	c := &collection{Kind: k, server: s}
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-ev-profiles", Method: http.MethodGet, Security: asks(access.Read), Path: evProfilesPath, Tags: tags,
		Summary: "List the EV profiles", Description: "One for each pair of leaves with hosts; without the EVs.", Errors: []int{422, 501},
	}), s.listEVProfiles)
	c.registerGet()
	c.registerWrite()
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-evs", Method: http.MethodGet, Security: asks(access.Read), Path: evProfilesPath + "/{name}/evs", Tags: tags,
		Summary: "List the EVs of a profile", Errors: []int{404, 422, 501},
	}), s.listEVs)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "get-ev-path", Method: http.MethodGet, Security: asks(access.Read), Path: evProfilesPath + "/{name}/evs/{ev}/path", Tags: tags,
		Summary: "Get the path of an EV", Description: "Decoded from the value, switch by switch, as the switches are programmed.", Errors: []int{400, 404, 501},
	}), s.evPath)
}

// evProfiles implements kind.Handle: EV profiles as clients read them.
type evProfiles struct {
	kind.Base[api.EVProfileSpec, api.EVProfile]
	s *Server
}

func (e evProfiles) Get(ctx context.Context, name string) (api.EVProfile, error) {
	return e.s.cfg.Multipath.EVProfile(ctx, name)
}

func (e evProfiles) Put(ctx context.Context, name string, spec api.EVProfileSpec, pre resource.Precondition) (api.EVProfile, bool, error) {
	p, err := e.s.cfg.Multipath.PutEVProfile(ctx, name, spec, pre)
	return p, false, err
}

func (e evProfiles) Delete(ctx context.Context, name string, pre resource.Precondition) error {
	return e.s.cfg.Multipath.DeleteEVProfile(ctx, name, pre)
}

func (s *Server) listEVProfiles(ctx context.Context, in *struct {
	PageParams
	Source      string `query:"source" maxLength:"253" doc:"Only profiles from this leaf, by name or id."`
	Destination string `query:"destination" maxLength:"253" doc:"Only profiles to this leaf, by name or id."`
	Host        string `query:"host" maxLength:"253" doc:"Only profiles that this host holds."`
	Degraded    bool   `query:"degraded" doc:"Only profiles that are less than they were."`
}) (*listOf[api.EVProfile], error) {
	filter := mrc.ProfileFilter{Source: in.Source, Destination: in.Destination, Host: in.Host, Degraded: in.Degraded}
	list := func(m Multipath, page mrc.Page) ([]api.EVProfile, bool, error) {
		return m.EVProfiles(ctx, filter, page)
	}
	return pageOfFabric(s, in.PageParams, list, func(p *api.EVProfile) string { return p.Name },
		named{"source", in.Source, nodeNames(ctx, s.cfg.Multipath)}, named{"destination", in.Destination, nodeNames(ctx, s.cfg.Multipath)},
		named{"host", in.Host, hostNames(ctx, s.cfg.Multipath)})
}

// evKey is what the EVs of a profile are continued by: their place.
func evKey(e *api.EV) string { return fmt.Sprintf("%06d", e.Index) }

func (s *Server) listEVs(ctx context.Context, in *struct {
	NameParam
	PageParams
	State string `query:"state" enum:"GOOD,ASSUMED_BAD,DENIED" doc:"Only EVs of this state."`
	Port  uint8  `query:"port" maximum:"31" doc:"Only EVs of this port."`
}) (*listOf[api.EV], error) {
	m, err := s.multipath()
	if err != nil {
		return nil, err
	}
	after, err := decodeToken(in.Continue)
	if err != nil {
		return nil, err
	}
	filter := mrc.EVFilter{State: in.State, Port: in.Port}
	if after != "" {
		last, err := strconv.Atoi(after)
		if err != nil {
			return nil, badToken(in.Continue)
		}
		filter.From = last + 1
	}
	items, more, err := m.EVs(ctx, in.Name, filter, in.Limit)
	if err != nil {
		return nil, problemOf(err)
	}
	return &listOf[api.EV]{pageOf(kind.Page[api.EV]{Items: items, More: more}, evKey)}, nil
}

func (s *Server) evPath(ctx context.Context, in *struct {
	NameParam
	EV string `path:"ev" maxLength:"80" doc:"An EV as lists have it: 0x, octets in hexadecimal, @ and the port."`
}) (*struct{ Body api.EVPath }, error) {
	m, err := s.multipath()
	if err != nil {
		return nil, err
	}
	e, err := hostapi.ParseEV(in.EV)
	if err != nil {
		return nil, newProblem(string(api.CodeMalformed), "the EV in the path is none", api.FieldError{
			Field: "path.ev", Code: api.CodeMalformed, Value: valueText(in.EV),
			Want: fmt.Sprintf(`"0x", 1 to %d octets in hexadecimal, "@", and a port of 0 to %d`, hostapi.EVBytes, hostapi.MaxPort),
		})
	}
	path, err := m.EVPath(ctx, in.Name, e)
	if err != nil {
		return nil, problemOf(err)
	}
	return &struct{ Body api.EVPath }{path}, nil
}
