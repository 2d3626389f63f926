package northbound

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/controller"
)

// keep refuses changes while nothing can be kept: an answer of success means that a change outlives
// the controller. Deletions are taken, for they make room, and so may who signs in.
func (s *Server) keep(c *exchange) {
	switch c.Request.Method {
	case http.MethodPut, http.MethodPost, http.MethodPatch:
		dry, _ := strconv.ParseBool(c.Query("dryRun"))
		if s.cfg.Writable == nil || dry {
			break
		}
		err := s.cfg.Writable()
		if errors.Is(err, controller.ErrNoRoom) && c.Request.URL.Path == sessionPath {
			break
		}
		if err != nil {
			c.refuse(storeProblem(err))
			return
		}
	}
	c.Next()
}

// backupOperation reads secrets: it is recorded in the audit log.
const backupOperation = "get-backup"

func (s *Server) registerBackup() {
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: backupOperation, Method: http.MethodGet, Security: asks(access.Administer),
		Path: "/v1/backup", Tags: []string{"controller"},
		Summary: "Take a backup",
		Description: "A snapshot of everything that the controller keeps, as etcd writes it, with its " +
			"checksum at the end. \"weft restore\" makes a data directory of it.",
		Errors: []int{http.StatusNotImplemented, http.StatusServiceUnavailable},
		Responses: map[string]*huma.Response{"200": {
			Description: "The snapshot.",
			Content: map[string]*huma.MediaType{"application/octet-stream": {
				Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"},
			}},
		}},
	}), s.backup)
}

func (s *Server) backup(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
	if s.cfg.Backup == nil {
		return nil, newProblem(codeNoSection,
			"the controller keeps everything in memory: there is nothing to back up")
	}
	if err := s.auditFirst(ctx); err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(h huma.Context) {
		h.SetHeader("Content-Type", "application/octet-stream")
		if err := s.cfg.Backup(ctx, h.BodyWriter()); err != nil {
			exchangeOf(ctx).cause = err
			panic(http.ErrAbortHandler) // the client sees that the body is cut short
		}
	}}, nil
}
