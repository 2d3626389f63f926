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
	agent, err := kernel.Open(kernel.Config{Ports: names, Hostname: hostname(), Log: s.Log})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer agent.Close()
	server := p4rt.NewServer(s.Server) // without a device: it bounds what clients take
	agent.Register(server)
	s.Log.Info("the kernel is a switch", "gnmi", listener.Addr().String(), "ports", len(names), "tls",
		s.secured())
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	saying, hush := context.WithCancel(ctx)
	said := make(chan error, 1)
	if s.Advertise != nil {
		go func() { said <- s.Advertise.run(saying, agent.Changed(), agent.PortsUp) }()
	} else {
		context.AfterFunc(saying, func() { said <- nil })
	}
	select {
	case end := <-served:
		served <- end
	case err = <-said:
		said <- nil
	case <-ctx.Done():
	}
	hush()
	err = errors.Join(err, <-said)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), StopGrace)
	defer cancel()
	agent.Hush()
	server.Close(grace)
	return errors.Join(err, <-served)
}

// KernelLacks returns what this machine's kernel lacks to be a switch.
func KernelLacks() ([]string, error) { return kernel.Lacks() }
