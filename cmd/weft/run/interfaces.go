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

// Interfaces returns the names that network interfaces have now. A text is a name, or an IP
// address that the interface has: container tools give interfaces addresses of the user's choice,
// and names of their own. It waits until all of them exist, since such tools also make them after
// the process has started. Ports are opened by the texts: the name of an address may change.
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

// unwrapped returns what failed, without the operation and its operands.
func unwrapped(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}
