package northbound

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/controller/mrc"
)

// fabricView is the fabric as a whole.
type fabricView struct {
	Mode     string       `json:"mode" doc:"How packets say their path: ecmp, stev, usid-f3216, usid-f1616 or usid-srh."`
	InSync   bool         `json:"inSync" doc:"Every BGP-LS peer has sent all it has. Before that nothing is told to hosts."`
	Failure  string       `json:"failure,omitempty" doc:"Why there is no fabric of the present topology."`
	Planes   int          `json:"planes"`
	Tiers    int          `json:"tiers"`
	Leaves   int          `json:"leaves"`
	Links    countOf      `json:"links" doc:"Each direction counted; bad are those over which EVs are denied."`
	Hosts    hostCount    `json:"hosts"`
	Profiles countOf      `json:"evProfiles" doc:"Bad are the degraded ones."`
	Counters mrc.Counters `json:"counters" doc:"Inputs that changed nothing."`
}

type countOf struct {
	All int `json:"all"`
	Bad int `json:"bad"`
}

type hostCount struct {
	All       int `json:"all"`
	Connected int `json:"connected"`
	Current   int `json:"current" doc:"They hold all that they are to hold."`
}

func (s *Server) registerFabric() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "get-fabric", Method: http.MethodGet, Path: "/v1/fabric", Tags: []string{fabricTag},
		Summary: "Get the fabric as a whole", Errors: []int{501},
	}), func(ctx context.Context, _ *struct{}) (*struct{ Body fabricView }, error) {
		m, err := s.multipath()
		if err != nil {
			return nil, err
		}
		f, err := m.Fabric(ctx)
		if err != nil {
			return nil, problemOf(err)
		}
		return &struct{ Body fabricView }{fabricView{
			Mode: f.Mode, InSync: f.InSync, Failure: f.Failure, Planes: f.Planes, Tiers: f.Tiers, Leaves: f.Leaves,
			Links: countOf{f.Links, f.DeniedLinks}, Hosts: hostCount{f.Hosts, f.ConnectedHosts, f.CurrentHosts},
			Profiles: countOf{f.Profiles, f.DegradedProfiles}, Counters: f.Counters,
		}}, nil
	})
}
