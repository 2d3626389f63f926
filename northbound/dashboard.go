package northbound

import (
	"github.com/gin-gonic/gin"
)

// assetsPath begins the paths of the dashboard's files; its page is at /.
const assetsPath = "/assets/"

// registerDashboard serves the dashboard, if there is one. Its files are open: they ask the user
// for credentials, and send them with each request to the API.
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
