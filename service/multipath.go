package service

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/southbound/hosts"
)

// startMultipath makes the controller of the MRC fabric and the server of the
// streams to its hosts, if the inventory has MRC.
func (s *Service) startMultipath(ctx context.Context, o Options, publish func(api.Event)) (*hosts.Server, error) {
	m := &o.Inventory.MRC
	if !m.On() {
		return nil, nil
	}
	epoch := uint64(time.Now().UnixNano())
	var err error
	s.Multipath, err = mrc.NewRunner(ctx, mrc.Options{
		Inventory: &o.Inventory, Epoch: epoch, Store: o.Store, Switches: s.Controller, Events: publish,
	})
	if err != nil {
		return nil, err
	}
	cfg := HostsConfig(m)
	cfg.Epoch = epoch
	streams, err := hosts.New(cfg, s.Multipath)
	if err != nil {
		return nil, fmt.Errorf("mrc: %w", err)
	}
	if m.Listen != "" {
		if s.hosts, err = net.Listen("tcp", m.Listen); err != nil {
			return nil, fmt.Errorf("mrc.listen: %w", err)
		}
	}
	return streams, nil
}

// HostsConfig says how the streams to hosts are served, without an epoch.
func HostsConfig(m *inventory.MRC) hosts.Config {
	cfg := hosts.DefaultConfig()
	cfg.CountsInterval = m.Counts.D()
	cfg.TLS = hosts.TLSConfig(m.TLS.Server())
	return cfg
}

// setPorts tells the controller of the MRC fabric what a switch says of its ports.
func (s *Service) setPorts(ctx context.Context, sw string, up map[uint32]bool) {
	if s.Multipath != nil { // it is set before a switch is asked
		s.Multipath.SetPorts(ctx, sw, up)
	}
}
