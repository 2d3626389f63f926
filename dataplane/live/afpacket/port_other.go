//go:build !linux

package afpacket

import (
	"log/slog"
	"net"
)

// Port is a port on an interface; this system has none.
type Port struct{}

// Open fails with ErrUnsupported.
func Open(string, *slog.Logger) (*Port, error) { return nil, ErrUnsupported }

// OpenPolled fails with ErrUnsupported.
func OpenPolled(string, *slog.Logger) (*Port, error) { return nil, ErrUnsupported }

// OpenJoined fails with ErrUnsupported.
func OpenJoined(string, *slog.Logger) (*Port, error) { return nil, ErrUnsupported }

// Poll delivers nothing.
func (p *Port) Poll() bool { return false }

// Descriptor is -1.
func (p *Port) Descriptor() int { return -1 }

// Allowed fails with ErrUnsupported.
func Allowed() error { return ErrUnsupported }

// HardwareAddr is nil.
func (p *Port) HardwareAddr() net.HardwareAddr { return nil }

// MTU is 0.
func (p *Port) MTU() int { return 0 }

// Attach does nothing.
func (p *Port) Attach(func(frames [][]byte), func(up bool)) {}

// Send drops the frames.
func (p *Port) Send([][]byte) (taken, octets int) { return 0, 0 }

// Close does nothing.
func (p *Port) Close() error { return nil }
