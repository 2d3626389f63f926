package northbound

import (
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humagin"
	"github.com/gin-gonic/gin"
)

// adapter puts huma's operations on gin's router. Beside what humagin does it
// knows custom methods, "{name}:verb", for which gin's router has no form.
type adapter struct{ server *Server }

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
	path = strings.NewReplacer("{", ":", "}", "").Replace(path)
	a.server.engine.Handle(op.Method, path, func(c *gin.Context) {
		if verb != "" {
			name, ok := strings.CutSuffix(c.Param(param), verb)
			if !ok {
				a.server.refuse(c, newProblem(codeNotAllowed, op.Method+" is for "+op.Path))
				return
			}
			for i := range c.Params {
				if c.Params[i].Key == param {
					c.Params[i].Value = name
				}
			}
		}
		a.server.admit(c, op, func() {
			if a.server.fits(c, op) {
				handler(humagin.NewContext(op, c))
			}
		})
	})
}
