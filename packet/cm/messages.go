package cm

import "encoding/binary"

// Answered is the message that an MRA or a REJ answers.
type Answered uint8

// The messages that MRA and REJ answer (IBTA volume 1, tables 107 and 108).
const (
	OfREQ   Answered = 0
	OfREP   Answered = 1
	OfLAP   Answered = 2 // of an MRA; of a REJ: no message
	Timeout Answered = 2 // of a REJ: the answer did not come
)

// MRA asks for more time (IBTA volume 1, table 107).
type MRA struct {
	LocalID, RemoteID uint32
	Of                Answered // 2 bits
	ServiceTimeout    uint8    // 5 bits: the answer comes within 4.096 us times 2^n
	Private           [PrivateMRA]byte
}

// Attribute implements Message.
func (MRA) Attribute() Attribute { return AttrMRA }

func parseMRA(b *[bodyLen]byte) MRA {
	return MRA{LocalID: u32(b[0:]), RemoteID: u32(b[4:]), Of: Answered(b[8] >> 6),
		ServiceTimeout: b[9] >> 3, Private: [PrivateMRA]byte(b[10:])}
}

func (m MRA) put(b *[bodyLen]byte) {
	put32(b[0:], m.LocalID)
	put32(b[4:], m.RemoteID)
	b[8], b[9] = byte(m.Of)<<6, m.ServiceTimeout<<3
	copy(b[10:], m.Private[:])
}

// REJ refuses (IBTA volume 1, table 108).
type REJ struct {
	LocalID, RemoteID uint32   // 0: not known
	Of                Answered // 2 bits
	Reason            Reason
	// Info describes the reason; InfoLen of at most 72 octets count.
	InfoLen uint8 // 7 bits
	Info    [72]byte
	Private [PrivateREJ]byte
}

// Attribute implements Message.
func (REJ) Attribute() Attribute { return AttrREJ }

func parseREJ(b *[bodyLen]byte) REJ {
	return REJ{LocalID: u32(b[0:]), RemoteID: u32(b[4:]), Of: Answered(b[8] >> 6),
		InfoLen: b[9] >> 1, Reason: Reason(binary.BigEndian.Uint16(b[10:])),
		Info: [72]byte(b[12:]), Private: [PrivateREJ]byte(b[84:])}
}

func (m REJ) put(b *[bodyLen]byte) {
	put32(b[0:], m.LocalID)
	put32(b[4:], m.RemoteID)
	b[8], b[9] = byte(m.Of)<<6, m.InfoLen<<1
	binary.BigEndian.PutUint16(b[10:], uint16(m.Reason))
	copy(b[12:], m.Info[:])
	copy(b[84:], m.Private[:])
}

// RTU ends the three-way exchange: ready to use (IBTA volume 1, table 111).
type RTU struct {
	LocalID, RemoteID uint32
	Private           [PrivateRTU]byte
}

// Attribute implements Message.
func (RTU) Attribute() Attribute { return AttrRTU }

func parseRTU(b *[bodyLen]byte) RTU {
	return RTU{u32(b[0:]), u32(b[4:]), [PrivateRTU]byte(b[8:])}
}

func (m RTU) put(b *[bodyLen]byte) {
	put32(b[0:], m.LocalID)
	put32(b[4:], m.RemoteID)
	copy(b[8:], m.Private[:])
}

// DREQ ends a connection (IBTA volume 1, table 112).
type DREQ struct {
	LocalID, RemoteID uint32
	QPN               uint32 // 24 bits: of the queue pair of the receiver of the DREQ
	Private           [PrivateDREQ]byte
}

// Attribute implements Message.
func (DREQ) Attribute() Attribute { return AttrDREQ }

func parseDREQ(b *[bodyLen]byte) DREQ {
	return DREQ{u32(b[0:]), u32(b[4:]), u24(b[8:]), [PrivateDREQ]byte(b[12:])}
}

