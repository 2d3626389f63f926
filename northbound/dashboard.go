package northbound

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
)

// assetsPath begins the paths of the dashboard's files; its page is at /.
const assetsPath = "/assets/"

// registerDashboard serves the dashboard, if there is one. It needs no token: it asks the user for
// one, and sends it with each request to the API.
func (s *Server) registerDashboard() {
	if s.cfg.Dashboard == nil {
		return
	}
	handler := gin.WrapH(s.cfg.Dashboard)
	for _, path := range []string{"/", assetsPath + "*file"} {
		s.engine.GET(path, handler)
		s.engine.HEAD(path, handler)
	}
}

// isDashboard reports whether a request is for a file of the dashboard.
func (s *Server) isDashboard(r *http.Request) bool {
	return s.cfg.Dashboard != nil && (r.URL.Path == "/" || strings.HasPrefix(r.URL.Path, assetsPath))
}
