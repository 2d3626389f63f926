package target

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/api"
)

// A System is the operating system of a switch.
type System string

// The systems.
const (
	SONiC   System = "sonic"
	EOS     System = "eos"
	Cumulus System = "cumulus"
	FRR     System = "frr"
	// Linux is a kernel with the agent of Weft (weft switch --datapath linux); its version is the
	// kernel's.
	Linux System = "linux"
)

// Systems returns all systems.
func Systems() []System { return []System{SONiC, EOS, Cumulus, FRR, Linux} }

// String returns the name of the system as its makers write it.
func (s System) String() string {
	switch s {
	case SONiC:
		return "SONiC"
	case EOS:
		return "EOS"
	case Cumulus:
		return "Cumulus Linux"
	case FRR:
		return "FRR"
	case Linux:
		return "Linux"
	}
	return string(s)
}

// A Device is a switch that gets a configuration.
type Device struct {
	Name    string
	System  System
	Version string   // such as 202511, 4.36.1 or 10.4; "" or "master": the newest
	Chip    Hardware // "": unknown
	Ports   Names    // how it names its interfaces
	// Live: the configuration is written to the device's gNMI server, which may refuse settings that
	// the switch takes from a file.
	Live bool
}

// Validate returns what is wrong with a device; it names the field.
func (d *Device) Validate() error {
	switch {
	case !slices.Contains(Systems(), d.System):
		return fmt.Errorf("system is %q: want one of %s", string(d.System), listed(Systems()))
	case !newest(d.Version) && versionOf(d.Version) == nil:
		return fmt.Errorf("version is %q: want numbers with dots between them, or master", d.Version)
	case d.Chip != "" && quirks[d.Chip] == nil:
		return fmt.Errorf("hardware is %q: want one of %s", string(d.Chip), listed(AllHardware()))
	}
	return d.Ports.validate()
}

// listed writes names as files and flags have them.
func listed[T ~string](names []T) string {
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = string(n)
	}
	return strings.Join(out, ", ")
}

// Can reports whether the device does something, and why not.
func (d *Device) Can(f Feature) (ok bool, reason string) {
	a, known := abilities[d.System][f]
	switch {
	case !known:
		return false, fmt.Sprintf("%s has no %s that Weft knows a form of", d.System, f)
	case a.never != "":
		return false, fmt.Sprintf("%s: %s", f, a.never)
	case !newest(d.Version) && slices.Compare(versionOf(d.Version), versionOf(a.since)) < 0:
		return false, fmt.Sprintf("%s needs %s; %s runs %s", f, a.needs(d.System), d.Name, d.Version)
	case d.Live && a.live != "" && !newest(d.Version) &&
		slices.Compare(versionOf(d.Version), versionOf(a.live)) < 0:
		return false, fmt.Sprintf("%s by gNMI needs %s %s or later, since older ones refuse rows of %s; "+
			"%s runs %s. Load these rows from a file: weft get device-config %s --format %s --release %s",
			f, d.System, a.live, a.table, d.Name, d.Version, d.Name, string(d.System), d.Version)
	}
	return true, ""
}

func newest(version string) bool { return version == "" || version == "master" }

// versionOf returns the numbers of a version; nil: it has none.
func versionOf(text string) []int {
	var out []int
	for part := range strings.SplitSeq(text, ".") {
		digits := strings.TrimRight(part, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") // 4.36.1F
		n, err := strconv.Atoi(digits)
		if err != nil || n < 0 {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// SIDs returns the local SIDs of a model that the device can hold.
func (d *Device) SIDs(m *api.SwitchModel) (out []api.ModelSID) {
	for _, s := range m.SIDs {
		if ok, _ := d.Can(behaviors[s.Behavior]); ok {
			out = append(out, s)
		}
	}
	return out
}

var behaviors = map[string]Feature{
	api.BehaviorUN: UN, api.BehaviorUA: UA, api.BehaviorUDT6: UDT6,
}
