package southbound

import (
	"errors"
	"fmt"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/status"
)

// Target is a P4Runtime device that is called directly, without gRPC: an
// embedded switch in the same process. Errors carry a gRPC status as the
// service's do.
type Target interface {
	SetPipeline(now time.Duration, req *p4v1.SetForwardingPipelineConfigRequest) error
	Write(now time.Duration, req *p4v1.WriteRequest) error
	Read(now time.Duration, req *p4v1.ReadRequest, emit func(*p4v1.ReadResponse)) error
	PacketOut(now time.Duration, p *p4v1.PacketOut) error
}

// Direct is a Session's traffic with a Target: the same requests and the same
// answers, made at once and in the caller's time. It connects to nothing and
// repairs nothing.
type Direct struct {
	Target   Target
	DeviceID uint64
	Pipeline *Pipeline
	// BatchUpdates and BatchBytes limit a request as Config's do; 0: its defaults.
	BatchUpdates, BatchBytes int
}

// Install gives the target the pipeline, which clears it.
func (d *Direct) Install(now time.Duration) error {
	return d.Target.SetPipeline(now, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: d.DeviceID, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
		Config: &p4v1.ForwardingPipelineConfig{
			P4Info: d.Pipeline.info, P4DeviceConfig: d.Pipeline.device,
			Cookie: &p4v1.ForwardingPipelineConfig_Cookie{Cookie: d.Pipeline.cookie},
		},
	})
}

// Write is Session.Write.
func (d *Direct) Write(now time.Duration, updates []Update) error {
	if len(updates) == 0 {
		return nil
	}
	protos := make([]*p4v1.Update, len(updates))
	for i, u := range updates {
		p, err := updateToProto(u)
		if err != nil {
			return fmt.Errorf("update %d: %w", i, err)
		}
		protos[i] = p
	}
	limits := DefaultConfig()
	if d.BatchUpdates > 0 {
		limits.BatchUpdates = d.BatchUpdates
	}
	if d.BatchBytes > 0 {
		limits.BatchBytes = d.BatchBytes
	}
	var failed []UpdateError
	for _, b := range batches(updates, protos, limits.BatchUpdates, limits.BatchBytes) {
		err := d.Target.Write(now, &p4v1.WriteRequest{DeviceId: d.DeviceID, Updates: protos[b.start:b.end]})
		if err == nil {
			continue
		}
		errs, whole := decodeWriteError(status.Convert(err), b.start, b.end-b.start)
		failed = append(failed, errs...)
		if whole {
			return &WriteError{Updates: failed, Cause: err}
		}
	}
	if len(failed) > 0 {
		return &WriteError{Updates: failed}
	}
	return nil
}

// ReadAll is Session.ReadAll.
func (d *Direct) ReadAll(now time.Duration) (Contents, error) {
	var out Contents
	for _, k := range Kinds() {
		patterns, err := Query{Kind: k}.patterns(d.Pipeline)
		if err != nil {
			return Contents{}, err
		}
		var bad error
		for patterns := range k.requests(patterns) {
			err = d.Target.Read(now, &p4v1.ReadRequest{DeviceId: d.DeviceID, Entities: patterns}, func(m *p4v1.ReadResponse) {
				for _, p := range m.GetEntities() {
					e, ok, err := fromProto(p)
					if err != nil {
						bad = errors.Join(bad, err)
					} else if ok && e.Kind() == k {
						out.Entities = append(out.Entities, d.Pipeline.normal(e))
					}
				}
			})
			if err != nil && !k.absent(err) {
				bad = errors.Join(bad, err)
			}
		}
		if bad != nil {
			return Contents{}, fmt.Errorf("reading every %s: %w", k, bad)
		}
	}
	return out, nil
}

// PacketOut is Session.PacketOut.
func (d *Direct) PacketOut(now time.Duration, p PacketOut) error {
	return d.Target.PacketOut(now, packetOutToProto(p).GetPacket())
}

// PacketInOf returns the packet-in of a message from a device, and false when it
// is another message.
func PacketInOf(m *p4v1.StreamMessageResponse) (PacketIn, bool) {
	if p := m.GetPacket(); p != nil {
		return packetInFromProto(p), true
	}
	return PacketIn{}, false
}

// DigestOf is PacketInOf for digests.
func DigestOf(m *p4v1.StreamMessageResponse) (Digest, bool) {
	if d := m.GetDigest(); d != nil {
		return digestFromProto(d), true
	}
	return Digest{}, false
}
