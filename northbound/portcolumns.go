package northbound

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"reflect"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/telemetry"
)

const portsPath = telemetryPath + "/ports"

// portsOver is the time over which the stream of all ports averages rates. It contains at least one
// report of a switch that reports each second.
const portsOver = 3 * time.Second

func (s *Server) registerPortColumns() {
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[api.PortColumns](), true,
		"PortColumns")
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "watch-ports", Method: http.MethodGet, Security: asks(access.Read),
		Path: portsPath, Tags: []string{telemetryTag},
		Summary: "Follow what all ports carry",
		Description: "Server-sent events, one at once and one each second, with a PortColumns as " +
			"data: what every port that switches report receives and transmits.",
		Responses: map[string]*huma.Response{"200": {
			Description: "A stream of events.",
			Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: schema}},
		}},
	}), s.watchPorts)
}

// portText is the event of a second, which all who follow ports share.
type portText struct {
	mu     sync.Mutex
	second int64
	text   []byte
}

// at returns the event of the second of a time.
func (p *portText) at(st *telemetry.Store, now time.Time) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text != nil && p.second == now.Unix() {
		return p.text, nil
	}
	data, err := json.Marshal(portColumns(st, now))
	if err != nil {
		return nil, fmt.Errorf("columns of ports: %w", err)
	}
	p.second, p.text = now.Unix(), fmt.Appendf(nil, "event: ports\ndata: %s\n\n", data)
	return p.text, nil
}

// portColumns returns what all ports carry up to a time.
func portColumns(st *telemetry.Store, now time.Time) api.PortColumns {
	c := api.PortColumns{Time: now.UTC(), Over: int(portsOver / time.Second),
		Switches: []api.SwitchColumns{}}
	rate := func(v float64) float64 {
		if math.IsNaN(v) {
			return -1
		}
		return telemetry.Significant(v)
	}
	for _, name := range st.Switches() {
		x := api.SwitchColumns{Name: name}
		st.Ports(name, portsOver, now, func(port uint32, in, out float64, speed uint64) {
			x.Ports, x.Speed = append(x.Ports, port), append(x.Speed, speed)
			x.In, x.Out = append(x.In, rate(in)), append(x.Out, rate(out))
		})
		if len(x.Ports) > 0 {
			c.Switches = append(c.Switches, x)
		}
	}
	return c
}

func (s *Server) watchPorts(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
	_, over := s.sight(ctx)
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		_, w := humago.Unwrap(ctx)
		ctx.SetHeader("Content-Type", "text/event-stream")
		ctx.SetHeader("X-Accel-Buffering", "no")
		ctx.SetStatus(http.StatusOK)
		control := http.NewResponseController(w)
		defer func() { _ = control.SetWriteDeadline(time.Time{}) }() // the connection may live on
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for !over() {
			text, err := s.portText.at(s.cfg.Telemetry, s.cfg.Now())
			if err != nil {
				return
			}
			_ = control.SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout))
			if _, err := w.Write(text); err != nil || control.Flush() != nil {
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Context().Done():
				return
			case <-s.closing:
				return
			}
		}
	}}, nil
}
