package southbound

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	p4config "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// Pipeline is a compiled P4 program: its P4Info and what the target loads. It
// does not change once made and serves any number of sessions.
type Pipeline struct {
	schema *Schema
	info   *p4config.P4Info
	device []byte
	cookie uint64
}

// NewPipeline makes a Pipeline. Neither argument may be changed afterwards.
func NewPipeline(info *p4config.P4Info, device []byte) (*Pipeline, error) {
	schema, err := newSchema(info)
	if err != nil {
		return nil, err
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(info)
	if err != nil {
		return nil, fmt.Errorf("southbound: P4Info: %w", err)
	}
	h := sha256.New()
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(b)))
	h.Write(length[:])
	h.Write(b)
	h.Write(device)
	return &Pipeline{schema: schema, info: info, device: device,
		cookie: binary.BigEndian.Uint64(h.Sum(nil))}, nil
}

// ParsePipeline makes a Pipeline from a P4Info in protobuf text form.
func ParsePipeline(p4infoText, device []byte) (*Pipeline, error) {
	var info p4config.P4Info
	if err := prototext.Unmarshal(p4infoText, &info); err != nil {
		return nil, fmt.Errorf("southbound: P4Info: %w", err)
	}
	return NewPipeline(&info, device)
}

// Cookie identifies the pipeline on a switch: the first 64 bits of SHA-256 over
// P4Info and device configuration.
func (p *Pipeline) Cookie() uint64 { return p.cookie }

// Schema returns the names of the pipeline's objects.
func (p *Pipeline) Schema() *Schema { return p.schema }

// ensurePipeline installs the configured pipeline unless the switch reports that
// it runs it already, and reports whether it did. Installing clears the switch.
func (c *conn) ensurePipeline(ctx context.Context) (pushed bool, err error) {
	p := c.cfg.Pipeline
	if p == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.PipelineTimeout)
	defer cancel()
	got, err := c.rpc.GetForwardingPipelineConfig(ctx, &p4v1.GetForwardingPipelineConfigRequest{
		DeviceId: c.cfg.DeviceID, ResponseType: p4v1.GetForwardingPipelineConfigRequest_COOKIE_ONLY,
	})
	switch status.Code(err) {
	case codes.OK:
		if cookie := got.GetConfig().GetCookie(); cookie != nil && cookie.GetCookie() == p.cookie {
			return false, nil
		}
	case codes.FailedPrecondition, codes.NotFound, codes.Unimplemented:
		// No pipeline yet, or a server that keeps no cookie.
	default:
		return false, fmt.Errorf("reading the pipeline cookie: %w", asError(err))
	}
	err = c.client().Install(ctx)
	if err != nil {
		return false, fmt.Errorf("installing the pipeline: %w", asError(err))
	}
	return true, nil
}
