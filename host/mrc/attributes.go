package mrc

import (
	"fmt"

	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// Limits of the attributes.
const (
	// MaxMPR is the greatest max_psn_range in packet.MPRUnit that a SACK can say.
	MaxMPR = 255
	// MaxWIMM is the greatest number of WRITEs with Immediate in flight a responder here keeps
	// immediate data for.
	MaxWIMM = 4096
)

// Attributes holds the properties of one end of a connection, for the other end to learn out of
// band (OCP MRC 1.0, table 10-1). Attributes describe the responder of their end.
type Attributes struct {
	MaxWIMM    int  // MRC_QP_MAX_WIMM_DEST: WRITEs with Immediate in flight, 0 to MaxWIMM
	MaxMPR     int  // MRC_QP_MAX_MPR_DEST: max_psn_range in packet.MPRUnit (128 packets), 1 to MaxMPR
	DynamicMPR bool // MRC_QP_DYNAMIC_MPR: off in both directions unless both ends have it
	TrimNACK   bool // MRC_DEVICE_CAP_TRIM_NACK: answers trimmed packets with NACKs
	// MRC_DEVICE_CAP_SVC_TIME: reports its service time, or takes it off the timestamps it reflects
	ServiceTime bool
}

// DefaultAttributes are the attributes of this implementation: 32 WRITEs with Immediate, 8 x 128
// packets (OCP MRC 1.0, §11.1), all that is optional.
func DefaultAttributes() Attributes {
	return Attributes{MaxWIMM: 32, MaxMPR: 8, DynamicMPR: true, TrimNACK: true, ServiceTime: true}
}

// Validate reports which attribute cannot be used; the error wraps verbs.ErrConfig.
func (a Attributes) Validate() error {
	if a.MaxWIMM < 0 || a.MaxWIMM > MaxWIMM {
		return fmt.Errorf("MaxWIMM (MRC_QP_MAX_WIMM_DEST) %d: want 0..%d: %w", a.MaxWIMM, MaxWIMM,
			verbs.ErrConfig)
	}
	if a.MaxMPR < 1 || a.MaxMPR > MaxMPR {
		return fmt.Errorf("MaxMPR (MRC_QP_MAX_MPR_DEST) %d: want 1..%d, in units of %d packets: %w",
			a.MaxMPR, MaxMPR, packet.MPRUnit, verbs.ErrConfig)
	}
	return nil
}
