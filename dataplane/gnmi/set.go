package gnmi

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// maxOperations bounds those of one Set.
const maxOperations = 4096

// Set implements gnmi.gNMI. A request is carried out as a whole or not at all: deletes first, then
// replaces, then updates (gNMI, section 3.4.3). Sets of several clients follow each other.
func (s *Server) Set(ctx context.Context, req *gpb.SetRequest) (*gpb.SetResponse, error) {
	if n := len(req.GetDelete()) + len(req.GetReplace()) + len(req.GetUpdate()); n > maxOperations {
		return nil, status.Errorf(codes.InvalidArgument, "%d operations; want at most %d", n,
			maxOperations)
	}
	if len(req.GetUnionReplace()) > 0 {
		return nil, status.Error(codes.Unimplemented, "union_replace is not supported; want replace")
	}
	select {
	case s.setting <- struct{}{}:
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	case <-s.done:
		return nil, errClosed
	}
	defer func() { <-s.setting }()
	if err := s.arbitrate(req.GetExtension()); err != nil {
		return nil, err
	}
	v, err := s.view(ctx, Queues|PFC) // for their rows
	if err != nil {
		return nil, err
	}
	before := maps.Clone(v.settings)
	out := &gpb.SetResponse{Prefix: req.GetPrefix(), Timestamp: v.at.UnixNano()}
	e := editing{view: v, prefix: req.GetPrefix()}
	did := func(path *gpb.Path, op gpb.UpdateResult_Operation) {
		out.Response = append(out.Response, &gpb.UpdateResult{Path: path, Op: op})
	}
	for _, path := range req.GetDelete() {
		if err := e.delete(path); err != nil {
			return nil, err
		}
		did(path, gpb.UpdateResult_DELETE)
	}
	for _, u := range req.GetReplace() {
		if err := e.assign(u, true); err != nil {
			return nil, err
		}
		did(u.GetPath(), gpb.UpdateResult_REPLACE)
	}
	for _, u := range req.GetUpdate() {
		if err := e.assign(u, false); err != nil {
			return nil, err
		}
		did(u.GetPath(), gpb.UpdateResult_UPDATE)
	}
	if err := s.apply(ctx, v.ports, before, v.settings); err != nil {
		return nil, err
	}
	out.Timestamp = time.Now().UnixNano()
	return out, nil
}

// apply gives ports their new settings.
func (s *Server) apply(ctx context.Context, ports []Port, before, after map[uint32]Settings) error {
	var changes []Change
	for i := range ports {
		p := ports[i].Number
		if before[p] != after[p] {
			changes = append(changes, Change{p, before[p], after[p]})
		}
	}
	if len(changes) == 0 {
		return nil
	}
	// A client that gives up meanwhile must not leave ports with settings that the server denies.
	if err := s.source.Configure(context.WithoutCancel(ctx), changes); err != nil {
		var refused *Refusal
		if !errors.As(err, &refused) {
			return sourceError(err)
		}
		return s.refused(refused, ports, after)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range changes {
		if c.New == (Settings{}) {
			delete(s.settings, c.Port)
		} else {
			s.settings[c.Port] = c.New
		}
	}
	s.wake()
	return nil
}

// refused names the path and the value of a setting that a port cannot have.
func (s *Server) refused(r *Refusal, ports []Port, after map[uint32]Settings) error {
	code := codes.InvalidArgument
	if r.Failed {
		code = codes.FailedPrecondition
	}
	v := view{ports: ports, settings: after, system: s.system}
	for l := range leaves {
		if set := leaves[l].set; set == nil || set.name != r.Setting {
			continue
		}
		if i := slices.IndexFunc(ports, func(p Port) bool { return p.Number == r.Port }); i >= 0 {
			row := v.row(&ports[i], 0, ports[i].Name)
			value := cmp.Or(leaves[l].value(row), any("none"))
			return status.Errorf(code, "path %s: value %s; %s", text(pathOf(row, leaves[l].path)),
				shown(plain(value, gpb.Encoding_JSON)), r.Want)
		}
	}
	return status.Error(code, r.Error())
}

// editing changes the settings of a view.
type editing struct {
	view   *view
	prefix *gpb.Path
}

// delete takes away what clients have set below a path. What they have not set stays.
func (e *editing) delete(path *gpb.Path) error {
	p, err := compile(e.prefix, path)
	if err != nil {
		return err
	}
	refuse := func(why string) error {
		return status.Errorf(codes.InvalidArgument, "path %s: %s", text(e.prefix, path), why)
	}
	clears, fixed := p.of(func(l int) bool { return leaves[l].set != nil && !leaves[l].set.fixed }),
		p.of(func(l int) bool { return leaves[l].set != nil })
	switch {
	case len(fixed.all) == 0:
		return refuse("it is state, which cannot be deleted; want a path with config")
	case len(clears.all) == 0:
		return refuse("it cannot be deleted: the switch has it as long as it runs")
	}
	e.clear(&clears)
	return nil
}

// clear takes away the settings that a pattern selects.
func (e *editing) clear(p *pattern) {
	p.each(e.view, func(r *row, l int, _ any) {
		settings := e.view.settings[r.port.Number]
		leaves[l].set.clear(&settings)
		e.view.settings[r.port.Number] = settings
	})
}
