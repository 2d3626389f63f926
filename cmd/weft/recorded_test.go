package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/weft-sdn/weft/api"
)

// recorded serves an API with an audit log for all changes, in one chain.
type recorded struct {
	http.Handler
	mu      sync.Mutex
	records []api.AuditRecord
}

// spec returns the spec at a path, nil if there is none.
func (a *recorded) spec(path string) json.RawMessage {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "127.0.0.1"
	a.Handler.ServeHTTP(w, r)
	var o api.Object
	if w.Code != http.StatusOK || json.Unmarshal(w.Body.Bytes(), &o) != nil {
		return nil
	}
	return o.Spec
}

func (a *recorded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.URL.Path == auditPath {
		found := api.List[api.AuditRecord]{Items: []api.AuditRecord{}}
		for _, x := range a.records {
			if strings.HasPrefix(x.ServiceRequest.Path, r.URL.Query().Get("path")) {
				found.Items = append(found.Items, x)
			}
		}
		_ = json.NewEncoder(w).Encode(found)
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	path := r.URL.EscapedPath()
	before := a.spec(path)
	answer := httptest.NewRecorder()
	a.Handler.ServeHTTP(answer, r)
	after := a.spec(path)
	changes := r.Method == http.MethodPut || r.Method == http.MethodDelete
	if changes && answer.Code < 300 && !sameJSON(before, after) {
		a.records = append(a.records, api.AuditRecord{Chain: "core", Seq: uint64(len(a.records) + 1),
			Timestamp: began, Outcome: api.AuditSuccess, Before: before, After: after,
			SessionInfo:    api.AuditSession{User: api.AuditUser{Identity: "ann"}},
			ServiceRequest: api.AuditRequest{Method: r.Method, Path: r.URL.RequestURI()}})
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}
