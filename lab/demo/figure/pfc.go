package figure

import (
	"context"

	"github.com/weft-sdn/weft/lab/demo/pfc"
)

// wan runs stories of the PFC demo, which checks what each promises.
func wan(ctx context.Context, s *sight, stories map[string]pfc.Story) error {
	for name, story := range stories {
		r, err := pfc.Run(ctx, pfc.Options{Out: s.out, Story: story})
		if r == nil {
			return err
		}
		s.see(err == nil, name, r, "the tenant loses packets without the PFC policy and none with it, "+
			"and the tunnel is the list reversed")
		if err != nil {
			s.broken = append(s.broken, err)
		}
	}
	return nil
}

func figure2(ctx context.Context, s *sight) error {
	return wan(ctx, s, map[string]pfc.Story{"byR2": pfc.Figure2("R2"),
		"byR3AndR4": pfc.Figure2("R3", "R4")})
}

func scenario2(ctx context.Context, s *sight) error {
	return wan(ctx, s, map[string]pfc.Story{"learned": pfc.Scenario2()})
}
