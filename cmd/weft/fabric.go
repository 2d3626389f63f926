package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/weft-sdn/weft/api"
)

// The types below are the parts of an MRC fabric's resources that are shown, as the
// API gives them.

type fabricDocument struct {
	Mode     string     `json:"mode"`
	InSync   bool       `json:"inSync"`
	Failure  string     `json:"failure"`
	Planes   int        `json:"planes"`
	Tiers    int        `json:"tiers"`
	Leaves   int        `json:"leaves"`
	Links    badOf      `json:"links"`
	Profiles badOf      `json:"evProfiles"`
	Hosts    hostCounts `json:"hosts"`
}

type badOf struct{ All, Bad int }

type hostCounts struct{ All, Connected, Current int }

func fabricTable(w io.Writer, d *fabricDocument) error {
	g := newGrid()
	g.row("Mode:", d.Mode)
	g.row("In sync:", yesNo(d.InSync))
	if d.Failure != "" {
		g.row("Failure:", d.Failure)
	}
	g.row("Shape:", fmt.Sprintf("%d planes, %d tiers, %d leaves", d.Planes, d.Tiers, d.Leaves))
	g.row("Links:", fmt.Sprintf("%d, denied %d", d.Links.All, d.Links.Bad))
	g.row("Hosts:", fmt.Sprintf("%d, connected %d, current %d", d.Hosts.All, d.Hosts.Connected, d.Hosts.Current))
	g.row("EV profiles:", fmt.Sprintf("%d, degraded %d", d.Profiles.All, d.Profiles.Bad))
	return g.writeTo(w)
}

type drainDocument struct {
	Target  string   `json:"target"`
	Drained bool     `json:"drained"`
	Awaits  []string `json:"awaits"`
}

