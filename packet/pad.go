package packet

import "fmt"

// padCount is the octets that make a payload a multiple of 4.
func padCount(payload []byte) uint8 { return uint8(-len(payload) & 3) }

// cutPad takes the padding off the end of a payload.
func cutPad(b []byte, pad uint8) ([]byte, error) {
	end := len(b) - int(pad)
	if end < 0 {
		return nil, fmt.Errorf("BTH: Pad Count %d, want at most the %d octets of payload: %w", pad,
			len(b), ErrMalformed)
	}
	return b[:end:end], nil
}
