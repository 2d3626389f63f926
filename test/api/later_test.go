package api

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/store"
	"github.com/weft-sdn/weft/store/storetest"
)

// TestFieldsOfLaterReleases: a resource whose record has a field that this release does not know
// keeps the field, whatever the controller writes, and a client that would drop the field gets an
// error that names it. So it is for every kind.
func TestFieldsOfLaterReleases(t *testing.T) {
	seen := make(map[string]bool)
	ringOf, wiring := ring()
	fabricOf, planes := mrcFabric()
	const drained = `{"admin":"drained"}`
	for _, world := range []struct {
		start func(*recorded) *running
		kinds []struct{ path, spec string }
	}{
		{func(records *recorded) *running {
			r := startWith(t, records, ringOf, wiring)
			r.reportPorts("a", wiring.LinksFrom("64512:10.0.0.1"))
			return r
		}, append(creatable(), struct{ path, spec string }{"/v1/switches/a/ports/1", `{"mtu":9000}`})},
		{func(records *recorded) *running { return startWith(t, records, fabricOf, planes) },
			[]struct{ path, spec string }{
				{"/v1/cc-profiles/",
					`{"nscc":{"gamma":0.8,"maxMdJump":0.5,"maxCwnd":1048576,"targetDelay":"9us"}}`},
				{"/v1/ev-profiles/a1:b1", `{"minActive":2}`},
				{"/v1/planes/2", drained},
			}},
	} {
		first := world.start(&recorded{})
		path := func(k struct{ path, spec string }) string {
			if strings.HasSuffix(k.path, "/") {
				return k.path + "x"
			}
			return k.path
		}
		for _, k := range world.kinds {
			body := `{"spec":` + k.spec + `}`
			if status, _, answer := first.send(http.MethodPut, path(k), body, nil); status >= 300 {
				t.Fatalf("%s: %d: %s", k.path, status, answer)
			}
		}
		first.quiet()
		had, _, err := first.records.List(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		const later = `"ofALaterRelease":{"is":[1]}`
		records, changed := &recorded{}, make(map[string]bool)
		for _, r := range had {
			if i := bytes.Index(r.Value, []byte(`"spec":{"`)); i >= 0 {
				i += len(`"spec":{`)
				r.Value = append(r.Value[:i:i], later+","+string(r.Value[i:])...)
				changed[r.Key] = true
				for form := range store.Forms() {
					if strings.HasPrefix(r.Key, form) {
						seen[form] = true
					}
				}
			}
			if _, err := records.Put(t.Context(), r.Key, r.Value, store.Any); err != nil {
				t.Fatal(err)
			}
		}
		second := world.start(records)
		for _, k := range world.kinds {
			status, _, answer := second.send(http.MethodPut, path(k), `{"spec":`+k.spec+`}`, nil)
			if status != http.StatusConflict || !bytes.Contains(answer, []byte("ofALaterRelease")) {
				t.Errorf("%s: %d: %s", k.path, status, answer)
			}
		}
		second.quiet()
		storetest.Formed(t, second.records)
		now, _, err := second.records.List(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range now {
			if changed[r.Key] && !bytes.Contains(r.Value, []byte(later)) {
				t.Errorf("record %s has lost the field: %s", r.Key, r.Value)
			}
			delete(changed, r.Key)
		}
		for key := range changed {
			t.Errorf("record %s is gone", key)
		}
	}
	seen["mrc/held/"] = true // of the controller alone: no client writes it
	for form, of := range store.Forms() {
		if strings.HasPrefix(of.String(), "resource.record[") && !seen[form] {
			t.Errorf("no record of %s was tried", form)
		}
	}
}
