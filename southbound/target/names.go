package target

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Names are how a device names the interfaces of its ports: a pattern, in which {n} stands for the
// number of the port, and {K} with a number K for K times the number less one, as the lanes of
// ports count on. "": as the system does, with DefaultNames.
type Names string

// defaultNames are how systems name interfaces: on SONiC by the first of a port's eight lanes.
var defaultNames = map[System]Names{
	SONiC: "Ethernet{8}", EOS: "Ethernet{n}/1", Cumulus: "swp{n}", FRR: "eth{n}",
	Linux: "eth{n}",
}

// DefaultNames returns how a system names interfaces.
func DefaultNames(s System) Names { return defaultNames[s] }

var (
	placeholder = regexp.MustCompile(`\{([^{}]*)\}`)
	lanes       = regexp.MustCompile(`^[1-9][0-9]{0,2}$`)
	plainName   = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)
)

func (n Names) validate() error {
	if n == "" {
		return nil
	}
	found := placeholder.FindAllStringSubmatch(string(n), -1)
	if len(found) != 1 || found[0][1] != "n" && !lanes.MatchString(found[0][1]) ||
		!plainName.MatchString(n.of(1)) {
		return fmt.Errorf("interfaces is %q: want letters and digits with {n} or {8} once, "+
			"such as Ethernet{8} or swp{n}", string(n))
	}
	return nil
}

// of returns the name of the interface of a port.
func (n Names) of(port uint32) string {
	before, rest, _ := strings.Cut(string(n), "{")
	of, after, _ := strings.Cut(rest, "}")
	number := uint64(port)
	if of != "n" {
		k, _ := strconv.ParseUint(of, 10, 32)
		number = k * uint64(port-1)
	}
	return before + strconv.FormatUint(number, 10) + after
}

// PortOf returns the port whose interface has a name, 0: none has.
func (d *Device) PortOf(iface string) uint32 {
	before, rest, _ := strings.Cut(string(cmp.Or(d.Ports, DefaultNames(d.System))), "{")
	of, after, _ := strings.Cut(rest, "}")
	text, ok := strings.CutPrefix(iface, before)
	text, end := strings.CutSuffix(text, after)
	number, err := strconv.ParseUint(text, 10, 32)
	if !ok || !end || err != nil {
		return 0
	}
	if of != "n" {
		k, _ := strconv.ParseUint(of, 10, 32)
		if number%max(k, 1) != 0 {
			return 0
		}
		number = number/max(k, 1) + 1
	}
	if port := uint32(number); d.Interface(port) == iface { // no zeros before it
		return port
	}
	return 0
}

// Interface returns the name of the interface of a port.
func (d *Device) Interface(port uint32) string {
	return cmp.Or(d.Ports, DefaultNames(d.System)).of(port)
}