// drainCell says what takes something out of use.
func drainCell(drains []drainDocument) string {
	var out []string
	for _, d := range drains {
		text := d.Target + " drained"
		if !d.Drained {
			text = d.Target + " draining"
			if len(d.Awaits) > 0 {
				text += ", awaits " + few(d.Awaits)
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// few names some of many.
func few(names []string) string {
	const most = 4
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

type linkDocument struct {
	ID     string `json:"id"`
	Status struct {
		From     string          `json:"from"`
		FromName string          `json:"fromName"`
		To       string          `json:"to"`
		ToName   string          `json:"toName"`
		Plane    int             `json:"plane"`
		Phase    string          `json:"phase"`
		Cause    string          `json:"cause"`
		Since    time.Time       `json:"since"`
		Denied   bool            `json:"denied"`
		Drained  bool            `json:"drained"`
		Drains   []drainDocument `json:"drains"`
	} `json:"status"`
}

func named(name, id string) string {
	if name != "" {
		return name
	}
	return id
}

// notes joins what there is to say.
func notes(texts ...string) string {
	var out []string
	for _, t := range texts {
		if t != "" {
			out = append(out, t)
		}
	}
	return strings.Join(out, "; ")
}

func linkTable(w io.Writer, links []linkDocument) error {
	g := newGrid("FROM", "TO", "PLANE", "PHASE", "SINCE", "DENIED", "ID", "NOTE")
	for i := range links {
		s, plane := &links[i].Status, ""
		if s.Plane != 0 {
			plane = fmt.Sprint(s.Plane)
		}
		g.row(named(s.FromName, s.From), named(s.ToName, s.To), plane, s.Phase, clockTime(s.Since), yesNo(s.Denied), links[i].ID, notes(s.Cause, drainCell(s.Drains)))
	}
	return g.writeTo(w)
}

type nodeDocument struct {
	ID     string `json:"id"`
	Status struct {
		Name        string          `json:"name"`
		Tier        *int            `json:"tier"`
		Planes      []int           `json:"planes"`
		Present     bool            `json:"present"`
		Links       int             `json:"links"`
		DeniedLinks int             `json:"deniedLinks"`
		Drains      []drainDocument `json:"drains"`
	} `json:"status"`
}

func nodeTable(w io.Writer, nodes []nodeDocument) error {
	g := newGrid("NAME", "ID", "TIER", "PLANES", "LINKS", "DENIED", "NOTE")
	for i := range nodes {
		s, gone := &nodes[i].Status, ""
		if !s.Present {
			gone = "not advertised"
		}
		tier := ""
		if s.Tier != nil {
			tier = fmt.Sprint(*s.Tier)
		}
		g.row(s.Name, nodes[i].ID, tier, strings.Trim(fmt.Sprint(s.Planes), "[]"), s.Links, s.DeniedLinks, notes(gone, drainCell(s.Drains)))
	}
	return g.writeTo(w)
}

type planeDocument struct {
	Plane  int `json:"plane"`
	Status struct {
		Links       int             `json:"links"`
		DeniedLinks int             `json:"deniedLinks"`
		Drains      []drainDocument `json:"drains"`
	} `json:"status"`
}

func planeTable(w io.Writer, planes []planeDocument) error {
	g := newGrid("PLANE", "LINKS", "DENIED", "NOTE")
	for i := range planes {
		s := &planes[i].Status
		g.row(planes[i].Plane, s.Links, s.DeniedLinks, drainCell(s.Drains))
	}
	return g.writeTo(w)
}

type suspectDocument struct {
	Links      []string `json:"links"`
	FromName   string   `json:"fromName"`
	From       string   `json:"from"`
	ToName     string   `json:"toName"`
	To         string   `json:"to"`
	Confidence float64  `json:"confidence"`
	Loss       float64  `json:"loss"`
	Evidence   struct {
		Sent  uint64 `json:"sent"`
		Lost  uint64 `json:"lost"`
		Paths int    `json:"paths"`
	} `json:"evidence"`
	Since  time.Time `json:"since"`
	Denied bool      `json:"denied"`
	Why    string    `json:"why"`
}

func suspectTable(w io.Writer, suspects []suspectDocument) error {
	g := newGrid("FROM", "TO", "LOSS", "CONFIDENCE", "LOST", "SENT", "PATHS", "SINCE", "DENIED", "LINKS", "NOTE")
	for i := range suspects {
		s := &suspects[i]
		g.row(named(s.FromName, s.From), named(s.ToName, s.To), fmt.Sprintf("%.3g", s.Loss), fmt.Sprintf("%.4f", s.Confidence),
			s.Evidence.Lost, s.Evidence.Sent, s.Evidence.Paths, clockTime(s.Since), yesNo(s.Denied), strings.Join(s.Links, ", "), s.Why)
	}
	return g.writeTo(w)
}

type probeDocument struct {
	Profile     string        `json:"profile"`
	EV          string        `json:"ev"`
	Source      string        `json:"source"`
	Destination string        `json:"destination"`
	At          time.Time     `json:"at"`
	Sent        uint64        `json:"sent"`
	Received    uint64        `json:"received"`
	Loss        float64       `json:"loss"`
	RTTMin      *api.Duration `json:"rttMin"`
	RTTMean     *api.Duration `json:"rttMean"`
	RTTMax      *api.Duration `json:"rttMax"`
}

func probeTable(w io.Writer, probes []probeDocument) error {
	g := newGrid("PROFILE", "EV", "FROM", "TO", "SENT", "RECEIVED", "LOSS", "RTT MIN", "MEAN", "MAX", "AT")
	rtt := func(d *api.Duration) string {
		if d == nil {
			return ""
		}
		return d.String()
	}
	for i := range probes {
		p := &probes[i]
		g.row(p.Profile, p.EV, p.Source, p.Destination, p.Sent, p.Received, fmt.Sprintf("%.3g", p.Loss), rtt(p.RTTMin), rtt(p.RTTMean), rtt(p.RTTMax), clockTime(p.At))
	}
	return g.writeTo(w)
}

type ccDocument struct {
	Name    string            `json:"name"`
	Version uint64            `json:"version"`
	Spec    api.CCProfileSpec `json:"spec"`
}

func ccTable(w io.Writer, profiles []ccDocument) error {
	g := newGrid("NAME", "VERSION", "ALGORITHM", "TARGET DELAY", "BASE RTT", "MIN CWND", "MAX CWND", "GAMMA")
	for i := range profiles {
		p, n := &profiles[i], &profiles[i].Spec.NSCC
		g.row(p.Name, p.Version, p.Spec.Algorithm, n.TargetDelay, n.BaseRTT, n.MinCwnd, n.MaxCwnd, n.Gamma)
	}
	return g.writeTo(w)
}
