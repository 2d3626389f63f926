package gnmi

import (
	"context"
	"slices"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// wants reports whether a Get of a type has a leaf (gNMI, section 3.3.1). The key of a list that
// has configuration belongs to every type.
func wants(t gpb.GetRequest_DataType, l int) bool {
	k := leaves[l].kind
	switch {
	case t == gpb.GetRequest_ALL:
		return true
	case t == gpb.GetRequest_CONFIG:
		return k == config || leaves[l].isKey() && slices.ContainsFunc(tables[leaves[l].table].leaves,
			func(o int) bool { return leaves[o].kind == config })
	case t == gpb.GetRequest_OPERATIONAL:
		return k != config && k != applied
	}
	return k != config
}

// Get implements gnmi.gNMI: a notification for each path. With JSON a container is one object.
func (s *Server) Get(ctx context.Context, req *gpb.GetRequest) (*gpb.GetResponse, error) {
	if err := checkEncoding(req.GetEncoding()); err != nil {
		return nil, err
	}
	if n := len(req.GetPath()); n == 0 || n > maxSubscriptions {
		return nil, status.Errorf(codes.InvalidArgument, "%d paths; want 1 to %d", n, maxSubscriptions)
	}
	of, err := modules(req.GetUseModels())
	if err != nil {
		return nil, err
	}
	var parts Parts
	patterns := make([]pattern, len(req.GetPath()))
	for i, path := range req.GetPath() {
		if patterns[i], err = compile(req.GetPrefix(), path); err != nil {
			return nil, err
		}
		parts |= patterns[i].parts()
	}
	v, err := s.view(ctx, parts)
	if err != nil {
		return nil, err
	}
	out := &gpb.GetResponse{}
	for i := range patterns {
		r := newReport(v.at, req.GetPrefix(), req.GetEncoding())
		var objects *forest
		if e := req.GetEncoding(); patterns[i].depth >= 0 &&
			(e == gpb.Encoding_JSON || e == gpb.Encoding_JSON_IETF) {
			objects = &forest{depth: patterns[i].depth, encoding: e}
		}
		patterns[i].each(v, func(row *row, l int, value any) {
			switch {
			case value == nil || !wants(req.GetType(), l) || !of(l):
			case objects != nil:
				objects.add(row, l, value)
			default:
				r.add(row, l, value)
			}
		})
		if objects != nil {
			r.out = objects.notification(v.at, r.prefix)
		}
		if r.out == nil {
			return nil, status.Errorf(codes.NotFound, "path %s: there is none",
				text(req.GetPrefix(), req.GetPath()[i]))
		}
		out.Notification = append(out.Notification, r.out)
	}
	return out, nil
}

// modules returns whether a leaf is of one of some models; without any, all are.
func modules(use []*gpb.ModelData) (of func(leaf int) bool, err error) {
	if len(use) == 0 {
		return func(int) bool { return true }, nil
	}
	names := make(map[string]bool, len(use))
	for _, m := range use {
		at := slices.IndexFunc(models, func(o *gpb.ModelData) bool { return o.GetName() == m.GetName() })
		if at < 0 || m.GetVersion() != "" && m.GetVersion() != models[at].GetVersion() {
			return nil, status.Errorf(codes.InvalidArgument,
				"use_models has %q of version %q; want one of Capabilities", m.GetName(), m.GetVersion())
		}
		names[m.GetName()] = true
	}
	return func(l int) bool {
		path := leaves[l].path
		return names[path[len(path)-1].module]
	}, nil
}

// each calls f with every leaf that a pattern selects; the value is nil for a leaf that the row
// lacks.
func (p *pattern) each(v *view, f func(r *row, leaf int, value any)) {
	for i := range p.all {
		s := &p.all[i]
		tables[s.table].each(v, func(r *row) {
			if !s.has(r) {
				return
			}
			for _, l := range s.leaves {
				f(r, l, leaves[l].value(r))
			}
		})
	}
}
