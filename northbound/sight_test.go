package northbound

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
)

// stream is a recorder of a stream of events that other goroutines read.
type stream struct {
	*httptest.ResponseRecorder

	// mu guards the recorder and more.
	mu   sync.Mutex
	more chan struct{} // has room for one
}

func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, err := s.ResponseRecorder.Write(b)
	select {
	case s.more <- struct{}{}:
	default:
	}
	return n, err
}

func (s *stream) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Body.String()
}

// until waits for a text of the stream.
func (s *stream) until(t *testing.T, text string) {
	t.Helper()
	for !strings.Contains(s.text(), text) {
		select {
		case <-s.more:
		case <-t.Context().Done():
			t.Fatalf("no %q in %q", text, s.text())
		}
	}
}

// TestEventsOfMembers: for each type of event, a project member sees the events about resources of
// its projects and no events about the network, in the list and in the stream. The stream ends when
// projects change.
func TestEventsOfMembers(t *testing.T) {
	s, _, _ := newTestServer(t)
	admin := "Bearer " + tokenFor(t, s, "root", api.Grant{Role: api.RoleAdmin}, 0).Secret
	acme := "Bearer " + tokenFor(t, s, "ci", api.Grant{Role: api.RoleTenant, Tenant: "acme"}, 0).Secret
	put := func(name string) {
		t.Helper()
		if _, _, err := projectsOf(s).Put(t.Context(), name, api.ProjectSpec{},
			resource.Precondition{}); err != nil {
			t.Fatal(err)
		}
	}
	put("acme")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := httptest.NewRequest("GET", eventsPath, nil).WithContext(ctx)
	r.Header.Set("Authorization", acme)
	w := &stream{ResponseRecorder: httptest.NewRecorder(), more: make(chan struct{}, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Handler().ServeHTTP(w, r)
	}()
	w.until(t, "id: ")
	own := []api.EventType{
		api.EventGroupChanged, api.EventGroupDeleted, api.EventReceiverEvicted,
		api.EventReceiverRecovered, api.EventReceiverStalled, api.EventConnectionUp,
		api.EventConnectionDown, api.EventConnectionRefused,
		api.EventTenantChanged, api.EventTenantDeleted, api.EventPFCPolicyChanged,
		api.EventPFCPolicyDeleted, api.EventProjectChanged,
		api.EventLeaseBroken, api.EventLeaseChanged, api.EventLeaseDeleted,
		api.EventJobBlocked, api.EventJobChanged, api.EventJobDeleted, api.EventJobReady,
	}
	objects := []string{"acme", "acme-1", "acmes", "other"}
	for i, typ := range api.EventTypes() {
		gap := typ == api.EventGap
		for j, object := range objects {
			s.events.Publish(api.Event{Type: typ, Object: object, Message: "about " + object + "!"})
			mark := fmt.Sprintf("mark %d.%d!", i, j)
			s.events.Publish(api.Event{Type: api.EventGroupChanged, Object: "acme", Message: mark})
			w.until(t, mark)
			var list, all api.List[api.Event]
			path := eventsPath + "/latest?limit=1000&type=" + string(typ)
			if a := do(s, "GET", path, "", "Authorization", acme); json.Unmarshal(a.Body.Bytes(),
				&list) != nil {
				t.Fatalf("%d %s", a.Code, a.Body)
			}
			if a := do(s, "GET", path, "", "Authorization", admin); json.Unmarshal(a.Body.Bytes(),
				&all) != nil {
				t.Fatalf("%d %s", a.Code, a.Body)
			}
			about := func(e api.Event) bool { return e.Type == typ && e.Message == "about "+object+"!" }
			want := gap || slices.Contains(own, typ) && api.Covers("acme", object)
			if got := slices.ContainsFunc(list.Items, about); got != want {
				t.Errorf("%s about %s in the list of a member: %v", typ, object, got)
			}
			if got := streamed(w.text(), typ, object); got != want {
				t.Errorf("%s about %s in the stream of a member: %v", typ, object, got)
			}
			if !slices.ContainsFunc(all.Items, about) {
				t.Errorf("%s about %s is not in the list of an administrator", typ, object)
			}
		}
	}
	// What the member may see has to be asked anew: the next event ends the stream.
	put("blue")
	s.events.Publish(api.Event{Type: api.EventGroupChanged, Object: "acme", Message: "after"})
	select {
	case <-ended:
	case <-t.Context().Done():
		t.Fatal("the stream goes on")
	}
	if strings.Contains(w.text(), "after") {
		t.Error("an event was sent by what the member could see before")
	}
}

// streamed reports whether a stream has the event of a type about an object.
func streamed(text string, typ api.EventType, object string) bool {
	for _, block := range strings.Split(text, "\n\n") {
		if strings.Contains(block, "event: "+string(typ)+"\n") &&
			strings.Contains(block, "about "+object+"!") {
			return true
		}
	}
	return false
}
