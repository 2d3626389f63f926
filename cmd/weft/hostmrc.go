package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-sdn/weft/cmd/weft/run"
	"github.com/weft-sdn/weft/dataplane/live/afpacket"
	"github.com/weft-sdn/weft/host/hostrun"
	"github.com/weft-sdn/weft/host/mrchost"
)

// runMRC runs a host of MRC and prints its report. text is the configuration file's; nil: the flags
// say it.
func (h *station) runMRC(cmd *cobra.Command, text []byte, log *slog.Logger) error {
	cfg, err := h.mrc(cmd, text)
	if err != nil {
		return &usageError{err}
	}
	return h.carryOutMRC(cmd, cfg, log)
}

// carryOutMRC runs an MRC host and prints the report, also after a failure.
func (h *station) carryOutMRC(cmd *cobra.Command, cfg *mrchost.Config, log *slog.Logger) error {
	texts := make([]string, len(cfg.Ports))
	for i, p := range cfg.Ports {
		texts[i] = p.Interface
	}
	if _, err := run.Interfaces(cmd.Context(), h.wait, texts...); err != nil {
		return err
	}
	links, err := openLinks(cfg, log)
	if err != nil {
		return err
	}
	log.Info("host is up", "host", cfg.Name, "transport", cfg.Transport, "ports", len(links),
		"address", cfg.Address)
	report, err := mrchost.Run(cmd.Context(), cfg, links, mrchost.Options{Progress: progressTo(log),
		Log: log})
	return h.print(report, report == nil, err)
}

// openLinks opens all interfaces of a host, or none.
func openLinks(cfg *mrchost.Config, log *slog.Logger) (links []mrchost.Link, err error) {
	defer func() {
		if err != nil {
			for _, l := range links {
				err = errors.Join(err, l.Close())
			}
		}
	}()
	open := afpacket.OpenPolled
	if cfg.Burst > 1 {
		open = afpacket.OpenJoined
	}
	for i, p := range cfg.Ports {
		port, err := open(p.Interface, log.With("interface", p.Interface))
		if err != nil {
			return links, err
		}
		link := mrchost.Link{Port: port, MTU: port.MTU()}
		copy(link.MAC[:], port.HardwareAddr())
		links = append(links, link)
		if err := cfg.CheckMTU(i, port.MTU()); err != nil {
			return links, &usageError{fmt.Errorf("host: %w", err)}
		}
	}
	return links, nil
}

// mrc is the configuration of the file, or of the flags.
func (h *station) mrc(cmd *cobra.Command, text []byte) (*mrchost.Config, error) {
	if text != nil {
		return mrchost.Load(h.config, text)
	}
	cfg := mrchost.Default()
	cfg.Name, cfg.Expect, cfg.Linger = h.cfg.Name, h.cfg.Expect, h.cfg.Linger
	if err := read("address", h.address, &cfg.Address); err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	qp := mrchost.QueuePair{QPN: h.qp.QPN, RemoteQPN: h.qp.RemoteQPN, InitialPSN: h.qp.InitialPSN,
		PMTU: h.qp.PMTU}
	if err := read("remote", h.remote, &qp.RemoteAddress); err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	cfg.QueuePairs = []mrchost.QueuePair{qp}
	err := h.mrcFlags.over(&cfg)
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	wires := wiring{interfaces: h.cfg.Interface, gateways: h.gateway, macs: h.mac,
		lineRate: h.cfg.LineRate}
	if cfg.Ports, err = wires.ports(); err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	switch {
	case h.write == "" && h.serve == 0:
		return nil, errNothingToDo
	case h.write == "" && cmd.Flags().Changed("immediate"):
		return nil, errors.New("host: --immediate without --write")
	case h.serve == 0 && h.save != "":
		return nil, errSaveAlone
	}
	if h.write != "" {
		w := mrchost.Write{Write: hostrun.Write{File: h.write, RKey: h.rkey, VA: h.va}}
		if cmd.Flags().Changed("immediate") {
			w.Immediate = &h.immediate
		}
		cfg.Writes = []mrchost.Write{w}
	}
	if h.serve != 0 {
		cfg.Regions = []hostrun.Region{{RKey: h.rkey, VA: h.va, Size: h.serve, Save: h.save}}
	}
	if err := cfg.Complete(); err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	return &cfg, nil
}

// wiring is the flags for the ports of a host: interfaces with commas, and as many Ethernet
// addresses of switches.
type wiring struct {
	interfaces, gateways, macs string
	lineRate                   uint64
}

// ports are the ports of the flags.
func (w *wiring) ports() ([]mrchost.Port, error) {
	list := func(text string) []string {
		if text == "" {
			return nil
		}
		return strings.Split(text, ",")
	}
	interfaces, gateways, macs := list(w.interfaces), list(w.gateways), list(w.macs)
	if len(gateways) != 0 && len(gateways) != len(interfaces) {
		return nil, fmt.Errorf("--gateway has %d addresses: want %d, one for each --interface, or none",
			len(gateways), len(interfaces))
	}
	if len(macs) != 0 && len(macs) != len(interfaces) {
		return nil, fmt.Errorf("--mac has %d addresses: want %d, one for each --interface, or none",
			len(macs), len(interfaces))
	}
	var ports []mrchost.Port
	for i, name := range interfaces {
		p := mrchost.Port{Interface: name, LineRate: w.lineRate}
		if len(gateways) > 0 {
			if err := read("gateway", gateways[i], &p.Gateway); err != nil {
				return nil, err
			}
		}
		if len(macs) > 0 {
			if err := read("mac", macs[i], &p.MAC); err != nil {
				return nil, err
			}
		}
		ports = append(ports, p)
	}
	return ports, nil
}
