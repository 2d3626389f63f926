package northbound

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
)

// ErrNoTraces reports that nothing can trace packets at a switch.
var ErrNoTraces = errors.New("northbound: the switch gives no traces")

// TraceFilter defines which packets to trace.
type TraceFilter struct {
	Port  *uint32 // they come in by; nil: any
	Count int     // so many
}

// Tracer calls take with the traces of the next packets at a switch, until there are as many as the
// filter wants, take fails or ctx ends. lost is how many traces were lost before a packet; a call
// of take may have them alone. Errors wrap ErrNoTraces where the switch has none to give.
type Tracer func(ctx context.Context, sw string, want TraceFilter,
	take func(t api.PacketTrace, lost uint64) error) error

// Bounds of one request for traces.
const (
	mostTraces  = 20
	traceOctets = 8 << 20 // of text and records
	traceWait   = 10 * time.Second
	mostWait    = 25 * time.Second
)

func (s *Server) registerTraces() {
	register(s, huma.Operation{
		OperationID: "trace-packets", Method: http.MethodGet, Security: asks(access.Operate),
		Path: "/v1/switches/{id}/traces", Tags: []string{"switches"},
		Summary: "Trace the next packets at a switch",
		Description: "Waits for the next packets that the switch receives, and returns what it did " +
			"with each: parser, tables, actions, copies, queues, drops. " +
			"The packets are forwarded as usual. The embedded switch gives traces; the configuration has " +
			"its address in switches[].trace.",
		Errors: []int{404, 422, 501, 503},
	}, s.tracePackets)
}

func (s *Server) tracePackets(ctx context.Context, in *struct {
	SwitchParam
	Port  string `query:"port" maxLength:"10" doc:"Only packets that come in by this port. Default: any."`
	Count int    `query:"count" minimum:"1" maximum:"20" default:"1" doc:"How many packets."`
	Wait  string `query:"wait" maxLength:"10" doc:"How long to wait for them, at most 25s. Default 10s."`
}) (*api.PacketTraces, error) {
	want := TraceFilter{Count: max(1, min(in.Count, mostTraces))}
	if in.Port != "" {
		n, err := strconv.ParseUint(in.Port, 10, 32)
		if err != nil {
			return nil, badQuery("port", in.Port, "a port number")
		}
		port := uint32(n)
		want.Port = &port
	}
	wait, err := waitOf(in.Wait)
	if err != nil {
		return nil, err
	}
	if _, err := s.switchKind().Get(ctx, in.ID); err != nil {
		return nil, problemOf(err)
	}
	none := newProblem(codeNoSection,
		fmt.Sprintf("switch %s gives no traces: the configuration has no switches[].trace for it", in.ID))
	if s.cfg.Traces == nil {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	out := api.PacketTraces{Items: []api.PacketTrace{}}
	size := 0
	err = s.cfg.Traces(ctx, in.ID, want, func(t api.PacketTrace, lost uint64) error {
		out.Lost += lost
		if len(t.Record) == 0 {
			return nil
		}
		if size += len(t.Text) + len(t.Record); size > traceOctets {
			return errTracesFull
		}
		out.Items = append(out.Items, t)
		return nil
	})
	switch {
	case errors.Is(err, ErrNoTraces):
		return nil, none
	case err != nil && ctx.Err() == nil && !errors.Is(err, errTracesFull):
		return nil, newProblem(string(api.CodeUnavailable), fmt.Sprintf("switch %s: %v", in.ID, err))
	}
	out.Complete = len(out.Items) == want.Count
	return &out, nil
}

// waitOf returns how long a request waits for packets.
func waitOf(text string) (time.Duration, error) {
	if text == "" {
		return traceWait, nil
	}
	wait, err := time.ParseDuration(text)
	if err != nil || wait <= 0 || wait > mostWait {
		return 0, badQuery("wait", text, fmt.Sprintf("a duration up to %v, such as 5s", mostWait))
	}
	return wait, nil
}

// errTracesFull ends the traces of a request when the answer reaches its size limit.
var errTracesFull = errors.New("northbound: the answer is full")

func badQuery(name, value, want string) error {
	return newProblem(string(api.CodeInvalid), fmt.Sprintf("query.%s is %q: want %s", name, value,
		want), api.FieldError{
		Field: "query." + name, Code: api.CodeInvalid, Value: valueText(value), Want: want,
	})
}
