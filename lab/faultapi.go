package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/api"
)

// Paths of the API for faults.
const (
	FaultsPath = "/v1/faults"
	LinksPath  = "/v1/links"
)

// LinkFaultsPath returns the path of the faults of a link.
func LinkFaultsPath(a, b string) string { return pathOf(FaultsPath, "links", a, b) }

// PartPath returns the path of the death of a part: PUT kills it, DELETE revives it.
func PartPath(p Part) string { return pathOf(FaultsPath, "dead", string(p.Kind), p.Name) }

// pathOf appends segments to a path.
func pathOf(path string, segments ...string) string {
	for _, s := range segments {
		path += "/" + url.PathEscape(s)
	}
	return path
}

// maxFaultBody bounds the body of a request, in octets.
const maxFaultBody = 64 << 10

// FaultAPI serves the faults of the lab (docs/cli.md, Faults in a running lab). Callers may use it
// until Close. It asks for no credentials, and refuses cross-origin requests of browsers.
func (l *Live) FaultAPI() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, answer func(r *http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, maxFaultBody)
			out, err := answer(r)
			if err != nil {
				refuse(w, err)
				return
			}
			respond(w, http.StatusOK, "application/json", out)
		})
	}
	faults := func(r *http.Request) (any, error) { return l.Faults(r.Context()) }
	handle("GET "+FaultsPath, faults)
	handle("DELETE "+FaultsPath, func(r *http.Request) (any, error) {
		if err := l.ClearAll(r.Context()); err != nil {
			return nil, err
		}
		return faults(r)
	})
	handle("GET "+LinksPath, func(r *http.Request) (any, error) { return l.Links(r.Context()) })
	handle("PATCH "+FaultsPath+"/links/{a}/{b}", func(r *http.Request) (any, error) {
		ref, err := linkRef(r)
		if err != nil {
			return nil, err
		}
		var change FaultChange
		if err := readBody(r.Body, &change); err != nil {
			return nil, err
		}
		if err := l.ChangeFaults(r.Context(), ref, change); err != nil {
			return nil, err
		}
		return faults(r)
	})
	handle("DELETE "+FaultsPath+"/links/{a}/{b}", func(r *http.Request) (any, error) {
		ref, err := linkRef(r)
		if err != nil {
			return nil, err
		}
		if err := l.ClearFaults(r.Context(), ref); err != nil {
			return nil, err
		}
		return faults(r)
	})
	part := func(r *http.Request) Part {
		return Part{PartKind(r.PathValue("kind")), r.PathValue("name")}
	}
	handle("PUT "+FaultsPath+"/dead/{kind}/{name}", func(r *http.Request) (any, error) {
		if err := l.Kill(r.Context(), part(r)); err != nil {
			return nil, err
		}
		return faults(r)
	})
	handle("DELETE "+FaultsPath+"/dead/{kind}/{name}", func(r *http.Request) (any, error) {
		if err := l.Revive(r.Context(), part(r)); err != nil {
			return nil, err
		}
		return faults(r)
	})
	handle("/", func(r *http.Request) (any, error) {
		return nil, &api.Error{Code: api.CodeNotFound,
			Message: fmt.Sprintf("%s %s: want GET or DELETE %s, GET %s, PATCH or DELETE %s/links/A/B, PUT "+
				"or DELETE %s/dead/KIND/NAME",
				r.Method, r.URL.Path, FaultsPath, LinksPath, FaultsPath, FaultsPath)}
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !isAddress(r.Host) || new(http.CrossOriginProtection).Check(r) != nil {
			http.Error(w, "want a request that no page of another origin sent, for an address or a name "+
				"without a dot", http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// isAddress reports whether a Host field is an address or a name without a dot: nobody else can
// point it at this machine (DNS rebinding).
func isAddress(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || !strings.Contains(host, ".")
}

// linkRef returns the link that a request names.
func linkRef(r *http.Request) (LinkRef, error) {
	q := r.URL.Query()
	ref := LinkRef{A: r.PathValue("a"), B: r.PathValue("b"), Direction: Direction(q.Get("direction"))}
	for name := range q {
		if name != "direction" && name != "port" {
			return LinkRef{}, refusal(api.CodeInvalid, name, "", "the parameters direction and port only")
		}
	}
	if text := q.Get("port"); text != "" {
		port, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return LinkRef{}, refusal(api.CodeInvalid, "port", strconv.Quote(text), "the number of a port")
		}
		ref.Port = uint32(port)
	}
	return ref, nil
}

// readBody decodes a JSON object without unknown fields.
func readBody(body io.Reader, into any) error {
	d := json.NewDecoder(body)
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if err == nil && d.More() {
		err = errors.New("there is more behind the object")
	}
	if err != nil {
		return &api.Error{Code: api.CodeMalformed, Message: fmt.Sprintf(
			`the body is no change of faults: %v: want a JSON object such as {"down":true} or `+
				`{"loss":0.01,"delay":"5ms"}, with fields of down, loss, delay, jitter, reorder, duplicate, `+
				`corrupt`, err)}
	}
	return nil
}

// refuse answers with an error.
func refuse(w http.ResponseWriter, err error) {
	p := &api.Problem{Type: "about:blank", Status: http.StatusInternalServerError, Detail: err.Error()}
	var known *api.Error
	switch {
	case errors.As(err, &known):
		p.Code, p.Errors, p.Status = string(known.Code), known.Fields, http.StatusUnprocessableEntity
		switch known.Code {
		case api.CodeMalformed:
			p.Status = http.StatusBadRequest
		case api.CodeNotFound:
			p.Status = http.StatusNotFound
		}
	case errors.Is(err, ErrStopped):
		p.Status = http.StatusServiceUnavailable
	}
	if len(p.Errors) > 0 {
		p.Field, p.Value, p.Limit = p.Errors[0].Field, p.Errors[0].Value, p.Errors[0].Limit
	}
	p.Title = http.StatusText(p.Status)
	respond(w, p.Status, api.ProblemType, p)
}

func respond(w http.ResponseWriter, status int, kind string, document any) {
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document) // the client went away
}
