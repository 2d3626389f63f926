package northbound

import (
	"context"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
)

func (s *Server) registerCCProfiles() {
	c := ccProfiles()
	c.on = s.hasMultipath
	c.all = func(ctx context.Context) ([]api.CCProfile, error) { return s.cfg.Multipath.CCProfiles(ctx) }
	c.get = func(ctx context.Context, name string) (api.CCProfile, error) {
		return s.cfg.Multipath.CCProfile(ctx, name)
	}
	c.put = func(ctx context.Context, name string, spec api.CCProfileSpec, pre resource.Precondition) (api.CCProfile, bool, error) {
		return s.cfg.Multipath.PutCCProfile(ctx, name, spec, pre)
	}
	c.del = func(ctx context.Context, name string, pre resource.Precondition) error {
		return s.cfg.Multipath.DeleteCCProfile(ctx, name, pre)
	}
	c.registerAll(s)
}

// ccProfiles describes the CC profiles.
func ccProfiles() *collection[api.CCProfileSpec, api.CCProfile] {
	return &collection[api.CCProfileSpec, api.CCProfile]{
		reads: access.Read, writes: access.Configure,
		path: "/v1/cc-profiles", one: "cc-profile", noun: "CC profile", tag: fabricTag,
		example: map[string]any{"nscc": map[string]any{"targetDelay": "9us"}},
		created: "All hosts hold all CC profiles; an EV profile, or the configuration for all of them, says which is used.",
		deleted: "Refused while an EV profile names it.",
		draft: func(p *api.CCProfile) api.Request[api.CCProfileSpec] {
			return api.Request[api.CCProfileSpec]{Name: p.Name, Version: p.Version, Spec: p.Spec}
		},
	}
}
