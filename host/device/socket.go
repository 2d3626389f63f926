package device

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
)

// PathOf is the answer of the socket: the EVs by which packets to an address may leave.
type PathOf struct {
	Destination netip.Prefix `json:"destination"`
	EVs         []OuterPath  `json:"evs"`
}

// OuterPath is an EV as an application uses it: the outer destination, and the port from 1.
type OuterPath struct {
	Outer netip.Addr `json:"outer"`
	Port  uint8      `json:"port"`
}

// Handler answers applications on the host: GET /v1/paths?to=ADDRESS has a PathOf. An address that
// is none has the status 400, one without paths 404, each with the reason as text.
func Handler(d *Device) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/paths", func(w http.ResponseWriter, r *http.Request) {
		text := r.URL.Query().Get("to")
		to, err := netip.ParseAddr(text)
		if err != nil {
			http.Error(w, fmt.Sprintf("to: %.80q, want an address", text), http.StatusBadRequest)
			return
		}
		p, ok := d.To(to)
		if !ok {
			http.Error(w, fmt.Sprintf("to: %v: the controller has no paths there", to), http.StatusNotFound)
			return
		}
		out := PathOf{Destination: p.Destination, EVs: []OuterPath{}}
		for _, v := range p.EVs {
			out.EVs = append(out.EVs, OuterPath{outer(v), v.Port})
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out) // the application has gone
	})
	return mux
}
