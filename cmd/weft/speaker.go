package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/cmd/weft/run"
	"github.com/weft-sdn/weft/topology/bgpls"
	"github.com/weft-sdn/weft/topology/static"
)

// speakerCommand is the flags of "weft speaker".
type speakerCommand struct {
	env      environment
	log      logging
	bgp      bgpFlags
	topology string
	nodes    []string
	router   string
}

func newSpeaker(env environment) *cobra.Command {
	s := &speakerCommand{env: env}
	c := &cobra.Command{
		Use:   "speaker --topology FILE --bgp-peer ADDRESS",
		Short: "Advertise switches by BGP-LS that cannot do so themselves",
		Long: `Advertises the nodes of a file by BGP-LS until it is interrupted: their loopback
addresses, locators, SRv6 SIDs, links and prefixes. It is for switches without a BGP-LS
speaker, such as BMv2 and Stratum. The process reads the file again on SIGHUP, and
advertises what has changed; a file with errors changes nothing.

The speaker does not know the state of links: it advertises those of the file. Where
switches have gNMI, the controller takes links out of use whose ports are down.
docs/config.md (Topology) describes the file.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return s.run(cmd.Context()) },
	}
	f := c.Flags()
	f.StringVar(&s.topology, "topology", "", "YAML file of nodes and links")
	f.StringArrayVar(&s.nodes, "node", nil,
		"name of a node to advertise; may be repeated (default all)")
	f.StringVar(&s.router, "router-id", "",
		"BGP identifier of the speaker (default the router-id of its first node)")
	s.bgp.register(f)
	s.log.register(c, "info")
	return c
}

// objects reads the file and returns what its nodes advertise.
func (s *speakerCommand) objects() ([]*bgpls.Objects, error) {
	if s.topology == "" {
		return nil, errors.New("speaker: --topology is missing")
	}
	t, err := static.Load(s.topology)
	if err != nil {
		return nil, err
	}
	names := t.Names()
	for _, name := range s.nodes {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("--node is %q: want one of %s", name, strings.Join(names, ", "))
		}
	}
	if len(s.nodes) > 0 {
		names = s.nodes
	}
	all := make([]*bgpls.Objects, len(names))
	for i, name := range names {
		said, _ := t.Of(name, nil) // it is there
		objects := bgpls.Objects(said)
		all[i] = &objects
	}
	return all, nil
}

func (s *speakerCommand) run(ctx context.Context) error {
	log, err := s.log.open(s.env.stderr)
	if err != nil {
		return err
	}
	all, err := s.objects()
	if err != nil {
		return &usageError{err}
	}
	router := all[0].Node.RouterID4
	if s.router != "" {
		if router, err = netip.ParseAddr(s.router); err != nil || !router.Is4() {
			return usagef("--router-id is %q: want an IPv4 address", s.router)
		}
	}
	with, err := s.bgp.check(ctx, all[0].Node.ASN, router)
	if err != nil {
		return err
	}
	speaker := run.Speaker{Sessions: with, Log: log, Objects: s.objects}
	return speaker.Run(ctx, all)
}
