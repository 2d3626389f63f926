package northbound

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

const eventsPath = "/v1/events"

// endless reports whether an answer at a path is a stream: its client or the server ends it.
func endless(path string) bool { return path == eventsPath || path == portsPath }

type eventsInput struct {
	LastEventID string   `header:"Last-Event-ID" maxLength:"64" doc:"Resume after the event of this id. A browser sends it by itself."`
	After       string   `query:"after" maxLength:"64" doc:"The same, for clients that cannot set headers."`
	Type        []string `query:"type" doc:"Only events of these types, such as group.changed, or of a family of them, such as group; and gaps. Default: all."`
	Object      string   `query:"object" maxLength:"512" doc:"Only events about the group, switch, EV profile or host of this name, or the link of this id, and gaps. Default: all."`
}

func (s *Server) registerEvents() {
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[api.Event](), true, "Event")
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "watch-events", Method: http.MethodGet, Security: asks(access.TenantRead),
		Path: eventsPath, Tags: []string{"controller"},
		Summary: "Follow what happens",
		Description: "Server-sent events. Members of projects get those about what is their " +
			"projects'. Each has an id to resume from, its type as its name, and an Event as its data. " +
			"When events were lost, because the client was away or slow for too long, it gets one of type " +
			"gap and should look again at everything.",
		Errors: []int{422},
		Responses: map[string]*huma.Response{"200": {
			Description: "A stream of events.",
			Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: schema}},
		}},
	}), s.watchEvents)
	register(s, huma.Operation{
		OperationID: "list-latest-events", Method: http.MethodGet, Security: asks(access.TenantRead),
		Path: eventsPath + "/latest", Tags: []string{"controller"},
		Summary:     "List what happened last",
		Description: "Of the events that the controller still has, the latest, oldest first.",
	}, s.latestEvents)
}

// latestInput is which events a client wants.
type latestInput struct {
	Limit  int      `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Events at most, the latest."`
	Type   []string `query:"type" doc:"Only events of these types, such as group.changed, or of a family of them, such as group. Default: all."`
	Object string   `query:"object" maxLength:"512" doc:"Only events about the group, switch, EV profile or host of this name, or the link of this id. Default: all."`
}

func (s *Server) latestEvents(ctx context.Context, in *latestInput) (*api.List[api.Event], error) {
	wanted := &eventsInput{Type: in.Type, Object: in.Object}
	if err := wanted.check(); err != nil {
		return nil, err
	}
	items := []api.Event{}
	sees, _ := s.sight(ctx)
	for _, e := range s.events.kept() {
		if wanted.wants(&e) && sees(&e) {
			items = append(items, e)
		}
	}
	return &api.List[api.Event]{Items: items[max(0,
		len(items)-in.Limit):]}, nil
}

// eventTypes are the types that events may have.
var eventTypes = func() []string {
	var types []string
	for _, t := range api.EventTypes() {
		types = append(types, string(t))
	}
	return types
}()

// check refuses a type that no event has, nor a family of them.
func (in *eventsInput) check() error {
	for _, t := range in.Type {
		known := slices.ContainsFunc(eventTypes, func(e string) bool {
			family, _, _ := strings.Cut(e, ".")
			return t == e || t == family
		})
		if !known {
			return unknown("type", t, eventTypes)
		}
	}
	return nil
}

func (s *Server) watchEvents(ctx context.Context, in *eventsInput) (*huma.StreamResponse, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	id := in.LastEventID
	if id == "" {
		id = in.After
	}
	// Take the place before sending the first octet: the client will then see the events of everything
	// that the client does after it has seen the answer.
	place := s.events.from(id)
	sees, over := s.sight(ctx)
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		_, w := humago.Unwrap(ctx)
		ctx.SetHeader("Content-Type", "text/event-stream")
		ctx.SetHeader("X-Accel-Buffering", "no")
		ctx.SetStatus(http.StatusOK)
		s.metrics.watchers.Inc()
		defer s.metrics.watchers.Dec()
		s.follow(ctx.Context(), w, place, func(e *api.Event) bool { return in.wants(e) && sees(e) }, over)
	}}, nil
}

// wants reports whether the client asked for an event.
func (in *eventsInput) wants(e *api.Event) bool {
	if e.Type == api.EventGap {
		return true
	}
	family, _, _ := strings.Cut(string(e.Type), ".")
	return (in.Object == "" || e.Has(in.Object)) &&
		(len(in.Type) == 0 || slices.Contains(in.Type, string(e.Type)) ||
			slices.Contains(in.Type, family))
}

// follow writes events until the client or the server goes, or it is over for the client.
func (s *Server) follow(
	ctx context.Context, w http.ResponseWriter, place cursor, wanted func(*api.Event) bool,
	over func() bool,
) {
	control := http.NewResponseController(w)
	heartbeat := time.NewTicker(s.cfg.Heartbeat)
	defer heartbeat.Stop()
	defer func() { _ = control.SetWriteDeadline(time.Time{}) }() // the connection may live on
	send := func(text []byte) bool {
		// Writers that know no deadline (tests) are not held up by a client.
		_ = control.SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout))
		if _, err := w.Write(text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	text := []byte(": weft\nretry: 1000\n")
	if !place.gap { // a gap has the id
		// A client whose stream breaks before the first event resumes from this ID.
		text = append(text, "id: "+s.events.placeID(place)+"\n"...)
	}
	text = append(text, '\n')
	for {
		events, next, woken := s.events.after(place, s.cfg.Now())
		place = next
		if over() {
			return
		}
		for _, e := range events {
			if wanted(&e.Event) {
				text = append(text, e.text...)
			}
		}
		if len(text) > 0 && !send(text) {
			return
		}
		text = text[:0]
		select {
		case <-woken:
		case <-heartbeat.C:
			text = append(text, ":\n\n"...)
		case <-ctx.Done():
			return
		case <-s.closing:
			return
		}
	}
}

// sight returns which events a client may see: a project member sees the events about resources of
// its projects. over reports that the projects have changed since, so the client has to ask again.
func (s *Server) sight(ctx context.Context) (sees func(*api.Event) bool, over func() bool) {
	by := access.Of(ctx)
	if by.Sight() == nil {
		return func(*api.Event) bool { return true }, func() bool { return false }
	}
	at := s.members()
	over = func() bool { return s.members() != at }
	return func(e *api.Event) bool {
		switch e.Type {
		case api.EventGap:
			return true
		case api.EventGroupChanged, api.EventGroupDeleted, api.EventReceiverEvicted,
			api.EventReceiverRecovered, api.EventReceiverStalled, api.EventConnectionUp,
			api.EventConnectionDown, api.EventConnectionRefused,
			api.EventTenantChanged, api.EventTenantDeleted, api.EventPFCPolicyChanged,
			api.EventPFCPolicyDeleted, api.EventProjectChanged, api.EventJobChanged,
			api.EventJobDeleted, api.EventJobReady, api.EventJobBlocked, api.EventLeaseChanged,
			api.EventLeaseBroken, api.EventLeaseDeleted:
			return by.Owns(e.Object)
		}
		return false
	}, over
}
