package simulate

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/lab"
	"github.com/weft-sdn/weft/topology"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// verb returns the given verb of fail, repair, drain and undrain, with its object.
func (e *Event) verb() (verb, object string, one bool) {
	given := 0
	for _, x := range [][2]string{{"fail", e.Fail}, {"repair", e.Repair}, {"drain", e.Drain},
		{"undrain", e.Undrain}} {
		if x[1] != "" {
			verb, object = x[0], x[1]
			given++
		}
	}
	return verb, object, given == 1
}

func (e *Event) String() string {
	verb, _, _ := e.verb()
	text := verb + " " + e.part.String()
	if e.window != "" {
		text = "maintenance " + e.window + ": " + text
	}
	for _, x := range []struct {
		name  string
		value float64
	}{{"loss", e.Loss}, {"corrupt", e.Corrupt}} {
		if x.value != 0 {
			text += fmt.Sprintf(", %s %v", x.name, x.value)
		}
	}
	if e.Delay != 0 {
		text += fmt.Sprintf(", delay %v", e.Delay)
	}
	if e.Direction != "" {
		text += ", " + string(e.Direction)
	}
	return text
}

// complete finds what the event is about.
func (e *Event) complete(c checks, n *lab.Network, fluid bool) {
	verb, object, one := e.verb()
	if !one {
		c.bad("fail", "without an action of its own", "one of fail, repair, drain and undrain")
		return
	}
	if e.At < 0 {
		c.bad("at", e.At, "0s or more")
	}
	partial := false
	for _, x := range []struct {
		field string
		value float64
	}{{"loss", e.Loss}, {"corrupt", e.Corrupt}} {
		if !(x.value >= 0 && x.value <= 1) {
			c.bad(x.field, x.value, "a share from 0 to 1")
		}
		partial = partial || x.value != 0
	}
	if e.Delay < 0 || e.Delay > lab.MaxFaultDelay {
		c.bad("delay", e.Delay, fmt.Sprintf("0s to %v", lab.MaxFaultDelay))
	}
	partial = partial || e.Delay != 0
	e.partial = partial
	var err error
	if e.part, err = parsePart(object, n); err != nil {
		c.bad(verb, strconv.Quote(object), err.Error())
		return
	}
	if plane := e.part.kind == "plane" && !fluid; partial && (verb != "fail" ||
		e.part.kind != "link" && !plane) {
		c.bad(verb, strconv.Quote(object), "a link that fails, with loss, corrupt and delay, or a plane "+
			"with model packets")
	}
	known := []lab.Direction{"", lab.DirectionBoth, lab.DirectionAB, lab.DirectionBA}
	if e.Direction != "" && (!partial || e.part.kind != "link") ||
		!slices.Contains(known, e.Direction) {
		c.bad("direction", e.Direction, "a-b, b-a or both, with loss, corrupt or delay")
	}
	if strings.HasSuffix(verb, "drain") && e.part.kind == "host" {
		c.bad(verb, strconv.Quote(object), drainable)
	}
}

// parsePart returns what a text names; the error says what would be right.
func parsePart(text string, n *lab.Network) (part, error) {
	words := strings.Fields(text)
	p := part{}
	if len(words) > 0 {
		p.kind, p.names = words[0], words[1:]
	}
	has := func(name string) bool {
		return slices.ContainsFunc(n.Switches, func(s lab.Switch) bool { return s.Name == name })
	}
	switch {
	case p.kind == "link" && len(p.names) == 2:
		if !slices.ContainsFunc(n.Links, func(l lab.Link) bool {
			return l.A == p.names[0] && l.B == p.names[1] || l.A == p.names[1] && l.B == p.names[0]
		}) {
			return p, fmt.Errorf("a link of the network, such as 'link %s %s'", n.Links[0].A, n.Links[0].B)
		}
	case p.kind == "switch" && len(p.names) == 1:
		if !has(p.names[0]) {
			return p, fmt.Errorf("a switch of the network, such as 'switch %s'", n.Switches[0].Name)
		}
	case p.kind == "host" && len(p.names) == 1:
		if !slices.ContainsFunc(n.Hosts, func(h lab.Host) bool { return h.Name == p.names[0] }) {
			return p, fmt.Errorf("a host of the network, such as 'host %s'", n.Hosts[0].Name)
		}
	case p.kind == "plane" && len(p.names) == 1:
		number, err := strconv.Atoi(p.names[0])
		if err == nil {
			_, err = n.Plane(number)
		}
		if err != nil {
			return p, fmt.Errorf("the number of a plane, from 1: 'plane 2'")
		}
	default:
		return p, fmt.Errorf("'link A B', 'switch A', 'host H1' or 'plane 2'")
	}
	return p, nil
}

