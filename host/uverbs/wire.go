//go:build linux

package uverbs

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

// version of the messages.
const version = 2

// maxMessage is the octets of a request or an answer.
const maxMessage = 65536

// operation of a request.
type operation uint32

const (
	opHello operation = iota + 1
	opQueryPort
	opAllocPD
	opDeallocPD
	opRegMR
	opDeregMR
	opCreateChannel
	opDestroyChannel
	opCreateCQ
	opDestroyCQ
	opCreateQP
	opModifyQP
	opQueryQP
	opDestroyQP
	opCreateHint
	opModifyHint
	opQueryHint
	opDestroyHint
)

// The messages have the layout of the structs of the same names in host/libmrc/src/nic.h: the
// structs declare all padding explicitly.
type (
	request struct {
		Op  operation
		Seq uint32
	}
	answer struct {
		Seq   uint32
		Error int32
	}
	object struct{ Handle uint64 }

	hello struct {
		Version, APIVersion uint32
		Probe, Value        uint64
	}

	device struct {
		Version, Ports                                                 uint32
		Name                                                           [64]byte
		GUID                                                           [8]byte
		GID                                                            [16]byte
		MaxQP, MaxQPWR, MaxSGE, MaxInline, MaxCQ, MaxCQE, MaxMR, MaxPD uint32
		MaxHint, MaxWIMM, MaxWIMMDest, MaxMPR, MPRResolution, Cap      uint32
		Reserved                                                       [2]uint32
		MaxMRSize, MaxMessage                                          uint64
	}

	port struct{ State, MaxMTU, ActiveMTU, Speed uint32 }

	memoryRegion struct {
		Handle, PD, Addr, Length, IOVA uint64
		Access, LKey, RKey, Reserved   uint32
	}

	cqRequest struct {
		Handle, Channel uint64
		Depth, Kind     uint32
	}

	qpRequest struct {
		Handle, PD, SendCQ, RecvCQ                                      uint64
		MaxSendWR, MaxRecvWR, MaxSendSGE, MaxRecvSGE, MaxInline, SigAll uint32
		Protocol, QPN, Slot, Reserved                                   uint32
		SendOps                                                         uint64
	}

	qpAttr struct {
		Handle                                                              uint64
		Mask, MRCMask                                                       uint32
		State, CurState, PathMTU, QKey, RQPSN, SQPSN, DestQPN, Access, PKey uint32
		Port, SQDNotify                                                     uint32
		IsGlobal, SGID, TrafficClass, FlowLabel, HopLimit, SL               uint32
		DGID                                                                [16]byte
		MPR, MPRDest, MaxWIMM, MaxWIMMDest, Timeout, Linear, Exponential    uint32
		Cap, Reserved                                                       uint32
		EVProfile, CCProfile, Hint                                          uint64
		Vendor                                                              [128]byte
	}

	hint struct {
		Handle                                    uint64
		Mask                                      uint32
		QPsPerPeer, SendPeers, RemoteReceivePeers int32
		Vendor                                    [128]byte
	}

	asyncEvent struct {
		Type, Port uint32
		Handle     uint64
	}

	sge struct {
		Addr         uint64
		Length, LKey uint32
	}
)

// entryHead is the octets of a queue's entry before its list.
const entryHead = 64

// decode reads a message that ends where b does.
func decode(b []byte, into any) error {
	n, err := binary.Decode(b, binary.NativeEndian, into)
	if err != nil || n != len(b) {
		return fmt.Errorf("%d octets for a message of %d: %w", len(b), binary.Size(into), unix.EINVAL)
	}
	return nil
}

// encode appends messages.
func encode(to []byte, messages ...any) []byte {
	for _, m := range messages {
		to, _ = binary.Append(to, binary.NativeEndian, m) // all have a fixed size
	}
	return to
}
