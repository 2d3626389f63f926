package nscc

import (
	"fmt"

	"github.com/weft-sdn/weft/packet"
)

// FlowControl is the responder flow control of a queue pair (OCP MRC 1.0, §7.5.1), for
// mrc.QPConfig.Penalty to ask. The zero value is none: penalties are 0.
type FlowControl struct {
	Enabled bool // answer a backlog with penalties; default false
	// The backlog is what was received and not yet taken over by the host, in octets: up to Low
	// there is no penalty, at High and above the greatest, and in between it rises in proportion. 0
	// <= Low < High.
	Low, High int
	Restore   bool // ask the requester to take up its former window when the backlog has gone
}

// Validate reports which field cannot be used; the error wraps ErrConfig. Validate accepts any
// disabled configuration.
func (f FlowControl) Validate() error {
	switch {
	case !f.Enabled:
	case f.Low < 0:
		return fmt.Errorf("flow control: Low %d: want 0 octets or more: %w", f.Low, ErrConfig)
	case f.High <= f.Low:
		return fmt.Errorf("flow control: High %d: want more than Low (%d octets): %w", f.High, f.Low,
			ErrConfig)
	}
	return nil
}

// Penalty is rcv_cwnd_pen for a backlog: 0 to packet.MaxRcvCwndPenalty.
func (f FlowControl) Penalty(backlog int) uint8 {
	switch {
	case !f.Enabled || backlog <= f.Low:
		return 0
	case backlog >= f.High:
		return packet.MaxRcvCwndPenalty
	}
	share := float64(backlog-f.Low) / float64(f.High-f.Low)
	return uint8(1 + share*(packet.MaxRcvCwndPenalty-1))
}
