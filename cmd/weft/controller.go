package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/cmd/weft/run"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/internal/strictyaml"
	"github.com/weft-sdn/weft/northbound"
	"github.com/weft-sdn/weft/service"
	"github.com/weft-sdn/weft/southbound"
)

// controllerCommand is the flags of "weft controller".
type controllerCommand struct {
	env      environment
	log      logging
	storage  storage
	config   string
	check    bool
	listen   string
	name     string
	peers    string
	tokens   string
	election electionFlag
	takeOver bool
	insecure bool
	text     []byte // of the file
}

// defaultConfig is the configuration of a controller without --config, and of packages.
//
//go:embed controller.yaml
var defaultConfig []byte

// electionFlag is an election id on the command line; zero is none.
type electionFlag struct{ southbound.ElectionID }

// String implements pflag.Value.
func (e *electionFlag) String() string {
	if e.ElectionID == (southbound.ElectionID{}) {
		return ""
	}
	return e.ElectionID.String()
}

// Type implements pflag.Value.
func (e *electionFlag) Type() string { return "[HIGH:]LOW" }

// Set implements pflag.Value.
func (e *electionFlag) Set(s string) (err error) {
	e.ElectionID, err = southbound.ParseElectionID(s)
	return err
}

func newController(env environment) *cobra.Command {
	k := &controllerCommand{env: env}
	c := &cobra.Command{
		Use: "controller [--config FILE]", Short: "Run the controller",
		Long: `Runs the controller until it is interrupted. It learns the network from its BGP-LS
peers, programs the switches of its inventory over P4Runtime, and serves the REST API.
Switches and peers may be of any make; the switches must run the fabric program
(v1model, BMv2 JSON). docs/config.md describes the file. Without a file the controller
has no switch, serves its API on 127.0.0.1:8080, and says how to add a switch.

The controller stores resources and its decisions in a data directory. After a restart
it continues from there, and does not write to a switch without differences. Only one
process may use a data directory. docs/operations.md has more.`,
		Args: arguments(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error { return k.run(cmd.Context()) },
	}
	f := c.Flags()
	f.StringVar(&k.config, "config", "",
		"YAML file with the inventory, the BGP-LS peers and the listeners (default one without "+
			"switches)")
	f.BoolVar(&k.check, "check", false, "only check the file, and the files that it names")
	f.StringVar(&k.listen, "listen", "", "address:port of the API (default that of the file)")
	f.StringVar(&k.name, "name", "",
		"name of this controller among several (default that of the file, or of the machine)")
	f.StringVar(&k.peers, "peer-listen", "",
		"address:port for other controllers that share the store (default that of the file: "+
			"cluster.listen)")
	f.StringVar(&k.tokens, "token-file", "",
		"file of bearer tokens of the API, one a line (default none)")
	f.Var(&k.election, "election-id",
		"P4Runtime election id, LOW or HIGH:LOW, used whoever is primary (default: one that grows with "+
			"each start and waits while another controller is primary)")
	f.BoolVar(&k.takeOver, "take-over", false, "take switches from other controllers that are primary")
	f.BoolVar(&k.insecure, "insecure", false,
		"serve the API on any address without tokens and client certificates")
	k.storage.register(c)
	k.log.register(c, "info")
	return c
}

func (k *controllerCommand) run(ctx context.Context) error {
	log, err := k.log.open(k.env.stderr)
	if err != nil {
		return err
	}
	if err := k.storage.check(); err != nil {
		return err
	}
	inv, err := k.inventory()
	if err != nil {
		return &usageError{err}
	}
	served := northbound.DefaultConfig()
	served.Version, served.TokenFile = buildVersion(), k.tokens
	if err := errors.Join(k.checkTokens(served), k.placed(run.CheckFiles(inv))); err != nil {
		return &usageError{err}
	}
	unusable := run.CheckCertificates(inv, time.Now())
	if k.check {
		if unusable != nil {
			return &usageError{k.placed(unusable)}
		}
		_, err := fmt.Fprintf(k.env.stdout, "%s: %d switches, %d hosts, %d BGP-LS peers, API on %s\n",
			k.named(), len(inv.Switches), len(inv.Hosts), len(inv.BGP.Peers), inv.API.Listen)
		return err
	}
	apiListen := "api.listen"
	if k.listen != "" {
		apiListen = "--listen"
	}
	if err := k.checkOpen(ctx, apiListen, inv); err != nil {
		return &usageError{err}
	}
	peerListen := "cluster.listen"
	if k.peers != "" {
		peerListen = "--peer-listen"
	}
	if err := checkListens(ctx, apiListen, inv.API.Listen, peerListen, inv.Cluster.Listen,
		"bgp.listen", inv.BGP.Listen, "mrc.listen", inv.MRC.Listen); err != nil {
		return err
	}
	if err := k.storage.form(inv); err != nil {
		return &usageError{fmt.Errorf("%s: %w", k.named(), err)}
	}
	if inv.Cluster.On() && !k.storage.shared() {
		return usagef("%s is %s, and the store is this controller's own: several controllers need "+
			"--store etcds://HOST:PORT,…, or cluster.etcd.members", peerListen, inv.Cluster.Listen)
	}
	for _, f := range unusable {
		log.Error("a certificate cannot be used, and connections fail until its file has another one",
			"section", f.Field, "reason", f.Message)
	}
	service.TuneMemory(service.GCPercent)
	idle, end := context.WithCancel(ctx)
	var giving sync.WaitGroup
	defer giving.Wait()
	defer end()
	giving.Go(func() { service.GiveBack(idle) })
	kept, err := k.storage.open(ctx, k.env.getenv, log)
	if err != nil {
		return err
	}
	runs := run.Controller{Inventory: inv, API: served, Store: kept, Log: log,
		Election: k.election.ElectionID, TakeOver: k.takeOver}
	if k.config == "" {
		runs.Up = k.welcome
	}
	return errors.Join(runs.Run(ctx), kept.Close())
}

// inventory reads the file. Errors begin with its name and, where the text is at
// fault, the line.
func (k *controllerCommand) inventory() (*inventory.Inventory, error) {
	k.text = defaultConfig
	if k.config != "" {
		var err error
		if k.text, err = os.ReadFile(k.config); err != nil {
			return nil, err
		}
	}
	inv, err := inventory.Load(k.text)
	var faults inventory.Faults
	switch {
	case errors.As(err, &faults):
		return nil, k.placed(faults)
	case err != nil:
		return nil, fmt.Errorf("%s: %s", k.named(), strings.TrimPrefix(err.Error(), "inventory: "))
	}
	if inv.BGP.Listen == "" && len(inv.BGP.Peers) == 0 && inv.Topology == (inventory.Topology{}) {
		return nil, fmt.Errorf("%s: bgp: has neither peers nor listen: the controller would learn no "+
			"network (topology.file or topology.api describe one without BGP-LS)", k.named())
	}
	for _, f := range []struct {
		flag, value string
		field       *string
	}{{"--listen", k.listen, &inv.API.Listen}, {"--name", k.name, &inv.Cluster.Name},
		{"--peer-listen", k.peers, &inv.Cluster.Listen}} {
		if f.value == "" {
			continue
		}
		*f.field = f.value
		if err := inv.Validate(); err != nil {
			return nil, fmt.Errorf("%s %s: %w", f.flag, f.value, err)
		}
	}
	return inv, nil
}

// named returns what errors call the configuration.
func (k *controllerCommand) named() string { return cmp.Or(k.config, "the built-in configuration") }

// welcome writes where a controller without a configuration is, and how it gets a switch.
func (k *controllerCommand) welcome(api net.Addr, dataDir string) {
	fmt.Fprintf(k.env.stdout, `The controller is up, on its built-in configuration: it has no switch.

Data: %s
Dashboard: http://%s/ (open it in a browser)
API: http://%[2]s (OpenAPI at /openapi.json)

To add the first switch, write these lines with its values to weft.yaml, and start
"weft controller --config weft.yaml" instead (docs/first-fabric.md has more):

switches:
- {name: N1, address: "192.0.2.1:9559", mac: "02:00:00:00:00:01"}
topology: {api: true}
`, cmp.Or(dataDir, "none: it is kept until the controller ends"), api)
}

// placed puts the file and, where it is known, the line before each fault of an error.
func (k *controllerCommand) placed(err error) error {
	var faults inventory.Faults
	if !errors.As(err, &faults) {
		return err
	}
	var lines []error
	for _, f := range faults {
		if f.Line == 0 {
			f.Line, _ = strictyaml.Place(k.text, f.Field)
		}
		if f.Line > 0 {
			lines = append(lines, fmt.Errorf("%s:%d: %s: %s", k.named(), f.Line, f.Field, f.Message))
		} else {
			lines = append(lines, fmt.Errorf("%s: %s: %s", k.named(), f.Field, f.Message))
		}
	}
	return errors.Join(lines...)
}

// checkOpen refuses to serve an API that asks for no credentials where others reach it.
func (k *controllerCommand) checkOpen(ctx context.Context, field string,
	inv *inventory.Inventory) error {
	if k.insecure || k.tokens != "" || inv.API.TLS != nil && inv.API.TLS.CA != "" {
		return nil
	}
	return checkLoopback(ctx, field, inv.API.Listen, false,
		"want --token-file, api.tls.ca for client certificates, a loopback address such as "+
			"127.0.0.1:8080, or --insecure")
}

// checkTokens reads the file of --token-file.
func (k *controllerCommand) checkTokens(served northbound.Config) error {
	if err := served.Validate(); err != nil {
		return fmt.Errorf("--token-file %s: %w", k.tokens, err)
	}
	return nil
}
