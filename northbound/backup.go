package northbound

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
)

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
