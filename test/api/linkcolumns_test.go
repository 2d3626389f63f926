package api

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/weft-sdn/weft/api"
)

// TestLinkColumns: GET /v1/link-columns has the links of GET /v1/links in their order, with an MRC
// fabric and without one.
func TestLinkColumns(t *testing.T) {
	inv, snapshot := ring()
	for name, r := range map[string]*running{"fabric": startFabric(t),
		"ring": startOn(t, inv, snapshot)} {
		t.Run(name, func(t *testing.T) {
			var c api.LinkColumns
			var list api.List[api.Link]
			for path, into := range map[string]any{"/v1/link-columns": &c, "/v1/links?limit=1000": &list} {
				status, _, body := r.send("GET", path, "", nil)
				if err := json.Unmarshal(body, into); status != 200 || err != nil {
					t.Fatalf("%s: %d %s %v", path, status, body, err)
				}
			}
			if c.Count != len(list.Items) || c.Count < 2 {
				t.Fatalf("%d links in columns, %d in the list", c.Count, len(list.Items))
			}
			for i, l := range list.Items {
				id := fmt.Sprintf("%s,%d~%s,%d", c.From.At(i).ID, c.FromID[i], c.To.At(i).ID, c.ToID[i])
				if id != string(l.ID) || c.Plane.At(i) != l.Status.Plane || c.Phase.At(i) != l.Status.Phase ||
					c.Denied.At(i) != l.Status.Denied {
					t.Errorf("link %d is %s in columns, %+v in the list", i, id, l)
				}
			}
		})
	}
}
