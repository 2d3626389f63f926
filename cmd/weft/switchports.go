package main

import (
	"context"

	"github.com/weft-sdn/weft/dataplane/gnmi"
	"github.com/weft-sdn/weft/dataplane/live"
)

// shownPorts are the ports of the switch as its gNMI server shows them: by the
// names of their interfaces.
type shownPorts struct {
	runner *live.Runner
	names  map[uint32]string
}

// Ports implements gnmi.Source.
func (s *shownPorts) Ports(ctx context.Context) ([]gnmi.Port, error) {
	ports, err := s.runner.Ports(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]gnmi.Port, len(ports))
	for i, p := range ports {
		out[i] = gnmi.Port{Name: s.names[p.Port], Number: p.Port, Up: p.Up, Counters: &gnmi.Counters{
			InPackets: p.Received, InOctets: p.RxOctets, InDiscards: p.RxDropped + p.RxLost.Overrun, InErrors: p.RxLost.Oversize,
			OutPackets: p.Sent, OutOctets: p.SentOctets, OutDiscards: p.TxDropped,
		}}
	}
	return out, nil
}
