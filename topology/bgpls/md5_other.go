//go:build !linux

package bgpls

import (
	"context"
	"fmt"
	"net/netip"
	"syscall"
)

func signed(peer netip.Addr, password string) func(context.Context, string, string,
	syscall.RawConn) error {
	return func(_ context.Context, _, _ string, c syscall.RawConn) error {
		return sign(c, peer, password)
	}
}

func sign(syscall.RawConn, netip.Addr, string) error {
	return fmt.Errorf("%w: TCP MD5 is for Linux only", ErrConfig)
}
