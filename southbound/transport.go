package southbound

import (
	"context"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// Transport carries P4Runtime requests to one switch: over gRPC, as a [Session]
// does, or by calls into a switch of the same process ([Direct]). Errors carry a
// gRPC status as the service's do, or wrap one of this package's errors. Write does not keep its
// request, whose memory is used again.
type Transport interface {
	SetPipeline(ctx context.Context, req *p4v1.SetForwardingPipelineConfigRequest) error
	Write(ctx context.Context, req *p4v1.WriteRequest) error
	Read(ctx context.Context, req *p4v1.ReadRequest, emit func(*p4v1.ReadResponse)) error
	PacketOut(ctx context.Context, p *p4v1.PacketOut) error
}

// Device is an embedded switch that is called directly; now is its clock.
type Device interface {
	SetPipeline(now time.Duration, req *p4v1.SetForwardingPipelineConfigRequest) error
	Write(now time.Duration, req *p4v1.WriteRequest) error
	Read(now time.Duration, req *p4v1.ReadRequest, emit func(*p4v1.ReadResponse)) error
	PacketOut(now time.Duration, p *p4v1.PacketOut) error
}

// Direct is the transport to an embedded switch. Now returns the time at which
// the switch gets a request; nil is always 0.
type Direct struct {
	Device Device
	Now    func() time.Duration
}

func (d Direct) now() time.Duration {
	if d.Now == nil {
		return 0
	}
	return d.Now()
}

// SetPipeline implements Transport.
func (d Direct) SetPipeline(_ context.Context, req *p4v1.SetForwardingPipelineConfigRequest) error {
	return d.Device.SetPipeline(d.now(), req)
}

// Write implements Transport.
func (d Direct) Write(_ context.Context, req *p4v1.WriteRequest) error {
	return d.Device.Write(d.now(), req)
}

// Read implements Transport.
func (d Direct) Read(_ context.Context, req *p4v1.ReadRequest,
	emit func(*p4v1.ReadResponse)) error {
	return d.Device.Read(d.now(), req, emit)
}

// PacketOut implements Transport.
func (d Direct) PacketOut(_ context.Context, p *p4v1.PacketOut) error {
	return d.Device.PacketOut(d.now(), p)
}
