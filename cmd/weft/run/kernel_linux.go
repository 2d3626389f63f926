package run

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/weft-sdn/weft/dataplane/kernel"
	"github.com/weft-sdn/weft/dataplane/p4rt"
)

// RunKernel runs the agent of this machine's kernel in the place of an embedded switch, until ctx
// ends: the kernel forwards between the interfaces, and the server has the paths of a SONiC switch.
func (s *Switch) RunKernel(ctx context.Context) error {
	listener, err := net.Listen("tcp", s.Address)
	if err != nil {
		return fmt.Errorf("gNMI server: %w", err)
	}
	names, err := s.findPorts(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	agent, err := kernel.Open(kernel.Config{Ports: names, Hostname: hostname(), Saved: s.ConfigDB,
		Log: s.Log})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer agent.Close()
	server := p4rt.NewServer(s.Server) // without a device: it bounds what clients take
	agent.Register(server)
	s.Log.Info("the kernel is a switch", "gnmi", listener.Addr().String(), "ports", len(names), "tls",
		s.secured())
	return s.serve(ctx, server, listener, agent.Changed(), agent.PortsUp,
		func(grace context.Context) error {
			agent.Hush()
			server.Close(grace)
			return nil
		})
}
