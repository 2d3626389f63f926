//go:build !linux

package kernels

import "errors"

// Switch is a kernel that is a switch.
type Switch struct{}

// Open returns an error: this system has no network namespaces.
func Open(Config) (*Switch, error) { return nil, errors.ErrUnsupported }

// Address returns nothing.
func (*Switch) Address() string { return "" }

// Send does nothing.
func (*Switch) Send(uint32, []byte) {}

// SetCarrier does nothing.
func (*Switch) SetCarrier(uint32, bool) error { return errors.ErrUnsupported }

// Do does nothing.
func (*Switch) Do(func() error) error { return errors.ErrUnsupported }

// Close does nothing.
func (*Switch) Close() error { return nil }
