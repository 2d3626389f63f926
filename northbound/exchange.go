package northbound

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
)

// exchange is a request and its answer on their way through the steps of a router.
type exchange struct {
	Request *http.Request
	Writer  *answering
	// route is the route of the request, as "/v1/groups/:name", for the log and for metrics.
	route     string
	id        string // of the request
	principal string // key of the principal; empty: nobody
	steps     []func(*exchange)
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

// router finds what answers a request. Unlike [http.ServeMux], it redirects nothing, finds the
// route before the first step, has no HEAD that nobody registered, and hands on what has no route.
type router struct {
	steps   []func(*exchange) // of every request, with a route or without
	root    node
	missing func(*exchange) // answers a request to a path without routes
	other   func(*exchange) // answers a request to a path whose routes have other methods
}

// node is what routes have in common, segment by segment of their paths.
type node struct {
	fixed  map[string]*node
	any    *node // for any segment but an empty one
	name   string
	ends   map[string]end // by method
	behind map[string]end // by method, for any path that goes on
}

// end is the end of a route.
type end struct {
	route string
	serve func(*exchange)
}

// Handle adds a route: "{name}" stands for a segment, and "*" at the end for any rest.
func (t *router) Handle(method, path string, serve func(*exchange)) {
	n, route := &t.root, strings.NewReplacer("{", ":", "}", "").Replace(path)
	segments := strings.Split(path[1:], "/")
	for _, s := range segments {
		switch {
		case s == "*":
			if n.behind == nil {
				n.behind = make(map[string]end)
			}
			n.behind[method] = end{route, serve}
			return
		case strings.HasPrefix(s, "{"):
			name := s[1 : len(s)-1]
			if n.any == nil {
				n.any, n.name = new(node), name
			}
			if n.name != name {
				panic("northbound: " + path + ": another route calls the segment " + n.name)
			}
			n = n.any
		default:
			if n.fixed == nil {
				n.fixed = make(map[string]*node)
			}
			if n.fixed[s] == nil {
				n.fixed[s] = new(node)
			}
			n = n.fixed[s]
		}
	}
	if n.ends == nil {
		n.ends = make(map[string]end)
	}
	n.ends[method] = end{route, serve}
}

// find returns the ends of a path by method, nil for none, and calls take for each named segment. A
// fixed segment comes before a named one.
func (n *node) find(path string, more bool, take func(name, segment string)) map[string]end {
	if !more {
		return n.ends
	}
	segment, rest, more := strings.Cut(path, "/")
	if next := n.fixed[segment]; next != nil {
		if ends := next.find(rest, more, take); ends != nil {
			return ends
		}
	}
	if n.any != nil && segment != "" {
		if ends := n.any.find(rest, more, take); ends != nil {
			take(n.name, segment)
			return ends
		}
	}
	return n.behind
}

// ServeHTTP implements [http.Handler].
func (t *router) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, escaped := r.URL.Path, false
	if r.URL.RawPath != "" { // %2F in a name is of the name
		path, escaped = r.URL.RawPath, true
	}
	path, rooted := strings.CutPrefix(path, "/")
	var ends map[string]end
	if rooted {
		ends = t.root.find(path, true, func(name, segment string) {
			if plain, err := url.PathUnescape(segment); escaped && err == nil {
				segment = plain
			}
			r.SetPathValue(name, segment)
		})
	}
	c := &exchange{Request: r, Writer: &answering{ResponseWriter: w, status: http.StatusOK}}
	last := t.missing
	if ends != nil {
		last = t.other
		if e, ok := ends[r.Method]; ok {
			c.route, last = e.route, e.serve
		} else {
			methods := make([]string, 0, len(ends))
			for m := range ends {
				methods = append(methods, m)
			}
			slices.Sort(methods)
			c.Header("Allow", strings.Join(methods, ", "))
		}
	}
	c.steps = append(slices.Clip(t.steps), last)
	c.Next()
	c.Writer.begin()
}
