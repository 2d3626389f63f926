package run

import (
	"context"
	"os"

	"github.com/weft-sdn/weft/dataplane/live"
)

// hostname returns the name of this machine, "" for a machine without a name.
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
