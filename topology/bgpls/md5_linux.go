package bgpls

import (
	"context"
	"fmt"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"
)

// signed returns a function that makes a socket sign and check segments to and
// from an address (RFC 2385).
func signed(peer netip.Addr, password string) func(context.Context, string, string,
	syscall.RawConn) error {
	return func(_ context.Context, _, _ string, c syscall.RawConn) error {
		return sign(c, peer, password)
	}
}

// sign sets the password of an address on a socket; an empty one removes it.
func sign(c syscall.RawConn, peer netip.Addr, password string) error {
	signature := unix.TCPMD5Sig{}
	if len(password) > len(signature.Key) {
		return fmt.Errorf("%w: password of %d octets", ErrConfig, len(password))
	}
	signature.Keylen = uint16(copy(signature.Key[:], password))
	if peer.Is4() {
		signature.Addr.Family = unix.AF_INET
		copy(signature.Addr.Data[2:], peer.AsSlice()) // after the port
	} else {
		signature.Addr.Family = unix.AF_INET6
		copy(signature.Addr.Data[6:], peer.AsSlice()) // after the port and the flow label
	}
	var err error
	if controlErr := c.Control(func(fd uintptr) {
		err = unix.SetsockoptTCPMD5Sig(int(fd), unix.IPPROTO_TCP, unix.TCP_MD5SIG, &signature)
	}); controlErr != nil {
		return controlErr
	}
	if err != nil {
		return fmt.Errorf("bgpls: TCP MD5 of %s: %w", peer, err)
	}
	return nil
}
