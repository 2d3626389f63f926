package northbound

import (
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// unknown is the problem of a query whose value names nothing; valid are the values that do.
func unknown(parameter, value string, valid []string) *api.Problem {
	e := kind.Unknown(parameter, value, valid)
	return newProblem(string(e.Code), e.Error(), e.Fields...)
}
