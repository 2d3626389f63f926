package verbs

import (
	"fmt"
	"io"
	"time"
)

// Op is the operation of a work request.
type Op uint8

// Operations.
const (
	OpWrite Op = iota + 1
	OpWriteImmediate
	OpSend
	OpSendImmediate
)

var opNames = [...]string{OpWrite: "WRITE", OpWriteImmediate: "WRITE with Immediate",
	OpSend: "SEND", OpSendImmediate: "SEND with Immediate"}

// String names the operation.
func (o Op) String() string {
	if o >= OpWrite && int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("operation %d", uint8(o))
}

// Immediate reports whether the operation carries immediate data.
func (o Op) Immediate() bool { return o == OpWriteImmediate || o == OpSendImmediate }

// Write reports whether the operation is an RDMA WRITE, with immediate data or without.
func (o Op) Write() bool { return o == OpWrite || o == OpWriteImmediate }

// WorkRequest is a message to send.
type WorkRequest struct {
	ID   uint64 // returned in the completion
	Op   Op
	Data []byte // must not change until the completion; may be empty
	// From, if not nil, provides the message in place of Data: Length octets. The queue pair reads the
	// octets for each packet sent, and again for a retransmission. A read error ends the request with
	// StatusLocalProtection. Only MRC supports From.
	From      io.ReaderAt
	Length    int
	RemoteVA  uint64 // WRITE only: where the first octet goes
	RKey      uint32 // WRITE only
	Immediate uint32 // operations with immediate data only
	Solicited bool   // sets the solicited event bit on the last packet
}

// Octets is the length of the message.
func (w *WorkRequest) Octets() int {
	if w.From != nil {
		return w.Length
	}
	return len(w.Data)
}

// RecvRequest is a buffer for one SEND, or the ticket for one WRITE with Immediate (which leaves
// Buf alone).
type RecvRequest struct {
	ID  uint64
	Buf []byte
	// Region, if not nil, is the registered region Buf lies in: when it has been withdrawn before a
	// SEND arrives, the responder answers NAK Remote Operational Error.
	Region *Region
}

// Status is how a request ended.
type Status uint8

// Statuses. All but StatusOK come with the queue pair's move to the error state.
const (
	StatusOK Status = iota
	StatusRetryExceeded
	StatusRNRRetryExceeded
	StatusRemoteInvalidRequest // requester: the peer refused the request as invalid
	StatusRemoteAccess         // requester: the peer refused R_Key, range or access right
	StatusRemoteOperational    // requester: the peer could not complete the request
	StatusLocalLength          // responder: a SEND longer than the buffer
	StatusLocalProtection      // the buffer's region is gone, or memory cannot be read
	// responder: the peer's request was invalid half way through a message
	StatusRemoteInvalidRequestIn
	StatusFlushed // not executed: the queue pair failed before
)

var statusNames = [...]string{
	"ok", "retry count exceeded", "RNR retry count exceeded", "remote invalid request",
	"remote access error", "remote operational error",
	"local length error", "local protection error", "invalid request received", "flushed",
}

// String describes the status.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return fmt.Sprintf("status %d", uint8(s))
}

// Completion is the end of a work request or a receive request. Each request completes once.
// Requests of a queue complete in the order in which they were posted.
type Completion struct {
	At   time.Duration
	ID   uint64
	Recv bool // of a receive request
	// what was sent, or what used the receive request; 0 for a flushed receive request
	Op           Op
	Status       Status
	Octets       int // payload of the message
	Immediate    uint32
	HasImmediate bool
	Solicited    bool
}
