package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/host/mrchost"
)

// nicCommand is the flags of "weft nic".
type nicCommand struct {
	env     environment
	log     logging
	config  string
	name    string
	address string
	wires   wiring
	apps    mrchost.Applications
	wait    time.Duration // for interfaces that do not exist yet
	nicFlags
}

func newNIC(env environment) *cobra.Command {
	n := &nicCommand{env: env}
	c := &cobra.Command{
		Use: "nic", Short: "Run the MRC NIC for this machine's programs",
		Long: `Is an MRC NIC in software for programs that use libmrc (OCP MRC 1.0, chapter 10): any
number of processes, each linked with lib_mrc.so and, on a machine without RDMA devices,
libibverbs.so.1 of Weft (make libmrc). It has one interface a plane, as "weft host" of MRC has,
and gets its entropy values from a controller or draws its own. It runs until it is told to end,
and prints a report as a JSON document then.

  weft nic -i eth0,eth1 --address 2001:db8:1:1::1

It needs no root: a program hands its memory over by a descriptor of its own. The interfaces need
CAP_NET_RAW, and the kernel must not have the address. See docs/libmrc.md.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return n.run(cmd) },
	}
	f := c.Flags()
	f.StringVar(&n.config, "config", "", "YAML file, instead of the flags below, with more settings")
	f.StringVarP(&n.wires.interfaces, "interface", "i", "",
		"network interface of each port, given by its name or an IP address of it, with commas")
	f.StringVar(&n.wires.gateways, "gateway", "",
		"Ethernet address of the switch behind each port, with commas (default: that of the router "+
			"that advertises itself)")
	f.StringVar(&n.wires.macs, "mac", "", "Ethernet address of each port (default the interface's)")
	f.Uint64Var(&n.wires.lineRate, "line-rate", 0,
		"bits per second that a port sends at most; 0: 10 Gb/s")
	f.StringVar(&n.name, "name", "", "name for the controller (default the first interface's)")
	f.StringVar(&n.address, "address", "", "IPv6 address of the NIC, which all ports share")
	f.StringVar(&n.apps.Socket, "socket", mrchost.DefaultSocket, "Unix socket for programs")
	f.StringVar(&n.apps.Group, "group", "",
		"group that may connect to it beside the NIC's user and root")
	f.StringVar(&n.apps.ControlGroup, "control-group", "",
		"group that may connect to the socket with .control behind its name, for mrc_ctl")
	f.StringVar(&n.apps.Device, "device", mrchost.DefaultDevice, "name of the RDMA device")
	f.StringVar(&n.apps.State, "state", "",
		"file that keeps what programs configure by mrc_ctl, for the next start")
	f.BoolVar(&n.apps.LocalControl, "local-control", false,
		"let programs change by mrc_ctl what a controller has configured")
	f.DurationVar(&n.wait, "wait-interfaces", 0, "wait this long for interfaces that do not exist yet")
	n.nicFlags.register(f)
	n.log.register(c, "info")
	return c
}

func (n *nicCommand) run(cmd *cobra.Command) error {
	log, err := n.log.open(n.env.stderr)
	if err != nil {
		return err
	}
	cfg, err := n.configuration(cmd)
	if err != nil {
		return &usageError{err}
	}
	h := station{env: n.env, wait: n.wait}
	return h.carryOutMRC(cmd, cfg, log)
}

// configuration returns the configuration from the file or from the flags.
func (n *nicCommand) configuration(cmd *cobra.Command) (*mrchost.Config, error) {
	text, err := configFile(cmd, n.config)
	if err != nil {
		return nil, err
	}
	if text != nil {
		cfg, err := mrchost.Load(n.config, text)
		if err == nil && cfg.Applications == nil {
			err = fmt.Errorf("%s: applications: is missing: want the socket for programs", n.config)
		}
		return cfg, err
	}
	cfg := mrchost.Default()
	cfg.Name, cfg.Applications = n.name, &n.apps
	err = errors.Join(read("address", n.address, &cfg.Address), n.nicFlags.over(&cfg))
	if err == nil {
		cfg.Ports, err = n.wires.ports()
	}
	if err == nil {
		err = cfg.Complete()
	}
	if err != nil {
		return nil, fmt.Errorf("nic: %w", err)
	}
	return &cfg, nil
}
