package cm

// REP accepts a connection (IBTA volume 1, table 110).
type REP struct {
	LocalID            uint32
	RemoteID           uint32 // LocalID of the REQ
	QKey               uint32
	QPN                uint32 // 24 bits
	StartingPSN        uint32 // 24 bits: first PSN that the sender of the REP expects to receive
	ResponderResources uint8
	InitiatorDepth     uint8
	TargetACKDelay     uint8 // 5 bits
	Failover           uint8 // 2 bits; FailoverUnsupported
	FlowControl        bool
	RNRRetryCount      uint8 // 3 bits; 7: without end
	SRQ                bool
	CAGUID             uint64
	Private            [PrivateREP]byte
}

// FailoverUnsupported: the sender has no alternate paths.
const FailoverUnsupported = 1

// Attribute implements Message.
func (REP) Attribute() Attribute { return AttrREP }

func parseREP(b *[bodyLen]byte) REP {
	return REP{
		LocalID: u32(b[0:]), RemoteID: u32(b[4:]), QKey: u32(b[8:]), QPN: u24(b[12:]),
		StartingPSN: u24(b[20:]), ResponderResources: b[24], InitiatorDepth: b[25],
		TargetACKDelay: b[26] >> 3, Failover: b[26] >> 1 & 3, FlowControl: b[26]&1 != 0,
		RNRRetryCount: b[27] >> 5, SRQ: b[27]&0x10 != 0, CAGUID: u64(b[28:]),
		Private: [PrivateREP]byte(b[36:]),
	}
}

func (m REP) put(b *[bodyLen]byte) {
	put32(b[0:], m.LocalID)
	put32(b[4:], m.RemoteID)
	put32(b[8:], m.QKey)
	put24(b[12:], m.QPN)
	put24(b[20:], m.StartingPSN)
	b[24], b[25] = m.ResponderResources, m.InitiatorDepth
	b[26] = m.TargetACKDelay<<3 | m.Failover&3<<1 | bit(m.FlowControl, 0)
	b[27] = m.RNRRetryCount<<5 | bit(m.SRQ, 4)
	put64(b[28:], m.CAGUID)
	copy(b[36:], m.Private[:])
}
