package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/service"
	"github.com/weft-sdn/weft/southbound"
)

// controllerCommand is the flags of "weft controller".
type controllerCommand struct {
	env      environment
	log      logging
	config   string
	check    bool
	listen   string
	tokens   string
	election uint64
}

func newController(env environment) *cobra.Command {
	k := &controllerCommand{env: env}
	c := &cobra.Command{
		Use: "controller --config FILE", Short: "Run the controller",
		Long: `Runs the controller until it is interrupted: it learns the network from its BGP-LS
peers, programs the switches of its inventory over P4Runtime, and serves the REST API.
Switches and peers may be anyone's; the switches have to take the fabric program
(v1model, BMv2 JSON). docs/config.md describes the file.

Intents are kept in memory: after a restart the controller has to be told them again
(weft apply).`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return k.run(cmd.Context()) },
	}
	f := c.Flags()
	f.StringVar(&k.config, "config", "", "YAML file with the inventory, the BGP-LS peers and the listeners")
	f.BoolVar(&k.check, "check", false, "check the file, and the files it names, and end")
	f.StringVar(&k.listen, "listen", "", "address:port of the API (default that of the file)")
	f.StringVar(&k.tokens, "token-file", "", "file of bearer tokens, one a line, of which clients of the API must have one (default none)")
	f.Uint64Var(&k.election, "election-id", 0, "P4Runtime election id, the highest of which writes (default the time of the start)")
	k.log.register(c, "info")
	return c
}

func (k *controllerCommand) run(ctx context.Context) error {
	log, err := k.log.open(k.env.stderr)
	if err != nil {
		return err
	}
	inv, err := k.inventory()
	if err != nil {
		return &usageError{err}
	}
	api := northbound.DefaultConfig()
	api.Version, api.TokenFile = buildVersion(), k.tokens
	if err := checkFiles(inv, api); err != nil {
		return &usageError{err}
	}
	if k.check {
		_, err := fmt.Fprintf(k.env.stdout, "%s: %d switches, %d hosts, %d BGP-LS peers, API on %s\n",
			k.config, len(inv.Switches), len(inv.Hosts), len(inv.BGP.Peers), inv.API.Listen)
		return err
	}
	service.TuneMemory()
	s, err := service.Start(ctx, service.Options{Inventory: *inv, Log: log, API: api, Election: southbound.ElectionID{Low: k.election}})
	if err != nil {
		return err
	}
	log.Info("controller is up", "version", api.Version, "api", s.Addr().String(), "switches", len(inv.Switches), "bgpPeers", len(inv.BGP.Peers))
	<-s.Done()
	err = s.Close()
	log.Info("controller has ended")
	return err
}

// inventory reads the file. Errors begin with its name and, where the text is at
// fault, the line.
func (k *controllerCommand) inventory() (*inventory.Inventory, error) {
	if k.config == "" {
		return nil, errors.New("controller: --config is missing")
	}
	text, err := os.ReadFile(k.config)
	if err != nil {
		return nil, err
	}
	inv, err := inventory.Load(text)
	var faults inventory.Faults
	switch {
	case errors.As(err, &faults):
		var lines []error
		for _, f := range faults {
			if f.Line > 0 {
				lines = append(lines, fmt.Errorf("%s:%d: %s: %s", k.config, f.Line, f.Field, f.Message))
			} else {
				lines = append(lines, fmt.Errorf("%s: %s: %s", k.config, f.Field, f.Message))
			}
		}
		return nil, errors.Join(lines...)
	case err != nil:
		return nil, fmt.Errorf("%s: %s", k.config, strings.TrimPrefix(err.Error(), "inventory: "))
	}
	if inv.BGP.Listen == "" && len(inv.BGP.Peers) == 0 {
		return nil, fmt.Errorf("%s: bgp: has neither peers nor listen: the controller would learn no network", k.config)
	}
	if k.listen != "" {
		inv.API.Listen = k.listen
		if err := inv.Validate(); err != nil {
			return nil, fmt.Errorf("--listen %s: %w", k.listen, err)
		}
	}
	return inv, nil
}

// checkFiles reads the files that an inventory and the API's configuration name.
func checkFiles(inv *inventory.Inventory, api northbound.Config) error {
	api.TLS = inv.API.TLS.Server()
	if err := api.Validate(); err != nil {
		return fmt.Errorf("api: %w", err)
	}
	if inv.MRC.On() {
		c := service.HostsConfig(&inv.MRC)
		c.Epoch = 1
		if err := c.Validate(); err != nil {
			return fmt.Errorf("mrc.tls: %w", err)
		}
	}
	for i := range inv.Switches {
		sw := &inv.Switches[i]
		if !sw.Managed() || sw.TLS == nil {
			continue
		}
		if err := controller.SessionConfig(sw, southbound.ElectionID{Low: 1}).Validate(); err != nil {
			return fmt.Errorf("switch %s: %w", sw.Name, err)
		}
	}
	return nil
}
