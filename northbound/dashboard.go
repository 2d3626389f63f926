package northbound

import "net/http"

// assetsPath begins the paths of the dashboard's files; its page is at /.
const assetsPath = "/assets/"

// registerDashboard serves the dashboard, if there is one. Its files are open: they ask the user
// for credentials, and send them with each request to the API.
func (s *Server) registerDashboard() {
	if s.cfg.Dashboard == nil {
		return
	}
	handler := wrap(s.cfg.Dashboard)
	for _, path := range []string{"/", assetsPath + "*"} {
		s.engine.Handle(http.MethodGet, path, handler)
		s.engine.Handle(http.MethodHead, path, handler)
	}
}
