package topograph

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/clients/scheduler"
)

const (
	mostLogin = 16 << 10 // octets of a request to log in
	opid      = 1        // of the one premises
	hostTier  = -1
)

// login is a request for a token. The handler ignores topograph's user, and takes topograph's
// password as a token of Weft.
type login struct {
	Username string `json:"username"`
	Password string `json:"password"`
}

type session struct {
	Token    string     `json:"access_token"`
	Premises []premises `json:"premises,omitempty"`
}

type premises struct {
	Viewed    bool   `json:"config_key_viewed"` // topograph asks for those alone
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	OPID      int    `json:"opid"`
}

type graph struct {
	Links []link  `json:"links"`
	Nodes []group `json:"nodes"`
}

// link joins two nodes by their ids, with "-*-" between, which no name has.
type link struct {
	ID string `json:"id"`
}

type group struct {
	Nodes []vertex `json:"compounded_nodes"`
}

// vertex is a unit of the tree, or a host.
type vertex struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Tier int    `json:"tier"` // -1: a host
}

// Handler answers topograph's "netq" provider: the provider logs in, selects one of the offered
// premises, and fetches the graph. read returns the facts of the fabric for a token of Weft, which
// topograph holds as its password; the handler has no access of its own. The graph is the tree, not
// the Clos, so topograph has nothing to merge.
func Handler(read func(ctx context.Context, token string) (*scheduler.Facts, error)) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/netq/auth/v1/login", func(w http.ResponseWriter, r *http.Request) {
		var l login
		body := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostLogin))
		if err := body.Decode(&l); err != nil {
			http.Error(w, "want an object with username and password", http.StatusBadRequest)
			return
		}
		if l.Password == "" {
			http.Error(w, "want a token of Weft as the password", http.StatusUnauthorized)
			return
		}
		answer(w, session{l.Password, []premises{{true, "weft", "weft", opid}}})
	})
	mux.HandleFunc("GET /api/netq/auth/v1/select/opid/{opid}",
		func(w http.ResponseWriter, r *http.Request) {
			if token, ok := bearer(w, r); ok {
				answer(w, session{Token: token})
			}
		})
	mux.HandleFunc("POST /api/netq/telemetry/v1/object/topologygraph/fetch-topology",
		func(w http.ResponseWriter, r *http.Request) {
			token, ok := bearer(w, r)
			if !ok {
				return
			}
			facts, err := read(r.Context(), token)
			if err != nil {
				status := http.StatusBadGateway
				var problem *api.Problem
				if errors.As(err, &problem) {
					status = problem.Status
				}
				http.Error(w, err.Error(), status)
				return
			}
			answer(w, []graph{graphOf(scheduler.NewTree(facts))})
		})
	return mux
}

// bearer returns the token of a request, or answers 401.
func bearer(w http.ResponseWriter, r *http.Request) (string, bool) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		http.Error(w, "want a bearer token: log in first", http.StatusUnauthorized)
		return "", false
	}
	return token, true
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(v); err != nil {
		return // the client has gone
	}
}

// graphOf returns a tree as nodes and links.
func graphOf(t *scheduler.Tree) graph {
	g := graph{Links: []link{}, Nodes: []group{{Nodes: []vertex{}}}}
	nodes := &g.Nodes[0].Nodes
	var add func(u *scheduler.Unit)
	add = func(u *scheduler.Unit) {
		*nodes = append(*nodes, vertex{u.Name, u.Name, u.Tier})
		for _, h := range u.Hosts {
			*nodes = append(*nodes, vertex{h.Name, h.Name, hostTier})
			g.Links = append(g.Links, link{h.Name + "-*-" + u.Name})
		}
		for _, below := range u.Units {
			g.Links = append(g.Links, link{below.Name + "-*-" + u.Name})
			add(below)
		}
	}
	for _, root := range t.Roots {
		add(root)
	}
	return g
}
