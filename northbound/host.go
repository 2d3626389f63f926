package northbound

import (
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
)

const hostsPath = "/v1/hosts"

// HostPortParam is exported because huma passes over other embedded types.
type HostPortParam struct {
	Name string `path:"name" maxLength:"253" doc:"Name of the host."`
	Port uint8  `path:"port" minimum:"1" maximum:"31" doc:"Port of the host, from 1."`
}

func (s *Server) registerHosts() {
	tags := []string{fabricTag}
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-hosts", Method: http.MethodGet, Security: asks(access.Read), Path: hostsPath, Tags: tags,
		Summary: "List the hosts of the fabric", Description: "Without an MRC fabric: those of the inventory.", Errors: []int{422},
	}), s.listHosts)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "get-host", Method: http.MethodGet, Security: asks(access.Read), Path: hostsPath + "/{name}", Tags: tags,
		Summary: "Get a host of the fabric", Errors: []int{404},
	}), s.getHost)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-host-ports", Method: http.MethodGet, Security: asks(access.Read), Path: hostsPath + "/{name}/ports", Tags: tags,
		Summary: "List the ports of a host", Errors: []int{404},
	}), s.listPorts)
	d := &drainable[HostPortParam, api.HostPort]{
		intent: func(v *api.HostPort) (uint64, *api.AdminSpec) { return v.Version, &v.Spec },
		path:   hostsPath + "/{name}/ports/{port}", one: "host-port", noun: "port of a host",
		plain: func(ctx context.Context, p *HostPortParam) (api.HostPort, error) {
			h, err := plainItem(ctx, s, "host", p.Name, (*plainNetwork).hosts, hostKey)
			if err != nil {
				return api.HostPort{}, err
			}
			if i := int(p.Port) - 1; i < len(h.Ports) {
				return h.Ports[i], nil
			}
			return api.HostPort{}, noPort(p)
		},
		get: func(ctx context.Context, m Multipath, p *HostPortParam) (api.HostPort, error) {
			h, err := m.Host(ctx, p.Name)
			if err != nil {
				return api.HostPort{}, err
			}
			for _, port := range h.Ports {
				if port.Port == p.Port {
					return port, nil
				}
			}
			return api.HostPort{}, noPort(p)
		},
		target: func(p *HostPortParam) mrc.Target { return mrc.Target{Host: p.Name, Port: p.Port} },
	}
	get, put, patch := d.operations()
	huma.Register(s.api, s.operation(get), func(ctx context.Context, in *HostPortParam) (*itemOf[api.HostPort], error) {
		return d.read(ctx, s, in)
	})
	huma.Register(s.api, s.operation(put), func(ctx context.Context, in *struct {
		HostPortParam
		Conditions
		Body api.AdminRequest
	}) (*itemOf[api.HostPort], error) {
		return d.put(ctx, s, &in.HostPortParam, in.Conditions, in.Body)
	})
	huma.Register(s.api, s.operation(patch), func(ctx context.Context, in *struct {
		HostPortParam
		Patch
	}) (*itemOf[api.HostPort], error) {
		return d.patch(ctx, s, &in.HostPortParam, in.Patch)
	})
	s.describePatch(d.path, "a port of a host", map[string]any{"admin": "drained"})
}

func noPort(p *HostPortParam) *api.Problem {
	return newProblem(string(api.CodeNotFound), fmt.Sprintf("host %q has no port %d", p.Name, p.Port))
}

func (s *Server) listHosts(ctx context.Context, in *PageParams) (*listOf[api.Host], error) {
	if s.cfg.Multipath == nil {
		return plainPage(ctx, s, *in, (*plainNetwork).hosts, hostKey)
	}
	list := func(m Multipath, page mrc.Page) ([]api.Host, bool, error) {
		return m.Hosts(ctx, page)
	}
	return pageOfFabric(s, *in, list, hostKey)
}

func (s *Server) getHost(ctx context.Context, in *NameParam) (*struct{ Body api.Host }, error) {
	h, err := s.host(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return &struct{ Body api.Host }{h}, nil
}

func (s *Server) host(ctx context.Context, name string) (api.Host, error) {
	if s.cfg.Multipath == nil {
		return plainItem(ctx, s, "host", name, (*plainNetwork).hosts, hostKey)
	}
	h, err := s.cfg.Multipath.Host(ctx, name)
	if err != nil {
		return api.Host{}, problemOf(err)
	}
	return h, nil
}

func (s *Server) listPorts(ctx context.Context, in *NameParam) (*struct{ Body api.List[api.HostPort] }, error) {
	h, err := s.host(ctx, in.Name)
	if err != nil {
		return nil, err
	}
	return &struct{ Body api.List[api.HostPort] }{api.List[api.HostPort]{Items: h.Ports}}, nil
}
