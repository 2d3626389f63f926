package api

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
)

// TestAuthorOfSilences: a silence names the author of its creation or last change, whatever the
// client claims.
func TestAuthorOfSilences(t *testing.T) {
	p := startProjects(t)
	until := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	spec := func(note string) string {
		return fmt.Sprintf(`{"spec":{"cause":"link/x","note":%q,"until":%q}}`, note, until)
	}
	for _, c := range []struct{ what, as, method, body, by string }{
		{"made", "operator", "PUT", spec("known"), "operator"},
		{"written again, and not changed", "admin", "PUT", spec("known"), "operator"},
		{"changed", "admin", "PUT", spec("repaired tomorrow"), "admin"},
		{"patched", "operator", "PATCH", `{"spec":{"note":"today"}}`, "operator"},
		{"read", "viewer", "GET", "", "operator"},
	} {
		status, _, answer := p.send(c.method, "/v1/silences/s", c.body,
			[]string{"Authorization: Bearer " + p.tokens[c.as]})
		var got api.Silence
		if err := json.Unmarshal(answer, &got); err != nil || status/100 != 2 ||
			got.Status.By != c.by {
			t.Errorf("%s: %d %s, want by %s", c.what, status, answer, c.by)
		}
	}
}
