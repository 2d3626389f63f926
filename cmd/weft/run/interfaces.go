package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// interfacePoll is the time between two looks for an interface that does not exist.
const interfacePoll = 50 * time.Millisecond

// Interfaces returns the present names of network interfaces. A text is a name, or an IP address of
// the interface: container tools give interfaces addresses of the user's choice, and names of their
// own. Interfaces waits until all interfaces exist, because such tools may also create them after
// the start of the process. Ports are opened by the texts, because the name of an interface with an
// address may change.
func Interfaces(ctx context.Context, patience time.Duration, texts ...string) ([]string,
	error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	ticker := time.NewTicker(interfacePoll)
	defer ticker.Stop()
	names := make([]string, len(texts))
	for i, text := range texts {
		for {
			name, err := findInterface(text)
			if err == nil {
				names[i] = name
				break
			}
			if patience == 0 && isAddress(text) {
				return nil, err
			} else if patience == 0 {
				names[i] = text // opening it reports what is wrong
				break
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				if errors.Is(context.Cause(ctx), errPatience) {
					return nil, fmt.Errorf("--wait-interfaces: after %v: %w", patience, err)
				}
				return nil, ctx.Err()
			}
		}
	}
	return names, nil
}

var errPatience = errors.New("patience is over")

func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// findInterface returns the name of the interface with a name or an address.
func findInterface(text string) (string, error) {
	address, err := netip.ParseAddr(text)
	if err != nil {
		if _, err := net.InterfaceByName(text); err != nil {
			return "", fmt.Errorf("interface %s: %w", text, unwrapped(err))
		}
		return text, nil
	}
	all, err := net.Interfaces()
	if err != nil {
		return "", err
	}
	for _, i := range all {
		addresses, err := i.Addrs()
		if err != nil {
			continue // it has gone
		}
		for _, a := range addresses {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == address {
				return i.Name, nil
			}
		}
	}
	return "", fmt.Errorf("interface %s: no interface has this address", text)
}

// unshared returns an error if the kernel takes part on an interface that is there: on a loopback
// interface, or on one with addresses, those of the link alone excepted.
func unshared(name string) error {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil // opening it reports what is wrong
	}
	if i.Flags&net.FlagLoopback != 0 {
		return fmt.Errorf("interface %s is the loopback interface: want a veth, or one of a NIC", name)
	}
	addresses, err := i.Addrs()
	if err != nil {
		return nil
	}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil && !p.Addr().IsLinkLocalUnicast() {
			return fmt.Errorf("interface %s has the address %v, at which the kernel answers too: remove it "+
				"(ip address flush dev %s), or give the address in place of the name if it has to stay", name,
				p, name)
		}
	}
	return nil
}

// unwrapped returns what failed, without the operation and its operands.
func unwrapped(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
