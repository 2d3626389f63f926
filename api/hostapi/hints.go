package hostapi

import pb "github.com/weft-sdn/weft/api/hostapi/hostpb"

// MaxQPHint bounds each number of a QPHints: a NIC has no more queue pairs.
const MaxQPHint = 1 << 24

// QPHints are what a host may expect of the queue pairs that jobs make on its NIC (QpHints in
// host.proto, after mrc_create_qp_hint()). A number that is 0 is not known.
type QPHints struct {
	QPsPerPeer  uint32 // queue pairs to each peer
	SendPeers   uint32 // peers that the host sends to
	RemotePeers uint32 // peers that send to the host
}

// Beside returns the hints of a host with the jobs of both hints: the sum of the peers, and the
// greater number of queue pairs per peer. A peer common to both counts twice, so the result errs
// towards too many.
func (h QPHints) Beside(o QPHints) QPHints {
	return QPHints{
		QPsPerPeer:  max(h.QPsPerPeer, o.QPsPerPeer),
		SendPeers:   min(h.SendPeers+o.SendPeers, MaxQPHint),
		RemotePeers: min(h.RemotePeers+o.RemotePeers, MaxQPHint),
	}
}

// validate names the first number that no host could have.
func (h QPHints) validate() *FieldError {
	for _, f := range []struct {
		name  string
		value uint32
	}{{"num_qps_per_peer", h.QPsPerPeer}, {"num_send_peers", h.SendPeers},
		{"num_remote_recv_peers", h.RemotePeers}} {
		if f.value > MaxQPHint {
			return invalid("qp_hints."+f.name, "%d, want at most %d", f.value, MaxQPHint)
		}
	}
	return nil
}

func encodeHints(h QPHints) *pb.QpHints {
	return &pb.QpHints{NumQpsPerPeer: h.QPsPerPeer, NumSendPeers: h.SendPeers,
		NumRemoteRecvPeers: h.RemotePeers}
}

// decodeHints reads hints; nil: there are none.
func decodeHints(m *pb.QpHints) QPHints {
	return QPHints{QPsPerPeer: m.GetNumQpsPerPeer(), SendPeers: m.GetNumSendPeers(),
		RemotePeers: m.GetNumRemoteRecvPeers()}
}
