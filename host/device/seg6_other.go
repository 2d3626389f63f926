//go:build !linux

package device

import (
	"errors"

	"github.com/weft-sdn/weft/api/hostapi"
)

// Seg6 is for Linux alone.
type Seg6 struct{}

var errNoSeg6 = errors.New("the back end seg6 is for Linux alone")

// NewSeg6 fails.
func NewSeg6([]Hop) (*Seg6, error) { return nil, errNoSeg6 }

// Ports implements Backend.
func (*Seg6) Ports() hostapi.PortMask { return 0 }

// Apply implements Backend.
func (*Seg6) Apply([]Path) error { return errNoSeg6 }

// Close does nothing.
func (*Seg6) Close() error { return nil }
