package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// hostDocument is the part of a host that is shown.
type hostDocument struct {
	Name         string         `json:"name"`
	Address      string         `json:"address"`
	Prefixes     []string       `json:"prefixes"`
	Ports        []portDocument `json:"ports"`
	Connected    bool           `json:"connected"`
	Since        time.Time      `json:"since"`
	Error        string         `json:"error"`
	Software     string         `json:"software"`
	Capabilities *struct {
		EVFormatModes     []string `json:"evFormatModes"`
		EVModes           []string `json:"evModes"`
		EVMaxProfiles     int      `json:"evMaxProfiles"`
		EVMaxCount        int      `json:"evMaxCount"`
		EVMaxCountProfile int      `json:"evMaxCountProfile"`
		EVCountAlign      int      `json:"evCountAlign"`
		EVMaxWidth        int      `json:"evMaxWidth"`
		CCMaxProfiles     int      `json:"ccMaxProfiles"`
		CCAlgorithms      []string `json:"ccAlgorithms"`
		Options           []string `json:"options"`
		Transport         []string `json:"transport"`
	} `json:"capabilities"`
	Versions struct {
		Held    *versionDocument `json:"held"`
		Current bool             `json:"current"`
		Wanted  uint64           `json:"wanted"`
		Applied uint64           `json:"applied"`
	} `json:"versions"`
	Refusals []struct {
		Version *versionDocument `json:"version"`
		Code    string           `json:"code"`
		Field   string           `json:"field"`
		Reason  string           `json:"reason"`
	} `json:"refusals"`
	EVProfiles int `json:"evProfiles"`
	EVs        int `json:"evs"`
}

type versionDocument struct {
	Epoch  string `json:"epoch"`
	Number uint64 `json:"number"`
}

func (v *versionDocument) String() string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%d of %s", v.Number, v.Epoch)
}

type portDocument struct {
	Port   int `json:"port"`
	Status struct {
		Leaf     string          `json:"leaf"`
		LeafName string          `json:"leafName"`
		LeafPort uint32          `json:"leafPort"`
		Usable   bool            `json:"usable"`
		LinkDown bool            `json:"linkDown"`
		HostDown bool            `json:"hostDown"`
		Held     bool            `json:"held"`
		Drains   []drainDocument `json:"drains"`
	} `json:"status"`
}

func hostTable(w io.Writer, hosts []hostDocument) error {
	g := newGrid("NAME", "ADDRESS", "PORTS", "USABLE", "CONNECTED", "SINCE", "CURRENT", "PROFILES", "EVS", "NOTE")
	for i := range hosts {
		h := &hosts[i]
		usable, refused := 0, ""
		for _, p := range h.Ports {
			if p.Status.Usable {
				usable++
			}
		}
		if n := len(h.Refusals); n > 0 {
			refused = fmt.Sprintf("refuses %d: %s: %s", n, h.Refusals[0].Field, h.Refusals[0].Reason)
		}
		g.row(h.Name, h.Address, len(h.Ports), usable, yesNo(h.Connected), clockTime(h.Since), yesNo(h.Versions.Current), h.EVProfiles, h.EVs, notes(h.Error, refused))
	}
	return g.writeTo(w)
}

func hostDetail(w io.Writer, h *hostDocument) error {
	g := newGrid()
	g.row("Name:", h.Name)
	g.row("Address:", strings.Join(append([]string{h.Address}, h.Prefixes...), ", "))
	connected := yesNo(h.Connected)
	if since := clockTime(h.Since); since != "" {
		connected += " since " + since
	}
	g.row("Connected:", notes(connected, h.Error))
	g.row("Software:", h.Software)
	g.row("Holds:", notes(h.Versions.Held.String(), "current: "+yesNo(h.Versions.Current), fmt.Sprintf("applied %d of %d", h.Versions.Applied, h.Versions.Wanted)))
	g.row("Is to hold:", fmt.Sprintf("%d EV profiles, %d EVs", h.EVProfiles, h.EVs))
	if c := h.Capabilities; c != nil {
		g.row("EVs:", fmt.Sprintf("%s; %s; %d bits, %d a profile, %d in all, a multiple of %d", strings.Join(c.EVFormatModes, " "), strings.Join(c.EVModes, " "),
			c.EVMaxWidth, c.EVMaxCountProfile, c.EVMaxCount, max(1, c.EVCountAlign)))
		g.row("Profiles:", fmt.Sprintf("%d EV, %d CC (%s)", c.EVMaxProfiles, c.CCMaxProfiles, strings.Join(c.CCAlgorithms, " ")))
		g.row("Options:", strings.Join(append(append([]string{}, c.Options...), c.Transport...), " "))
	}
	for _, r := range h.Refusals {
		g.row("Refuses:", fmt.Sprintf("%s: %s (%s)", r.Field, r.Reason, notes(r.Code, r.Version.String())))
	}
	if err := g.writeTo(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return portTable(w, h.Ports)
}

func portTable(w io.Writer, ports []portDocument) error {
	g := newGrid("PORT", "LEAF", "LEAF PORT", "USABLE", "NOTE")
	for i := range ports {
		s := &ports[i].Status
		var down, held string
		switch {
		case s.LinkDown && s.HostDown:
			down = "down at both ends"
		case s.LinkDown:
			down = "down at the leaf"
		case s.HostDown:
			down = "down at the host"
		}
		if s.Held {
			held = "held"
		}
		g.row(ports[i].Port, named(s.LeafName, s.Leaf), s.LeafPort, yesNo(s.Usable), notes(down, held, drainCell(s.Drains)))
	}
	return g.writeTo(w)
}
