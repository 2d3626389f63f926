package northbound

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc/ev"
)

// TestEventTypes: every type of the sources may be asked for, and is in the document.
func TestEventTypes(t *testing.T) {
	var want []string
	for _, pattern := range []string{"../api/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`EventType = "([a-z0-9.-]+)"`).FindAllStringSubmatch(string(text),
				-1) {
				want = append(want, m[1])
			}
		}
	}
	slices.Sort(want)
	if !slices.Equal(eventTypes, want) {
		t.Errorf("eventTypes are\n%v\nthose of the sources\n%v", eventTypes, want)
	}
	field, _ := reflect.TypeFor[api.Event]().FieldByName("Type")
	documented := strings.Split(strings.TrimSuffix(field.Tag.Get("doc"), "."), ", ")
	slices.Sort(documented)
	if !slices.Equal(documented, want) {
		t.Errorf("documented are\n%v\nthose of the sources\n%v", documented, want)
	}
}

// TestUnknownFilters: the server refuses a filter with an unknown name and lists the possible
// names. The server accepts a filter with a known name and nothing to list.
func TestUnknownFilters(t *testing.T) {
	plain, _, _ := newTestServer(t)
	fabric, _ := newFabricServer(t, ev.ModeStructured)
	for _, c := range []struct {
		s    *Server
		path string
		want string // "": 200
	}{
		{plain, "/v1/switches/n1/counters?counter=nosuch",
			"query.counter is nosuch: want one of ingress_drops, port_rx, port_tx"},
		{plain, "/v1/switches/n1/counters?counter=port_tx", ""},
		{plain, "/v1/events?type=group,nosuch",
			"query.type is nosuch: want one of balance.changed, bgp-peer.changed, "},
		{plain, "/v1/links?node=nosuch",
			"query.node is nosuch: want one of n1, n6, 64512:10.0.0.1, 64512:10.0.0.6"},
		{plain, "/v1/links?node=n1", ""},
		{plain, "/v1/links?denied=true", ""},
		{plain, "/v1/links?plane=1", "query.plane is 1: want nothing: there is none"},
		{plain, "/v1/ports?switch=nosuch", "query.switch is nosuch: want one of n6, n1, n9"},
		{plain, "/v1/ports?switch=n9", ""},
		{plain, "/v1/orphans?switch=nosuch", "query.switch is nosuch: want one of n6, n1, n9"},
		{plain, "/v1/orphans?switch=n9", ""},
		{fabric, "/v1/planes/x", "path.plane is x: want a whole number"},
		{fabric, "/v1/links?denied=perhaps", "query.denied is perhaps: want true or false"},
		{fabric, "/v1/links?node=nosuch", "query.node is nosuch: want one of "},
		{fabric, "/v1/links?plane=9", "query.plane is 9: want one of 1, 2"},
		{fabric, "/v1/links?node=a1&denied=true", ""},
		{fabric, "/v1/ev-profiles?source=nosuch", "query.source is nosuch: want one of "},
		{fabric, "/v1/ev-profiles?destination=nosuch", "query.destination is nosuch: want one of "},
		{fabric, "/v1/ev-profiles?host=nosuch", "query.host is nosuch: want one of h1, h2, h3, h4"},
		{fabric, "/v1/ev-profiles?source=a1&destination=a1", ""},
		{fabric, "/v1/ev-probes?profile=nosuch", "query.profile is nosuch: want one of a1:a1, "},
		{fabric, "/v1/ev-probes?source=nosuch", "query.source is nosuch: want one of h1, "},
		{fabric, "/v1/ev-probes?destination=h1", ""},
	} {
		w := httptest.NewRecorder()
		c.s.Handler().ServeHTTP(w, httptest.NewRequest("GET", c.path, nil))
		switch body := w.Body.String(); {
		case c.want == "" && w.Code != 200:
			t.Errorf("%s: %d %s", c.path, w.Code, body)
		case c.want != "" && (w.Code != 422 || !strings.Contains(body, c.want)):
			t.Errorf("%s: %d %s, want 422 with %q", c.path, w.Code, body, c.want)
		}
	}
}

// TestParametersOfKinds: parameters that a kind declares as data are checked like all other
// parameters.
func TestParametersOfKinds(t *testing.T) {
	fabric, _ := newFabricServer(t, ev.ModeStructured)
	long := strings.Repeat("x", 254)
	for _, c := range []struct {
		path string
		code int
		want string
	}{
		{"/v1/links?nosuch=1", 400, "query.nosuch is given: want no such field"},
		{"/v1/links/x?node=a1", 400, "query.node is given: want no such field"},
		{"/v1/suspects?limit=1", 400, "query.limit is given: want no such field"},
		{"/v1/links?limit=0", 422, "query.limit is 0: want at least 1"},
		{"/v1/links?limit=1001", 422, "query.limit is 1001: want at most 1000 (limit 1000)"},
		{"/v1/links?limit=x", 422, "query.limit is x: want a whole number"},
		{"/v1/links?limit=x&plane=-1", 422, "query.limit is x: want a whole number; and 1 more"},
		{"/v1/links?plane=-1", 422, "query.plane is -1: want at least 0"},
		{"/v1/links?node=" + long, 422, "want at most 253 characters (limit 253)"},
		{"/v1/links?continue=" + strings.Repeat("x", 2049), 422, "query.continue is x"},
		{"/v1/planes/0", 422, "path.plane is 0: want at least 1"},
		{"/v1/planes/3", 404, "there is no plane 3: the fabric has 2"},
		{"/v1/nodes/" + long, 422, "path.id is x"},
		{"/v1/hosts/h1/ports/32", 422, "path.port is 32: want at most 31 (limit 31)"},
		{"/v1/hosts/h1/ports/3", 404, `host \"h1\" has no port 3`},
		{"/v1/switches/n1/ports/508", 422, "path.port is 508: want at most 507 (limit 507)"},
	} {
		w := httptest.NewRecorder()
		fabric.Handler().ServeHTTP(w, httptest.NewRequest("GET", c.path, nil))
		if body := w.Body.String(); w.Code != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s\nwant %d with %q", c.path, w.Code, body, c.code, c.want)
		}
	}
}
