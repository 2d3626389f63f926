package lab

import (
	"fmt"
	"slices"
	"strings"
)

// A Loss is links and switches that fail at the same time.
type Loss struct {
	Links    [][2]string // by their ends; of several between two, the first
	Switches []string
}

// String names what is lost.
func (l Loss) String() string {
	var names []string
	for _, ends := range l.Links {
		names = append(names, ends[0]+" - "+ends[1])
	}
	return strings.Join(append(names, l.Switches...), ", ")
}

// Lose takes down what a loss names, and returns the switches that are left and see a link go:
// those that have something to withdraw. An unknown name changes nothing.
func (w *World) Lose(l Loss) (witnesses []string, err error) {
	for _, ends := range l.Links {
		if _, err := w.Wire(ends[0], ends[1]); err != nil {
			return nil, err
		}
	}
	for _, name := range l.Switches {
		if _, err := w.Switch(name); err != nil {
			return nil, err
		}
	}
	for _, ends := range l.Links {
		if err := w.SetLink(ends[0], ends[1], false); err != nil {
			return nil, err
		}
		witnesses = append(witnesses, ends[0], ends[1])
	}
	for _, name := range l.Switches {
		w.switches[name].Stop()
		for _, x := range w.wires {
			if x.From == name {
				witnesses = append(witnesses, x.To)
			}
		}
	}
	return w.advertisers(witnesses), nil
}

// LeavesPaths reports whether every two hosts still have a plane in common after some losses: one
// in which the switches of both are on and joined. A plane is a port.
func (n *Network) LeavesPaths(losses ...Loss) bool {
	off := map[string]bool{}
	cut := map[[2]string]bool{}
	for _, l := range losses {
		for _, s := range l.Switches {
			off[s] = true
		}
		for _, ends := range l.Links {
			cut[ends], cut[[2]string{ends[1], ends[0]}] = true, true
		}
	}
	host := map[string]bool{}
	for _, h := range n.Hosts {
		host[h.Name] = true
	}
	next := map[string][]string{}
	for _, l := range n.Links {
		if cut[[2]string{l.A, l.B}] || off[l.A] || off[l.B] || host[l.A] || host[l.B] {
			continue
		}
		next[l.A], next[l.B] = append(next[l.A], l.B), append(next[l.B], l.A)
	}
	part := map[string]int{}
	for i, s := range n.Switches {
		if off[s.Name] || part[s.Name] != 0 {
			continue
		}
		part[s.Name] = i + 1
		for reached := []string{s.Name}; len(reached) > 0; reached = reached[1:] {
			for _, to := range next[reached[0]] {
				if part[to] == 0 {
					part[to] = i + 1
					reached = append(reached, to)
				}
			}
		}
	}
	parts := make([][]int, len(n.Hosts)) // by host and port; 0: no plane
	for i, h := range n.Hosts {
		for sw := range n.Uplinks(h.Name) {
			p := part[sw]
			if cut[[2]string{sw, h.Name}] {
				p = 0
			}
			parts[i] = append(parts[i], p)
		}
		for _, other := range parts[:i] {
			if !slices.ContainsFunc(parts[i], func(p int) bool {
				return p != 0 && slices.Contains(other, p)
			}) {
				return false
			}
		}
	}
	return true
}

// Plane returns the switches of a plane, counted from 1 in the order of the network's switches.
func (n *Network) Plane(number int) (Loss, error) {
	var l Loss
	planes := n.planes()
	for _, s := range n.Switches {
		if planes[s.Name] == number {
			l.Switches = append(l.Switches, s.Name)
		}
	}
	if len(l.Switches) == 0 {
		return Loss{}, fmt.Errorf("plane %d: %w", number, ErrUnknown)
	}
	return l, nil
}
