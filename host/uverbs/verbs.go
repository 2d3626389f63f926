//go:build linux

package uverbs

import "github.com/weft-sdn/weft/host/verbs"

// Numbers of infiniband/verbs.h and mrc.h, as far as they go over the socket or stand in a ring.
const (
	statusSuccess         = 0
	statusLocalLength     = 1
	statusLocalQPOp       = 2
	statusLocalProtection = 4
	statusFlushed         = 5
	statusRemoteInvalid   = 9
	statusRemoteAccess    = 10
	statusRemoteOp        = 11
	statusRetryExceeded   = 12
	statusRNRExceeded     = 13
	statusGeneral         = 21

	wcRDMAWrite       = 1
	wcReceiveWriteImm = 128 | 1
	wcWithImmediate   = 1 << 1

	wrRDMAWrite          = 0
	wrRDMAWriteImmediate = 1

	sendSignaled  = 1 << 1
	sendSolicited = 1 << 2
	sendInline    = 1 << 3

	accessLocalWrite  = 1 << 0
	accessRemoteWrite = 1 << 1

	stateReset = 0
	stateInit  = 1
	stateRTR   = 2
	stateRTS   = 3
	stateError = 6

	attrState     = 1 << 0
	attrCurState  = 1 << 1
	attrSQDNotify = 1 << 2
	attrAccess    = 1 << 3
	attrPKey      = 1 << 4
	attrPort      = 1 << 5
	attrQKey      = 1 << 6
	attrAV        = 1 << 7
	attrPathMTU   = 1 << 8
	attrRQPSN     = 1 << 12
	attrSQPSN     = 1 << 16
	attrDestQPN   = 1 << 20

	mrcMaxWIMM     = 1 << 0
	mrcMaxWIMMDest = 1 << 1
	mrcMPR         = 1 << 2
	mrcMPRDest     = 1 << 3
	mrcTimeout     = 1 << 4
	mrcEVProfile   = 1 << 5
	mrcCCProfile   = 1 << 6
	mrcHint        = 1 << 7
	mrcRetry       = 1 << 8
	mrcCap         = 1 << 9
	mrcVendor      = 1 << 31

	capTrimNACK    = 1 << 0
	capDynamicMPR  = 1 << 1
	capServiceTime = 1 << 2

	qpCapNoTrimNACKDest    = 1 << 0
	qpCapDynamicMPR        = 1 << 1
	qpCapNoServiceTimeDest = 1 << 2

	eventCQError    = 0
	eventQPFatal    = 1
	eventQPRequest  = 2
	eventQPAccess   = 3
	eventPortActive = 9
	eventPortError  = 10

	mtu4096 = 5

	portDown   = 1
	portActive = 4
)

// statusOf is the status of a work completion.
func statusOf(s verbs.Status) uint32 {
	switch s {
	case verbs.StatusOK:
		return statusSuccess
	case verbs.StatusRetryExceeded:
		return statusRetryExceeded
	case verbs.StatusRNRRetryExceeded:
		return statusRNRExceeded
	case verbs.StatusRemoteInvalidRequest:
		return statusRemoteInvalid
	case verbs.StatusRemoteAccess:
		return statusRemoteAccess
	case verbs.StatusRemoteOperational:
		return statusRemoteOp
	case verbs.StatusLocalLength:
		return statusLocalLength
	case verbs.StatusLocalProtection:
		return statusLocalProtection
	case verbs.StatusFlushed:
		return statusFlushed
	}
	return statusGeneral
}

// mtuOf is the octets of an enum ibv_mtu; 0 when there is none.
func mtuOf(mtu uint32) int {
	if mtu < 1 || mtu > 5 {
		return 0
	}
	return 128 << mtu
}

// mtuFor returns the enum ibv_mtu of the greatest path MTU within payload octets; 1 if no path MTU
// fits.
func mtuFor(payload int) uint32 {
	mtu := uint32(mtu4096)
	for mtu > 1 && mtuOf(mtu) > payload {
		mtu--
	}
	return mtu
}
