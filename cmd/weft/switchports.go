package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"time"

	"github.com/weft-sdn/weft/dataplane/live"
)

// hostname is the name of this machine, "" where it has none.
func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// portsUp returns a function that returns the ports that are up.
func portsUp(runner *live.Runner) func(context.Context) (map[uint32]bool, error) {
	return func(ctx context.Context) (map[uint32]bool, error) {
		ports, err := runner.Ports(ctx)
		up := make(map[uint32]bool, len(ports))
		for _, p := range ports {
			up[p.Port] = p.Up
		}
		return up, err
	}
}

// interfacePoll is the time between two looks for an interface that is not there.
const interfacePoll = 50 * time.Millisecond

// awaitInterfaces waits until interfaces exist, which container tools make after the
// process has started.
func awaitInterfaces(ctx context.Context, names map[uint32]string, patience time.Duration) error {
	if patience == 0 {
		return nil // opening them reports what is missing
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	ticker := time.NewTicker(interfacePoll)
	defer ticker.Stop()
	for _, port := range slices.Sorted(maps.Keys(names)) {
		for {
			if _, err := net.InterfaceByName(names[port]); err == nil {
				break
			}
			select {
			case <-ticker.C:
			case <-ctx.Done():
				if errors.Is(context.Cause(ctx), errPatience) {
					return fmt.Errorf("--wait-interfaces: %s is not there after %v", names[port], patience)
				}
				return ctx.Err()
			}
		}
	}
	return nil
}

var errPatience = errors.New("patience is over")
