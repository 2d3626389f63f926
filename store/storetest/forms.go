package storetest

import (
	"strings"
	"testing"

	"github.com/weft-sdn/weft/store"
)

// Formed fails for records whose keys have no [store.Form]: no version of the schema counts their
// fields.
func Formed(t testing.TB, s store.Store) {
	t.Helper()
	records, _, err := s.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	forms := store.Forms()
	for _, r := range records {
		prefix := r.Key[:strings.LastIndexByte(r.Key, '/')+1]
		for prefix != "" && forms[prefix] == nil {
			prefix = prefix[:strings.LastIndexByte(prefix[:len(prefix)-1], '/')+1]
		}
		if prefix == "" && forms[r.Key] == nil && r.Key != "schema" {
			t.Errorf("record %s has no form: want store.Form of its key, or of what that begins with", r.Key)
		}
	}
}
