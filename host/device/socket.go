package device

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/weft-sdn/weft/api/hostapi"
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

// ProfileFor is what an application needs to make queue pairs to an address: ev_profile_id and
// cc_profile_id of mrc_modify_qp, 0 where the device has none, and the values of
// mrc_create_qp_hint, 0 where nothing is known.
type ProfileFor struct {
	Profile     string `json:"profile"`
	EVProfileID uint64 `json:"evProfileId"`
	CCProfile   string `json:"ccProfile,omitempty"`
	CCProfileID uint64 `json:"ccProfileId"`
	QPsPerPeer  uint32 `json:"numQpsPerPeer"`
	SendPeers   uint32 `json:"numSendPeers"`
	RemotePeers uint32 `json:"numRemoteRecvPeers"`
}

// Handler answers applications on the host: GET /v1/paths?to=ADDRESS has a PathOf, GET
// /v1/profiles?to=ADDRESS a ProfileFor, and GET /v1/ports the PortFacts of all ports. An invalid
// address gets status 400, an address unknown to the controller 404, each with the reason in text.
// Held returns what the host holds, ids the ids of profiles in the device; nil: it has none.
func Handler(held func() *hostapi.State,
	ids func(profile, cc string) (ev, ccID uint64), ports func() []PortFacts) http.Handler {
	mux := http.NewServeMux()
	say := func(w http.ResponseWriter, what any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(what) // the application has gone
	}
	mux.HandleFunc("GET /v1/ports", func(w http.ResponseWriter, _ *http.Request) { say(w, ports()) })
	answer := func(path string, of func(*hostapi.State, netip.Addr) (any, bool)) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			text := r.URL.Query().Get("to")
			to, err := netip.ParseAddr(text)
			if err != nil {
				http.Error(w, fmt.Sprintf("to: %.80q, want an address", text), http.StatusBadRequest)
				return
			}
			out, ok := of(held(), to)
			if !ok {
				http.Error(w, fmt.Sprintf("to: %v: the controller has no paths there", to),
					http.StatusNotFound)
				return
			}
			say(w, out)
		})
	}
	answer("/v1/paths", func(s *hostapi.State, to netip.Addr) (any, bool) {
		p, ok := PathTo(s, to)
		out := PathOf{Destination: p.Destination, EVs: []OuterPath{}}
		for _, v := range p.EVs {
			out.EVs = append(out.EVs, OuterPath{outer(v), v.Port})
		}
		return out, ok
	})
	answer("/v1/profiles", func(s *hostapi.State, to netip.Addr) (any, bool) {
		p := s.ProfileTo(to)
		if p == nil {
			return nil, false
		}
		out := ProfileFor{Profile: p.Name, CCProfile: p.CC, QPsPerPeer: s.Hints.QPsPerPeer,
			SendPeers: s.Hints.SendPeers, RemotePeers: s.Hints.RemotePeers}
		if ids != nil {
			out.EVProfileID, out.CCProfileID = ids(p.Name, p.CC)
		}
		return out, true
	})
	return mux
}
