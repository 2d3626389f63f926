//go:build !linux

package afpacket

import "net"

// Port is a port on an interface; this system has none.
type Port struct{}

// Stats counts the frames of a port since it was opened.
type Stats struct {
	Received, RxDropped, RxCut, Sent, TxDropped uint64
}

// Open fails with ErrUnsupported.
func Open(string) (*Port, error) { return nil, ErrUnsupported }

// HardwareAddr is the interface's Ethernet address.
func (p *Port) HardwareAddr() net.HardwareAddr { return nil }

// MTU is 0.
func (p *Port) MTU() int { return 0 }

// Attach says where to deliver frames.
func (p *Port) Attach(func(frame []byte)) {}

// Send reports false.
func (p *Port) Send([]byte) bool { return false }

// Stats is zero.
func (p *Port) Stats() Stats { return Stats{} }

// Close does nothing.
func (p *Port) Close() error { return nil }
