package northbound

import (
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// adapter puts huma's operations on the server's router, and supports custom methods,
// "{name}:verb".
type adapter struct {
	server *Server
	// verbs are the custom methods, by method and path without the verb.
	verbs map[string]map[string]served
}

// served is an operation with what serves it.
type served struct {
	op      *huma.Operation
	handle  func(huma.Context)
	leaving *deprecation // nil: it stays
}

func (a *adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.server.engine.ServeHTTP(w, r)
}

func (a *adapter) Handle(op *huma.Operation, handler func(huma.Context)) {
	if body := bodySchema(op); body != nil {
		walkable(a.server.api.OpenAPI().Components.Schemas, body, op.OperationID)
	}
	path, verb := op.Path, ""
	if i := strings.LastIndex(path, "}:"); i >= 0 {
		path, verb = path[:i+1], path[i+1:]
	}
	param := path[strings.LastIndex(path, "{")+1:]
	param = strings.TrimSuffix(param, "}")
	one := served{op, handler, nil}
	if d, ok := deprecations[op.OperationID]; ok {
		op.Deprecated, one.leaving = true, &d
	}
	if verb == "" {
		a.server.engine.Handle(op.Method, path, func(c *exchange) { a.server.admit(c, one) })
		return
	}
	key := op.Method + " " + path
	if others := a.verbs[key]; others != nil {
		others[verb] = one
		return
	}
	if a.verbs == nil {
		a.verbs = make(map[string]map[string]served)
	}
	verbs := map[string]served{verb: one}
	a.verbs[key] = verbs
	a.server.engine.Handle(op.Method, path, func(c *exchange) {
		i := strings.LastIndexByte(c.Param(param), ':')
		of, ok := verbs[c.Param(param)[max(i, 0):]]
		if !ok {
			var known []string
			for _, v := range verbs {
				known = append(known, v.op.Path)
			}
			slices.Sort(known)
			c.refuse(newProblem(codeNotAllowed, op.Method+" is for "+
				strings.Join(known, " and ")))
			return
		}
		c.Request.SetPathValue(param, c.Param(param)[:i])
		a.server.admit(c, of)
	})
}
