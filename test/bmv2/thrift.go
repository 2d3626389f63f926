//go:build linux

package bmv2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Thrift's strict binary protocol, as far as one call needs it.
const (
	thriftVersion  = 0x80010000
	thriftCall     = 1
	thriftReply    = 2
	thriftRefusal  = 3
	thriftStop     = 0
	thriftI32      = 8
	thriftMaxReply = 1 << 16
)

// errNoService: the server listens, and does not have the service yet.
var errNoService = errors.New("thrift: the call is refused")

// setQueueDepths makes every egress queue of a simple_switch hold that many packets. P4Runtime has
// no word for it. The error is errNoService while the switch has not added the service.
func setQueueDepths(conn io.ReadWriter, packets int32) error {
	// service and method, as multiplexed servers want it
	const method = "simple_switch:set_all_egress_queue_depths"
	b := binary.BigEndian.AppendUint32(nil, thriftVersion|thriftCall)
	b = binary.BigEndian.AppendUint32(b, uint32(len(method)))
	b = append(b, method...)
	b = binary.BigEndian.AppendUint32(b, 1) // sequence
	b = append(b, thriftI32)
	b = binary.BigEndian.AppendUint16(b, 1) // field id of depth_pkts
	b = binary.BigEndian.AppendUint32(b, uint32(packets))
	b = append(b, thriftStop)
	if _, err := conn.Write(b); err != nil {
		return fmt.Errorf("thrift: %w", err)
	}

	var head [8]byte
	if _, err := io.ReadFull(conn, head[:]); err != nil {
		return fmt.Errorf("thrift reply: %w", err)
	}
	name := binary.BigEndian.Uint32(head[4:])
	kind := binary.BigEndian.Uint32(head[:])
	if kind == thriftVersion|thriftRefusal {
		return errNoService
	}
	if kind != thriftVersion|thriftReply ||
		name > thriftMaxReply {
		return fmt.Errorf("thrift: reply starts with %x, want one to %s", head, method)
	}
	// Name, sequence, and a struct whose field 0 is the i32 result.
	rest := make([]byte, int(name)+4+3+4)
	if _, err := io.ReadFull(conn, rest); err != nil {
		return fmt.Errorf("thrift reply: %w", err)
	}
	result := rest[int(name)+4:]
	if result[0] != thriftI32 || binary.BigEndian.Uint32(result[3:]) != 0 {
		return fmt.Errorf("thrift: %s answered %x", method, result)
	}
	return nil
}