// check checks the expectation.
func (x *Expectation) check(c checks, jobs []Job) {
	if !slices.ContainsFunc(jobs, func(j Job) bool { return j.Name == x.Job }) {
		c.bad("job", strconv.Quote(x.Job), "the name of a job")
	}
	if x.StepIncrease == nil && x.Ends == 0 && x.Share == nil {
		c.bad("stepIncrease", "without a limit", "stepIncrease, share or ends")
	}
	if n := len(x.Share); x.Share != nil && (n == 0 || n > 2 || !slices.IsSorted(x.Share) ||
		x.Share[0] < 0 || x.Share[n-1] > 1) {
		c.bad("share", x.Share, "the least share from 0 to 1, or the least and the most")
	}
	if len(x.Between) > 0 && (len(x.Between) != 2 || x.Between[0] >= x.Between[1] ||
		x.StepIncrease == nil && x.Share == nil) {
		c.bad("between", x.Between, "two times, the earlier first, and stepIncrease or share")
	}
	if x.Ends < 0 {
		c.bad("ends", x.Ends, "a time above 0")
	}
}

// apply makes an event happen; the controller itself makes those of maintenances happen.
func (e *Event) apply(w *lab.World, by *client) error {
	verb, _, _ := e.verb()
	switch {
	case e.window != "":
		return nil
	case verb == "fail" || verb == "repair":
		return set(w, by.control, e, verb == "fail")
	}
	change := by.control.Paths.Drain
	if verb == "undrain" {
		change = by.control.Paths.Undrain
	}
	t, err := target(by.control, e.part)
	if err == nil {
		err = change(t)
	}
	if err != nil {
		by.note("Refused: %v: %v.", e, err)
	}
	return nil
}

// set makes the parts of an event fail or work again, and lets the controller find out.
func set(w *lab.World, c *lab.Control, e *Event, fail bool) error {
	switch e.part.kind {
	case "link":
		if err := e.setLink(w, lab.LinkRef{A: e.part.names[0], B: e.part.names[1],
			Direction: e.Direction}, fail); err != nil {
			return err
		}
	case "host":
		h, err := hostOf(w, e.part.names[0])
		if err != nil {
			return err
		}
		if fail {
			h.Stop()
		} else {
			h.Start()
		}
	default:
		names := e.part.names
		if e.part.kind == "plane" {
			number, _ := strconv.Atoi(names[0])
			plane, err := w.Network.Plane(number)
			if err != nil {
				return err
			}
			names = plane.Switches
			for _, x := range w.Wires() {
				if _, err := hostOf(w, x.To); err != nil || !slices.Contains(names, x.From) ||
					fail && !e.partial {
					continue
				}
				if err := e.setLink(w, lab.LinkRef{A: x.From, B: x.To, Direction: lab.DirectionAB},
					fail); err != nil {
					return err
				}
			}
		}
		if e.partial {
			break
		}
		for _, name := range names {
			s, err := w.Switch(name)
			if err != nil {
				return err
			}
			if fail {
				s.Stop()
			} else if s.Down() {
				err = s.Start()
			} else {
				continue
			}
			if err != nil {
				return err
			}
			c.SwitchChanged(name)
		}
	}
	c.NetworkChanged()
	return nil
}

// setLink makes a link fail in the way of the event, or work again.
func (e *Event) setLink(w *lab.World, ref lab.LinkRef, fail bool) (err error) {
	if !fail {
		_, err = w.ClearFaults(&ref)
		return err
	}
	change, delay := lab.FaultChange{Down: &fail}, api.Duration(e.Delay)
	if e.partial {
		change = lab.FaultChange{Loss: &e.Loss, Corrupt: &e.Corrupt, Delay: &delay}
	}
	_, err = w.ChangeFaults(ref, change)
	return err
}

// target returns what the controller knows a part by: a link of a host as the port of the host.
func target(c *lab.Control, p part) (mrc.Target, error) {
	n := &c.World.Network
	id := func(name string) topology.NodeID {
		i := slices.IndexFunc(n.Switches, func(s lab.Switch) bool { return s.Name == name })
		if i < 0 {
			return ""
		}
		return lab.NodeID(n.Switches[i])
	}
	switch p.kind {
	case "switch":
		return mrc.Target{Node: id(p.names[0])}, nil
	case "plane":
		number, _ := strconv.Atoi(p.names[0])
		return mrc.Target{Plane: number}, nil
	}
	a, b := id(p.names[0]), id(p.names[1])
	for i, host := range p.names {
		port := uint8(0)
		for sw := range n.Uplinks(host) {
			if port++; (a == "" || b == "") && sw == p.names[1-i] {
				return mrc.Target{Host: host, Port: port}, nil
			}
		}
	}
	if _, now := c.Paths.Core().Network(); now != nil {
		for _, l := range now.Links {
			if l.Local == a && l.Remote == b {
				return mrc.Target{Link: l.ID}, nil
			}
		}
	}
	return mrc.Target{}, fmt.Errorf("%v: the controller knows no such link now", p)
}
