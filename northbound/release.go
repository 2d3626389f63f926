package northbound

import (
	"encoding/json"
	"net/http"
)

// retryAfter is the number of seconds after which a client may try again what is not possible now.
const retryAfter = "1"

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
func (s *Server) release(c *exchange) {
	w := c.Writer
	if isRead(c.Request) && !isHealth(c.Request) && c.Request.URL.Path != "/metrics" {
		w.current = s.cfg.Current
	}
	w.refuse = func(err error) []byte {
		p := newProblem(codeNoDecider, "what this controller knows may be out of date: "+err.Error())
		p.Instance = instance(c.id)
		requestOf(c.Request.Context()).detail = p.Detail
		b, err := json.Marshal(p)
		if err != nil { // of texts: cannot happen
			return nil
		}
		return b
	}
	c.Next()
}
