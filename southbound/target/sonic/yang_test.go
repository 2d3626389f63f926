package sonic_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/southbound/target"
	"github.com/weft-sdn/weft/southbound/target/sonic"
	"github.com/weft-sdn/weft/southbound/target/sonic/yangtest"
)

// models returns the models that the controller makes of a sample network.
const models = "../../../controller/plan/node/testdata"

// TestYANG: SONiC's own YANG modules accept the configuration of every kind of fabric, merged with
// the switch's own configuration.
func TestYANG(t *testing.T) {
	modules := yangtest.Open(t)
	for _, name := range []string{"links-leaf1", "links-spine2", "nodes-leaf1", "nodes-spine2",
		"ecmp-leaf1", "ecmp-spine2", "srh-leaf1", "structured-leaf1"} {
		text, err := os.ReadFile(filepath.Join(models, name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var m api.SwitchModel
		if err := json.Unmarshal(text, &m); err != nil {
			t.Fatal(err)
		}
		d := target.Device{Name: m.Name, System: target.SONiC}
		for _, symmetric := range []bool{false, true} {
			if symmetric {
				m.Trimming.DSCPLastHop = m.Trimming.DSCP
			}
			if err := modules.Judge(t, &d, &m); err != nil {
				t.Errorf("%s, symmetric %t: %v", name, symmetric, err)
			}
		}
		// A refusal shows that the modules judge at all.
		if modules.Judge(t, &d, &m, sonic.Table{Name: "SRV6_MY_SIDS", Rows: []sonic.Row{
			{Key: "other|fc00::/48", Fields: []sonic.Field{{Name: "action", Value: "uN"}}}}}) == nil {
			t.Errorf("%s: a SID without its locator is taken", name)
		}
	}
}
