package p4rt

import (
	"fmt"
	"slices"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/dataplane/clientlimit"
)

// The server takes large requests as streams of one message; on the wire there is no difference. It
// then reads a request only when the client has a place free, and decodes the bulk only after the
// small fields show that the primary sent the request.

// smallWrite is the largest WriteRequest, in octets, that the server decodes at once.
const smallWrite = 64 << 10

// service is the description of the gRPC service with the handlers of large requests.
func service() *grpc.ServiceDesc {
	d := p4v1.P4Runtime_ServiceDesc
	large := map[string]grpc.StreamHandler{"Write": handleWrite,
		"SetForwardingPipelineConfig": handlePipeline}
	d.Methods = slices.DeleteFunc(slices.Clone(d.Methods), func(m grpc.MethodDesc) bool {
		return large[m.MethodName] != nil
	})
	d.Streams = slices.Clone(d.Streams)
	for name, handler := range large {
		// ServerStreams has the interceptor called, which counts the calls.
		d.Streams = append(d.Streams, grpc.StreamDesc{StreamName: name, Handler: handler,
			ServerStreams: true})
	}
	return &d
}

func handleWrite(srv any, stream grpc.ServerStream) error {
	s, ctx := srv.(*Server), stream.Context()
	client := clientlimit.ClientOf(ctx)
	if err := client.Requests.Acquire(ctx, 1); err != nil {
		return execError(err)
	}
	defer client.Requests.Release(1)
	w := writeCalls.Get().(*writeCall)
	defer w.release()
	if err := stream.RecvMsg(w); err != nil {
		return err
	}
	if w.octets.Len() > smallWrite {
		d, err := s.device(w.req.GetDeviceId())
		if err != nil {
			return err
		}
		if err := d.mayWrite(ctx, &w.req); err != nil {
			return err
		}
	}
	if err := w.decodeUpdates(); err != nil {
		return invalid("WriteRequest: %v", err)
	}
	s.calls.updated(len(w.req.GetUpdates()))
	resp, err := s.Write(ctx, &w.req)
	if err != nil {
		return err
	}
	return stream.SendMsg(resp)
}

// pipelineCall is a SetForwardingPipelineConfigRequest whose config is not decoded yet.
type pipelineCall struct {
	req    p4v1.SetForwardingPipelineConfigRequest
	octets mem.Buffer
}

// configField is the number of SetForwardingPipelineConfigRequest.config.
const configField = 5

// unmarshal decodes all but the config.
func (p *pipelineCall) unmarshal() error {
	rest, _, err := without(configField, p.octets.ReadOnlyData())
	if err != nil {
		return err
	}
	return proto.Unmarshal(rest, &p.req)
}

// decode decodes the whole request.
func (p *pipelineCall) decode() error { return proto.Unmarshal(p.octets.ReadOnlyData(), &p.req) }

func handlePipeline(srv any, stream grpc.ServerStream) error {
	s, ctx := srv.(*Server), stream.Context()
	client := clientlimit.ClientOf(ctx)
	if err := client.Requests.Acquire(ctx, 1); err != nil {
		return execError(err)
	}
	defer client.Requests.Release(1)
	p := new(pipelineCall)
	if err := stream.RecvMsg(p); err != nil {
		return err
	}
	defer p.octets.Free()
	d, err := s.device(p.req.GetDeviceId())
	if err != nil {
		return err
	}
	if err := d.maySetPipeline(ctx, &p.req); err != nil {
		return err
	}
	if err := s.pipelines.Acquire(ctx, 1); err != nil {
		return execError(err)
	}
	defer s.pipelines.Release(1)
	if err := p.decode(); err != nil {
		return invalid("SetForwardingPipelineConfigRequest: %v", err)
	}
	resp, err := s.SetForwardingPipelineConfig(ctx, &p.req)
	if err != nil {
		return err
	}
	return stream.SendMsg(resp)
}

// without returns the fields of a message except fields with a number, and how many it left out.
func without(field protowire.Number, b []byte) (rest []byte, n int, err error) {
	for len(b) > 0 {
		num, typ, length := protowire.ConsumeField(b)
		if length < 0 {
			return nil, 0, protowire.ParseError(length)
		}
		if num == field && typ == protowire.BytesType {
			n++
		} else {
			rest = append(rest, b[:length]...)
		}
		b = b[length:]
	}
	return rest, n, nil
}

// tooLong returns the error for a request beyond the size limit of its kind.
func tooLong(octets, limit int) error {
	return fmt.Errorf("p4rt: the message has %d octets; want %d at most", octets, limit)
}
