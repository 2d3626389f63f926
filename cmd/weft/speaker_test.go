package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"syscall"

	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/topology/bgpls"
)

// speaker is a command of the scripts: it advertises the only switch of a lab
// network, from 127.0.0.1:1790 to whoever connects from 127.0.0.1, until SIGTERM.
//
//	speaker NETWORK.yaml
func speaker() {
	if err := speak(); err != nil {
		fmt.Fprintln(os.Stderr, "speaker:", err)
		os.Exit(1)
	}
}

func speak() error {
	network, err := lab.Load(os.Args[1])
	if err != nil {
		return err
	}
	world, err := lab.NewWorld(network, lab.Options{})
	if err != nil {
		return err
	}
	sw := world.Network.Switches[0]
	objects, err := world.Advertise(sw.Name)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	loopback := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	s, err := bgpls.Start(ctx, bgpls.Config{ASN: sw.ASN, RouterID: sw.RouterID, Listen: netip.AddrPortFrom(loopback, 1790)})
	if err != nil {
		return err
	}
	if err := s.AddPeer(ctx, bgpls.Peer{Address: loopback, ASN: sw.ASN, Passive: true}); err != nil {
		return err
	}
	if err := s.Originate(&objects); err != nil {
		return err
	}
	<-ctx.Done()
	return s.Close()
}