func (m DREQ) put(b *[bodyLen]byte) {
	put32(b[0:], m.LocalID)
	put32(b[4:], m.RemoteID)
	put24(b[8:], m.QPN)
	copy(b[12:], m.Private[:])
}

// DREP answers a DREQ (IBTA volume 1, table 113).
type DREP struct {
	LocalID, RemoteID uint32
	Private           [PrivateDREP]byte
}

// Attribute implements Message.
func (DREP) Attribute() Attribute { return AttrDREP }

func parseDREP(b *[bodyLen]byte) DREP {
	return DREP{u32(b[0:]), u32(b[4:]), [PrivateDREP]byte(b[8:])}
}

func (m DREP) put(b *[bodyLen]byte) {
	put32(b[0:], m.LocalID)
	put32(b[4:], m.RemoteID)
	copy(b[8:], m.Private[:])
}

// LAP asks for an alternate path (IBTA volume 1, table 115). Which one is not kept.
type LAP struct {
	LocalID, RemoteID uint32
	QPN               uint32 // 24 bits: of the queue pair of the receiver of the LAP
}

// Attribute implements Message.
func (LAP) Attribute() Attribute { return AttrLAP }

func parseLAP(b *[bodyLen]byte) LAP { return LAP{u32(b[0:]), u32(b[4:]), u24(b[12:])} }

func (m LAP) put(b *[bodyLen]byte) {
	put32(b[0:], m.LocalID)
	put32(b[4:], m.RemoteID)
	put24(b[12:], m.QPN)
}

// APRUnsupported is the status of an APR: the sender has no alternate paths.
const APRUnsupported = 2

// APR answers a LAP (IBTA volume 1, table 116).
type APR struct {
	LocalID, RemoteID uint32
	Status            uint8
}

// Attribute implements Message.
func (APR) Attribute() Attribute { return AttrAPR }

func parseAPR(b *[bodyLen]byte) APR { return APR{u32(b[0:]), u32(b[4:]), b[9]} }

func (m APR) put(b *[bodyLen]byte) {
	put32(b[0:], m.LocalID)
	put32(b[4:], m.RemoteID)
	b[9] = m.Status
}

// SIDRREQ asks for the queue pair of a datagram service (IBTA volume 1, table 119).
type SIDRREQ struct {
	RequestID uint32
	PKey      uint16
	ServiceID uint64
	Private   [PrivateSIDR]byte
}

// Attribute implements Message.
func (SIDRREQ) Attribute() Attribute { return AttrSIDRREQ }

func parseSIDRREQ(b *[bodyLen]byte) SIDRREQ {
	return SIDRREQ{u32(b[0:]), binary.BigEndian.Uint16(b[4:]), u64(b[8:]), [PrivateSIDR]byte(b[16:])}
}

func (m SIDRREQ) put(b *[bodyLen]byte) {
	put32(b[0:], m.RequestID)
	binary.BigEndian.PutUint16(b[4:], m.PKey)
	put64(b[8:], m.ServiceID)
	copy(b[16:], m.Private[:])
}

// SIDRUnsupported is the status of a SIDR_REP: there is no such service.
const SIDRUnsupported = 1

// SIDRREP answers a SIDR_REQ (IBTA volume 1, table 120).
type SIDRREP struct {
	RequestID uint32
	Status    uint8
	QPN       uint32 // 24 bits
	ServiceID uint64
	QKey      uint32
}

// Attribute implements Message.
func (SIDRREP) Attribute() Attribute { return AttrSIDRREP }

func parseSIDRREP(b *[bodyLen]byte) SIDRREP {
	return SIDRREP{u32(b[0:]), b[4], u24(b[8:]), u64(b[12:]), u32(b[20:])}
}

func (m SIDRREP) put(b *[bodyLen]byte) {
	put32(b[0:], m.RequestID)
	b[4] = m.Status
	put24(b[8:], m.QPN)
	put64(b[12:], m.ServiceID)
	put32(b[20:], m.QKey)
}
