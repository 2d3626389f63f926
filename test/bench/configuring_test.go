package main

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/weft-sdn/weft/controller/plan/node"
	"github.com/weft-sdn/weft/southbound/target"
	"github.com/weft-sdn/weft/southbound/target/sonic/yangtest"
)

// TestConfigurationsPassYANG: SONiC's own YANG modules accept the configurations of a
// production-size fabric: for the first and the last T0 and T1 of the last plane, or for more
// switches (WEFT_SWITCHES).
func TestConfigurationsPassYANG(t *testing.T) {
	modules := yangtest.Open(t)
	each := 2
	if n, err := strconv.Atoi(os.Getenv("WEFT_SWITCHES")); err == nil {
		each = n
	}
	for _, hops := range []string{"nodes", "links"} {
		topo, inv := configPlane(configPlanes - 1)
		f, err := planPlane(topo, inv, hops)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 2 * each {
			at := i / 2 * (configT0 - 1) / max(1, each-1)
			if i%2 == 1 {
				at = configT0 + i/2*(configT1-1)/max(1, each-1)
			}
			sw := &inv.Switches[at]
			t.Run(fmt.Sprintf("%s/%s", hops, sw.Name), func(t *testing.T) {
				t.Parallel()
				m := node.Of(f, sw, nil)
				d := target.Device{Name: sw.Name, System: target.SONiC}
				if err := modules.Judge(t, &d, &m); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
