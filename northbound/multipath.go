package northbound

import (
	"context"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/controller/resource"
)

// Multipath is the API's view of the controller of an MRC fabric. Many goroutines call the methods.
// Callers may read the returned values but must not change them.
type Multipath interface {
	// Kinds returns the kinds of resources of the fabric, with their handles.
	Kinds() []*kind.Kind
	// Fabric returns the state of the fabric as a whole.
	Fabric(ctx context.Context) (api.Fabric, error)
	// StreamCounts returns counts of streams to hosts: their ends and their messages.
	StreamCounts(ctx context.Context) (mrc.StreamCounts, error)
}

const fabricTag = kind.HeadingFabric

// multipath returns the controller of the MRC fabric, or a problem without an MRC fabric.
func (s *Server) multipath() (Multipath, error) {
	if s.cfg.Multipath == nil {
		return nil, newProblem(codeNoSection, mrc.EVProfileKind.Needs)
	}
	return s.cfg.Multipath, nil
}

// registerFabric registers the operations of an MRC fabric that do not belong to a resource kind.
func (s *Server) registerFabric() {
	tags := []string{fabricTag}
	profile := mrc.EVProfileKind.Place()
	register(s, huma.Operation{
		OperationID: "get-fabric", Method: http.MethodGet, Security: asks(access.Read),
		Path: "/v1/fabric", Tags: tags, Summary: "Get the fabric as a whole", Errors: []int{501},
	}, s.getFabric)
	register(s, huma.Operation{
		OperationID: "list-evs", Method: http.MethodGet, Security: asks(access.Read),
		Path: profile + "/evs", Tags: tags, Summary: "List the EVs of a profile",
		Errors: []int{404, 422, 501},
	}, s.listEVs)
	register(s, huma.Operation{
		OperationID: "get-ev-path", Method: http.MethodGet, Security: asks(access.Read),
		Path: profile + "/evs/{ev}/path", Tags: tags, Summary: "Get the path of an EV",
		Description: "Decoded from the value, switch by switch, as the switches are programmed.",
		Errors:      []int{400, 404, 501},
	}, s.evPath)
	register(s, huma.Operation{
		OperationID: "list-host-ports", Method: http.MethodGet, Security: asks(access.Read),
		Path: mrc.HostKind.Place() + "/ports", Tags: tags, Summary: "List the ports of a host",
		Errors: []int{404},
	}, s.listHostPorts)
}

func (s *Server) getFabric(ctx context.Context, _ *struct{}) (*api.Fabric, error) {
	m, err := s.multipath()
	if err != nil {
		return nil, err
	}
	f, err := m.Fabric(ctx)
	if err != nil {
		return nil, problemOf(err)
	}
	return &f, nil
}

// askProfile asks the controller a question about an EV profile.
func askProfile[A any](ctx context.Context, s *Server, name string, question any) (a A, err error) {
	if _, err := s.multipath(); err != nil {
		return a, err
	}
	profiles := kindOf[api.EVProfileSpec, api.EVProfile](s)
	a, err = kind.Ask[A](ctx, profiles, name, question, resource.Precondition{})
	return a, problemOf(err)
}

// evKey returns the continuation key of an EV in a list: the EV's index.
func evKey(e *api.EV) string { return fmt.Sprintf("%06d", e.Index) }

// listEVs lists EVs in their order: a page goes on behind the index of an EV.
func (s *Server) listEVs(ctx context.Context, in *struct {
	NameParam
	PageParams
	api.EVFilter
}) (*api.List[api.EV], error) {
	after, err := decodeToken(in.Continue)
	if err != nil {
		return nil, err
	}
	q := api.ReadEVs{EVFilter: in.EVFilter, Limit: in.Limit + 1}
	if after != "" {
		last, err := strconv.Atoi(after)
		if err != nil {
			return nil, badToken(in.Continue)
		}
		q.From = last + 1
	}
	all, err := askProfile[[]api.EV](ctx, s, in.Name, q)
	if err != nil {
		return nil, err
	}
	p := kind.Page[api.EV]{Items: all, More: len(all) > in.Limit}
	p.Items = all[:min(len(all), in.Limit)]
	return new(pageOf(p, evKey)), nil
}

func (s *Server) evPath(ctx context.Context, in *struct {
	NameParam
	EV string `path:"ev" maxLength:"80" doc:"An EV as lists have it: 0x, octets in hexadecimal, @ and the port."`
}) (*api.EVPath, error) {
	if _, err := s.multipath(); err != nil {
		return nil, err
	}
	e, err := hostapi.ParseEV(in.EV)
	if err != nil {
		return nil, newProblem(string(api.CodeMalformed), "the EV in the path is none", api.FieldError{
			Field: "path.ev", Code: api.CodeMalformed, Value: valueText(in.EV),
			Want: fmt.Sprintf(`"0x", 1 to %d octets in hexadecimal, "@", and a port of 0 to %d`,
				hostapi.EVBytes, hostapi.MaxPort),
		})
	}
	path, err := askProfile[api.EVPath](ctx, s, in.Name, api.ReadEVPath{EV: e})
	if err != nil {
		return nil, err
	}
	return &path, nil
}

func (s *Server) listHostPorts(
	ctx context.Context, in *NameParam,
) (*api.List[api.HostPort], error) {
	h, err := kindOf[struct{}, api.Host](s).Get(ctx, in.Name)
	if err != nil {
		return nil, problemOf(err)
	}
	return &api.List[api.HostPort]{Items: h.Ports}, nil
}
