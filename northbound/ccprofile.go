package northbound

import (
	"context"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
)

// ccProfile is a CC profile as clients get it.
type ccProfile struct {
	Name    string            `json:"name" doc:"Name of the CC profile."`
	Version uint64            `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time         `json:"created,omitzero" doc:"When it was created."`
	Spec    api.CCProfileSpec `json:"spec" doc:"What a client wants, the algorithm filled in."`
}

func (s *Server) registerCCProfiles() {
	c := &collection[api.CCProfileSpec, ccProfile]{
		path: "/v1/cc-profiles", one: "cc-profile", noun: "CC profile", tag: fabricTag, on: s.hasMultipath,
		example: map[string]any{"nscc": map[string]any{"targetDelay": "9us"}},
		created: "All hosts hold all CC profiles; an EV profile, or the configuration for all of them, says which is used.",
		deleted: "Refused while an EV profile names it.",
		all: func(ctx context.Context) ([]ccProfile, error) {
			all, err := s.cfg.Multipath.CCProfiles(ctx)
			return converted(all, err, func(p api.CCProfile) ccProfile { return ccProfile(p) })
		},
		get: func(ctx context.Context, name string) (ccProfile, error) {
			p, err := s.cfg.Multipath.CCProfile(ctx, name)
			return ccProfile(p), err
		},
		draft: func(p *ccProfile) draftOf[api.CCProfileSpec] {
			return draftOf[api.CCProfileSpec]{Name: p.Name, Version: p.Version, Spec: p.Spec}
		},
		put: func(ctx context.Context, name string, spec api.CCProfileSpec, pre resource.Precondition) (ccProfile, bool, error) {
			p, created, err := s.cfg.Multipath.PutCCProfile(ctx, name, spec, pre)
			return ccProfile(p), created, err
		},
		del: func(ctx context.Context, name string, pre resource.Precondition) error {
			return s.cfg.Multipath.DeleteCCProfile(ctx, name, pre)
		},
	}
	c.registerAll(s)
}
