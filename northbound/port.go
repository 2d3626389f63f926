package northbound

import (
	"context"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
	"github.com/weft-sdn/weft/controller/resource"
)

const portPath = "/v1/switches/{id}/ports/{port}"

// PortParam is exported because huma passes over other embedded types.
type PortParam struct {
	SwitchParam
	Port uint32 `path:"port" minimum:"1" maximum:"507" doc:"P4Runtime port."`
}

func (p *PortParam) name() string { return p.ID + "/" + strconv.FormatUint(uint64(p.Port), 10) }

// portKind reaches the ports of switches.
func (s *Server) portKind() kind.Handle[api.PortSpec, api.Port] {
	return kind.Of[api.PortSpec, api.Port](s.controller.Kinds())
}

func (s *Server) registerPorts() {
	tags := []string{"switches"}
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-ports", Method: http.MethodGet, Security: asks(access.Read), Path: "/v1/ports", Tags: tags,
		Summary: "List the ports of switches", Description: "Those that switches report by gNMI, and those with a spec.", Errors: []int{422},
	}), s.listSwitchPorts)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "get-switch-gnmi", Method: http.MethodGet, Security: asks(access.Read), Path: "/v1/switches/{id}/gnmi", Tags: tags,
		Summary: "Get what a switch answers by gNMI", Description: "The paths that it is asked for, in which mode it answers each, and what it says otherwise than the configuration or BGP-LS.", Errors: []int{404},
	}), func(ctx context.Context, in *SwitchParam) (*struct{ Body api.SwitchGNMI }, error) {
		g, err := askSwitch[api.SwitchGNMI](ctx, s, in.ID, api.ReadGNMI{})
		if err != nil {
			return nil, err
		}
		return &struct{ Body api.SwitchGNMI }{g}, nil
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "get-port", Method: http.MethodGet, Security: asks(access.Read), Path: portPath, Tags: tags, Summary: "Get a port of a switch", Errors: []int{404, 422},
	}), func(ctx context.Context, in *PortParam) (*itemOf[api.Port], error) {
		p, err := s.portKind().Get(ctx, in.name())
		if err != nil {
			return nil, problemOf(err)
		}
		return portItem(p, resource.Precondition{}), nil
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "put-port", Method: http.MethodPut, Security: asks(access.Operate), Path: portPath, Tags: tags, Summary: "Replace the spec of a port",
		Description: "The controller writes the settings by gNMI, reads them back, and writes them again when the switch changes them.",
		Errors:      []int{400, 404, 409, 412, 413, 415, 422},
	}), func(ctx context.Context, in *struct {
		PortParam
		Conditions
		Body api.Request[api.PortSpec]
	}) (*itemOf[api.Port], error) {
		if err := sameName(in.name(), in.Body.Name); err != nil {
			return nil, err
		}
		pre, err := in.precondition(in.Body.Version)
		if err != nil {
			return nil, err
		}
		p, _, err := s.portKind().Put(ctx, in.name(), in.Body.Spec, pre)
		if err != nil {
			return nil, missed(err, resource.Precondition{Absent: pre.Absent}) // it is there by itself, or not at all
		}
		return portItem(p, pre), nil
	})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "patch-port", Method: http.MethodPatch, Security: asks(access.Operate), Path: portPath, Tags: tags, Summary: "Change parts of the spec of a port",
		Description: "A JSON merge patch (RFC 7396) of the resource. null leaves a setting as it is on the switch.",
		Errors:      []int{400, 404, 409, 412, 413, 415, 422},
	}), func(ctx context.Context, in *struct {
		PortParam
		Patch
	}) (*itemOf[api.Port], error) {
		now := func() (api.Request[api.PortSpec], error) {
			p, err := s.portKind().Get(ctx, in.name())
			return api.Request[api.PortSpec]{Name: p.Name, Version: p.Version, Spec: p.Spec}, err
		}
		return patch(ctx, s, in.Patch, drafted("port "+in.name(), now), func(d api.Request[api.PortSpec], pre resource.Precondition) (*itemOf[api.Port], error) {
			if err := sameName(in.name(), d.Name); err != nil {
				return nil, err
			}
			p, _, err := s.portKind().Put(ctx, in.name(), d.Spec, pre)
			if err != nil {
				return nil, err
			}
			return portItem(p, pre), nil
		})
	})
	s.describePatch(portPath, "a port", map[string]any{"enabled": false})
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "delete-port", Method: http.MethodDelete, Security: asks(access.Operate), Path: portPath, Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Delete the spec of a port", Description: "The switch keeps the settings that it has.", Errors: []int{404, 409, 412},
	}), s.deletePort)
	s.describeDelete(portPath)
}

// portItem returns a port, with what a dry run would change.
func portItem(p api.Port, pre resource.Precondition) *itemOf[api.Port] {
	if pre.Trial != nil {
		p.Changes = pre.Trial.Changes
	}
	return &itemOf[api.Port]{Status: http.StatusOK, ETag: etag(p.Version), Body: p}
}

func (s *Server) deletePort(ctx context.Context, in *struct {
	PortParam
	Match
	DryRun
}) (*deleted[api.Port], error) {
	pre, err := in.precondition()
	if err != nil {
		return nil, err
	}
	if !in.DryRun.DryRun {
		return nil, problemOf(s.portKind().Delete(ctx, in.name(), pre))
	}
	pre.Trial = in.trial()
	p, err := s.portKind().Get(ctx, in.name())
	if err != nil {
		return nil, problemOf(err)
	}
	if err := s.portKind().Delete(ctx, in.name(), pre); err != nil {
		return nil, problemOf(err)
	}
	p.Changes = pre.Trial.Changes
	return &deleted[api.Port]{Status: http.StatusOK, Body: p}, nil
}

func (s *Server) listSwitchPorts(ctx context.Context, in *struct {
	PageParams
	Switch string `query:"switch" maxLength:"63" doc:"Only ports of this switch."`
}) (*listOf[api.Port], error) {
	out, err := listKind(ctx, in.PageParams, s.portKind(), onSwitch(in.Switch), func(p *api.Port) string { return p.Name })
	if err == nil && in.Switch != "" && in.Continue == "" && len(out.Body.Items) == 0 && s.controller.Inventory().Switch(in.Switch) == nil {
		return nil, s.unknownSwitch(in.Switch)
	}
	return out, err
}
