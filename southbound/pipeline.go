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
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/weft-sdn/weft/p4"
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

// ensurePipeline installs the configured pipeline unless the switch reports that it runs it
// already, and reports whether it did. A replacement of another pipeline waits for its turn, and
// keeps fitting state if the switch can; else the installation clears the switch. programmed, when
// not nil, has to be called, also after an error.
func (c *conn) ensurePipeline(ctx context.Context) (
	pushed bool, programmed func(context.Context), err error,
) {
	p := c.cfg.Pipeline
	if p == nil {
		return false, nil, nil
	}
	asking, cancel := context.WithTimeout(ctx, c.cfg.PipelineTimeout)
	defer cancel()
	got, err := c.rpc.GetForwardingPipelineConfig(asking,
		&p4v1.GetForwardingPipelineConfigRequest{DeviceId: c.cfg.DeviceID,
			ResponseType: p4v1.GetForwardingPipelineConfigRequest_COOKIE_ONLY})
	switch status.Code(err) {
	case codes.OK:
	case codes.FailedPrecondition, codes.NotFound, codes.Unimplemented:
		// No pipeline yet, or a server that keeps no cookie.
	default:
		return false, nil, fmt.Errorf("reading the pipeline cookie: %w", asError(err))
	}
	cookie := got.GetConfig().GetCookie()
	if cookie != nil && cookie.GetCookie() == p.cookie {
		return false, nil, nil
	}
	if cookie != nil && c.cfg.Turn != nil {
		if programmed, err = c.cfg.Turn(ctx); err != nil {
			return false, nil, err
		}
	}
	c.installing.Store(true)
	defer c.installing.Store(false)
	installing, cancel := context.WithTimeout(ctx, c.cfg.PipelineTimeout)
	defer cancel()
	if cookie == nil {
		err = c.client().Install(installing)
	} else {
		err = c.replacePipeline(installing)
	}
	if err != nil {
		return false, programmed, fmt.Errorf("installing the pipeline: %w", asError(err))
	}
	return true, programmed, nil
}

// replacePipeline installs the pipeline on a switch with another pipeline. A switch that announces
// [p4.ReconcileKey] gets RECONCILE_AND_COMMIT and keeps entries that fit. Other switches get
// VERIFY_AND_COMMIT: p4lang/PI restores entries one by one after the change of the pipeline, and
// stays between two pipelines if one entry does not fit.
func (c *conn) replacePipeline(ctx context.Context) error {
	can, err := c.rpc.Capabilities(ctx, &p4v1.CapabilitiesRequest{DeviceId: c.cfg.DeviceID})
	if err != nil {
		return err
	}
	var key wrapperspb.StringValue
	if can.GetExperimental().UnmarshalTo(&key) != nil || key.GetValue() != p4.ReconcileKey {
		return c.client().Install(ctx)
	}
	err = c.client().Reconcile(ctx)
	if code := status.Code(err); code == codes.Unimplemented || code == codes.InvalidArgument {
		return c.client().Install(ctx)
	}
	return err
}
