//go:build linux

package uverbs

import (
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
)

// maxEntries is the most entries of a message (NIC_MAX_ENTRIES).
const maxEntries = 512

// The messages of mrc_ctl about profiles; names are the names of host/libmrc/src/nic.h.
type (
	ctlFormat struct {
		ID                                     uint64
		Mask, State, CurState, Mode, Op, Count uint32
		Width                                  [hostapi.MaxFields]uint8
		Vendor                                 [128]byte
	}

	ctlField struct{ Width, Init, Min, Max, Mask uint32 }

	ctlEntry struct {
		EV, To                     [hostapi.EVBytes]byte
		Port, ToPort, Flags, State uint32
	}

	ctlEVs struct {
		ID, Format                                    uint64
		Mask, State, CurState, Mode, Count, MinActive uint32
		EventMask, Op, First, Entries, Fields, Total  uint32
		Failed, Reserved                              uint32
		Vendor                                        [128]byte
	}

	ctlCC struct {
		ID                                        uint64
		Mask, State, CurState                     uint32
		Algorithm                                 [32]byte
		DisableQA, AdjustBytes, AdjustPeriod      uint32
		BaseRTT                                   uint32
		Eta, Fi, FiScale, Gamma, MaxMDJump        float32
		MaxCwnd, QAGate, QAThreshold, TargetDelay uint32
		Vendor                                    [128]byte
	}

	evEvent struct {
		Profile              uint64
		EV                   [hostapi.EVBytes]byte
		Port, State, Dropped uint32
		Reserved             [3]uint32
	}
)

// Numbers of mrc_ctl.h.
const (
	profileInit    = 0
	profileOffline = 1
	profileOnline  = 2

	// of all three kinds
	maskState    = 1 << 0
	maskCurState = 1 << 1
	maskVendor   = 1 << 31
	maskAll      = maskState | maskCurState | maskVendor

	formatMode   = 1 << 2
	formatFields = 1 << 3

	evsMode      = 1 << 2
	evsFormat    = 1 << 3
	evsCount     = 1 << 4
	evsMinActive = 1 << 5
	evsEventMask = 1 << 6
	evsEntries   = 1 << 7
	evsFields    = 1 << 8

	ccAlgorithm = 1 << 2
	ccConfig    = 1 << 3

	opReplaceEV   = 0
	opModifyState = 1
	opQueryState  = 2
	opQueryArray  = 3

	opModifyFields = 0
	opQueryFields  = 1

	allCopies = 1 << 0

	evGood       = 1 << 0
	evAssumedBad = 1 << 1
	evDenied     = 1 << 2
	evUnknown    = 1 << 31

	modeAuto      = 1 << 0
	modeExplicit  = 1 << 1
	modeGenerated = 1 << 2
)

// modeNumber returns the bit in mrc_ctl.h for an EV mode or a format mode; hostapi numbers modes
// from 1.
func modeNumber[M ~uint8](m M) uint32 { return 1 << (m - 1) }

// modeOf returns the mode of a bit; 0 if the bit belongs to none of the three modes.
func modeOf[M ~uint8](bit uint32) M {
	for m := M(1); m <= 3; m++ {
		if bit == modeNumber(m) {
			return m
		}
	}
	return 0
}

// stateNumber returns the number of an EV state in mrc_ctl.h.
func stateNumber(s hostapi.EVState) uint32 {
	switch s {
	case hostapi.EVGood:
		return evGood
	case hostapi.EVAssumedBad:
		return evAssumedBad
	case hostapi.EVDenied:
		return evDenied
	}
	return evUnknown
}

// nscc is what a request configures.
func (m *ctlCC) nscc() hostapi.NSCC {
	return hostapi.NSCC{DisableQA: m.DisableQA != 0, AdjustBytesThreshold: m.AdjustBytes,
		AdjustPeriodThreshold: time.Duration(m.AdjustPeriod), BaseRTT: time.Duration(m.BaseRTT),
		Eta: m.Eta, FI: m.Fi, FIScale: m.FiScale, Gamma: m.Gamma, MaxMDJump: m.MaxMDJump,
		MaxCwnd: m.MaxCwnd, QAGate: uint8(min(m.QAGate, 255)),
		QAThreshold: time.Duration(m.QAThreshold), TargetDelay: time.Duration(m.TargetDelay)}
}

// put fills in what a profile has.
func (m *ctlCC) put(n *hostapi.NSCC) {
	if n.DisableQA {
		m.DisableQA = 1
	}
	m.AdjustBytes, m.AdjustPeriod = n.AdjustBytesThreshold, uint32(n.AdjustPeriodThreshold)
	m.BaseRTT, m.Eta, m.Fi, m.FiScale, m.Gamma = uint32(n.BaseRTT), n.Eta, n.FI, n.FIScale, n.Gamma
	m.MaxMDJump, m.MaxCwnd, m.QAGate = n.MaxMDJump, n.MaxCwnd, uint32(n.QAGate)
	m.QAThreshold, m.TargetDelay = uint32(n.QAThreshold), uint32(n.TargetDelay)
}
