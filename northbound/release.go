package northbound

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/weft-sdn/weft/api"
)

// retryAfter is when a client may try again what is not possible now.
const retryAfter = time.Second

// isRead reports whether a request changes nothing.
func isRead(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return true
	}
	return false
}

// release holds back an answer to a GET until the answer is ready, and then asks whether this
// controller still decides: if so, the answer contains every change acknowledged by another
// decider. Any controller answers questions about the controllers themselves and their state.
func (s *Server) release(c *gin.Context) {
	w := &releasing{ResponseWriter: c.Writer}
	if isRead(c.Request) && !isHealth(c.Request) && c.Request.URL.Path != "/metrics" {
		w.current = s.cfg.Current
	}
	w.refuse = func(err error) []byte {
		p := newProblem(codeNoDecider, "what this controller knows may be out of date: "+err.Error())
		p.Instance = instance(c.GetString(requestIDKey))
		requestOf(c.Request.Context()).detail = p.Detail
		b, err := json.Marshal(p)
		if err != nil { // of texts: cannot happen
			return nil
		}
		return b
	}
	c.Writer = w
	c.Next()
}

// releasing writes an answer. Before the first octet, releasing checks whether the controller still
// decides.
type releasing struct {
	gin.ResponseWriter
	current func() error // nil: nothing is asked
	refuse  func(error) []byte
	begun   bool
	refused error // why the answer is not given
}

// begin sees the status and the header before they are sent.
func (w *releasing) begin() {
	if w.begun || w.ResponseWriter.Written() {
		return
	}
	w.begun = true
	if w.current != nil && w.Status() < http.StatusMultipleChoices {
		if err := w.current(); err != nil {
			w.refused = err
			for _, name := range []string{"ETag", "Location", "Content-Length", "Content-Encoding",
				"Last-Modified"} {
				w.Header().Del(name)
			}
			w.Header().Set("Content-Type", api.ProblemType)
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	if w.Status() == http.StatusServiceUnavailable && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", strconv.Itoa(int(retryAfter.Seconds())))
	}
	if w.refused != nil {
		_, _ = w.ResponseWriter.Write(w.refuse(w.refused)) // as with any answer: the client is gone
	}
}

// Write implements [http.ResponseWriter].
func (w *releasing) Write(b []byte) (int, error) {
	w.begin()
	if w.refused != nil {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// WriteString implements [io.StringWriter].
func (w *releasing) WriteString(s string) (int, error) { return w.Write([]byte(s)) }

// WriteHeaderNow implements [gin.ResponseWriter].
func (w *releasing) WriteHeaderNow() {
	w.begin()
	w.ResponseWriter.WriteHeaderNow()
}

// Flush implements [http.Flusher].
func (w *releasing) Flush() {
	w.begin()
	w.ResponseWriter.Flush()
}

// Unwrap is for [http.ResponseController].
func (w *releasing) Unwrap() http.ResponseWriter { return w.ResponseWriter }
