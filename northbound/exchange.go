package northbound

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

// exchange is a request and its answer on their way through the steps of a router. The context of
// the request has the exchange.
type exchange struct {
	Request *http.Request
	Writer  *answering
	// route is the route of the request, as "/v1/groups/:name", for the log and for metrics.
	route     string
	id        string            // of the request
	principal *access.Principal // nil before it is known
	detail    string            // what a refusal said
	cause     error             // why it failed, when the client is not told
	// forwardedTLS: the client has connected by TLS, to the controller that forwarded the request.
	forwardedTLS bool
	steps        []func(*exchange)
}

type exchangeKey struct{}

// exchangeOf returns the exchange of a request's context, or an empty one.
func exchangeOf(ctx context.Context) *exchange {
	if c, ok := ctx.Value(exchangeKey{}).(*exchange); ok {
		return c
	}
	return &exchange{}
}

// Next takes the next step. A step that does not call Next ends the exchange.
func (c *exchange) Next() {
	step := c.steps[0]
	c.steps = c.steps[1:]
	step(c)
}

// Param returns a part of the path; empty: the route does not have it.
func (c *exchange) Param(name string) string { return c.Request.PathValue(name) }

// Query returns the first value of a parameter of the query; empty: it has none.
func (c *exchange) Query(name string) string { return c.Request.URL.Query().Get(name) }

// Header sets a field of the answer's header.
func (c *exchange) Header(name, value string) { c.Writer.Header().Set(name, value) }

// Data answers with octets of a media type.
func (c *exchange) Data(status int, media string, b []byte) {
	c.Header("Content-Type", media)
	c.Writer.WriteHeader(status)
	_, _ = c.Writer.Write(b) // as with any answer: the client is gone
}

// refuse answers with a problem outside huma's operations.
func (c *exchange) refuse(p *api.Problem) { c.Data(p.Status, api.ProblemType, c.text(p)) }

// text completes a problem with the id of the request, notes it, and returns it as JSON.
func (c *exchange) text(p *api.Problem) []byte {
	c.note(p)
	b, err := json.Marshal(p)
	if err != nil { // of texts: cannot happen
		return []byte("{}")
	}
	return b
}

// note completes a problem with the id of the request, and keeps what the problem says.
func (c *exchange) note(p *api.Problem) {
	p.Instance, c.detail = "urn:weft:request:"+c.id, p.Detail
}

// JSON answers with a value.
func (c *exchange) JSON(status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a bug of this program, which the step that recovers answers
	}
	c.Data(status, "application/json; charset=utf-8", b)
}

// wrap returns a step that has a handler answer.
func wrap(h http.Handler) func(*exchange) {
	return func(c *exchange) { h.ServeHTTP(c.Writer, c.Request) }
}

// answering writes an answer. The status and the header leave with the first octet, and may change
// until then. Before that octet, answering checks whether the controller still decides.
type answering struct {
	http.ResponseWriter
	status  int
	size    int // octets of the body so far
	begun   bool
	current func() error // nil: nothing is asked
	refuse  func(error) []byte
	refused error // why the answer is not given
}

// WriteHeader implements [http.ResponseWriter].
func (w *answering) WriteHeader(status int) {
	if !w.begun {
		w.status = status
	}
}

// Write implements [http.ResponseWriter].
func (w *answering) Write(b []byte) (int, error) {
	w.begin()
	if w.refused != nil {
		return len(b), nil
	}
	n, err := w.ResponseWriter.Write(b)
	w.size += n
	return n, err
}

// Flush implements [http.Flusher].
func (w *answering) Flush() {
	w.begin()
	if f, ok := w.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap is for [http.ResponseController].
func (w *answering) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// begin sends the status and the header, once.
func (w *answering) begin() {
	if w.begun {
		return
	}
	w.begun = true
	h := w.Header()
	if w.current != nil && w.status < http.StatusMultipleChoices {
		if w.refused = w.current(); w.refused != nil {
			for _, name := range []string{"ETag", "Location", "Content-Length", "Content-Encoding",
				"Last-Modified"} {
				h.Del(name)
			}
			h.Set("Content-Type", api.ProblemType)
			w.status = http.StatusServiceUnavailable
		}
	}
	if w.status == http.StatusServiceUnavailable && h.Get("Retry-After") == "" {
		h.Set("Retry-After", retryAfter)
	}
	w.ResponseWriter.WriteHeader(w.status)
	if w.refused != nil {
		// as with any answer: the client is gone
		w.size, _ = w.ResponseWriter.Write(w.refuse(w.refused))
	}
}

// router has an [http.ServeMux] find the route of a request before the first step. Unlike ServeMux,
// router redirects nothing, adds no HEAD, and hands on requests without a route.
type router struct {
	steps   []func(*exchange) // of every request, with a route or without
	routes  map[string]route  // by path
	mux     http.ServeMux
	missing func(*exchange) // answers a request to a path without a route
	other   func(*exchange) // answers a request to a path whose route has other methods
}

// route is a path, such as "/v1/groups/:name", with the handlers of its methods.
type route struct {
	name    string
	methods map[string]func(*exchange)
}

// ServeHTTP answers nothing: it has the mux set the values of named segments.
func (route) ServeHTTP(http.ResponseWriter, *http.Request) {}

// Handle has serve answer a method of a path: "{name}" stands for a segment, and "*" at the end for
// any rest.
func (t *router) Handle(method, path string, serve func(*exchange)) {
	if _, ok := t.routes[path]; !ok {
		if t.routes == nil {
			t.routes = make(map[string]route)
		}
		t.routes[path] = route{strings.NewReplacer("{", ":", "}", "").Replace(path),
			make(map[string]func(*exchange))}
		pattern := strings.TrimSuffix(path, "*")
		if path == "/" {
			pattern = "/{$}"
		}
		t.mux.Handle(pattern, t.routes[path])
	}
	t.routes[path].methods[method] = serve
}

// ServeHTTP implements [http.Handler].
func (t *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &exchange{Writer: &answering{ResponseWriter: w, status: http.StatusOK}}
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, c))
	c.Request = r
	last := t.missing
	h, _ := t.mux.Handler(r)
	if found, ok := h.(route); ok { // no redirect
		t.mux.ServeHTTP(w, r)
		if serve := found.methods[r.Method]; serve != nil {
			c.route, last = found.name, serve
		} else {
			last = t.other
			c.Header("Allow", strings.Join(slices.Sorted(maps.Keys(found.methods)), ", "))
		}
	}
	c.steps = append(slices.Clip(t.steps), last)
	c.Next()
	c.Writer.begin()
}
