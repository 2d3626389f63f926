package device

import (
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/internal/natural"
)

// PortFacts is what Linux knows of a port of the host: an interface, and the ports of RDMA devices
// whose GIDs are the interface's. A lossy cable shows in the counters of the end that receives.
type PortFacts struct {
	Port      int         `json:"port"` // from 1
	Interface string      `json:"interface"`
	State     string      `json:"state"` // operstate; "absent": there is no such interface
	RDMA      []RDMAPort  `json:"rdma"`
	Errors    []ErrorFact `json:"errors"` // counters that are not 0
}

// RDMAPort is a port of an RDMA device.
type RDMAPort struct {
	Device string       `json:"device"`
	Port   int          `json:"port"`
	State  string       `json:"state"` // as "4: ACTIVE"
	GIDs   []netip.Addr `json:"gids"`
}

// ErrorFact is a counter of errors or losses: of the interface, or as "mlx5_0/1" of an RDMA port.
type ErrorFact struct {
	Of      string `json:"of"`
	Counter string `json:"counter"`
	Count   uint64 `json:"count"`
}

// worrying are the words of counters that a bad cable or transceiver, or a loss, moves.
var worrying = []string{"err", "drop", "discard", "missed", "out_of_sequence", "timeout", "retrans",
	"downed", "recovery", "packet_seq"}

// Ports reads what sysfs, as a rule at /sys, has of some interfaces. Missing files are left out.
func Ports(sysfs string, interfaces []string) []PortFacts {
	out := make([]PortFacts, len(interfaces))
	for i, name := range interfaces {
		p := &out[i]
		*p = PortFacts{Port: i + 1, Interface: name, State: text(sysfs, "class/net", name, "operstate"),
			RDMA: []RDMAPort{}, Errors: []ErrorFact{}}
		if p.State == "" {
			p.State = "absent"
		}
		p.count(name, filepath.Join(sysfs, "class/net", name, "statistics"))
	}
	at, _ := filepath.Glob(filepath.Join(sysfs, "class/infiniband/*/ports/*"))
	slices.SortFunc(at, natural.Compare)
	for _, dir := range at {
		number, _ := strconv.Atoi(filepath.Base(dir))
		r := RDMAPort{Device: filepath.Base(filepath.Dir(filepath.Dir(dir))), Port: number,
			State: text(dir, "state"), GIDs: []netip.Addr{}}
		owner := ""
		indexes, _ := filepath.Glob(filepath.Join(dir, "gids/*"))
		slices.SortFunc(indexes, natural.Compare)
		for _, gid := range indexes {
			a, err := netip.ParseAddr(text(gid))
			if err != nil || a.IsUnspecified() {
				continue
			}
			owner = text(dir, "gid_attrs/ndevs", filepath.Base(gid))
			if a = a.Unmap(); !slices.Contains(r.GIDs, a) { // one for each version of RoCE
				r.GIDs = append(r.GIDs, a)
			}
		}
		i := slices.Index(interfaces, owner)
		if i < 0 {
			continue
		}
		out[i].RDMA = append(out[i].RDMA, r)
		for _, kind := range []string{"counters", "hw_counters"} {
			out[i].count(r.Device+"/"+strconv.Itoa(number), filepath.Join(dir, kind))
		}
	}
	return out
}

// PortErrors returns the counters of errors of ports for the controller, without those that the
// stream does not take: the controller would end the stream. These are counters with odd names, and
// a counter that an RDMA port has in counters and once more in hw_counters.
func PortErrors(ports []PortFacts) (out hostapi.PortErrors) {
	for _, p := range ports {
		for _, f := range p.Errors {
			e := hostapi.PortError{Port: uint8(p.Port), Source: f.Of, Counter: f.Counter, Count: f.Count}
			if e.Validate() == nil && !slices.ContainsFunc(out.Errors, func(o hostapi.PortError) bool {
				return o.Port == e.Port && o.Source == e.Source && o.Counter == e.Counter
			}) {
				out.Errors = append(out.Errors, e)
			}
		}
	}
	return out
}

// count adds the counters of a folder that are worrying.
func (p *PortFacts) count(of, dir string) {
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		n, err := strconv.ParseUint(text(dir, f.Name()), 10, 64)
		if err == nil && n > 0 && slices.ContainsFunc(worrying, func(word string) bool {
			return strings.Contains(f.Name(), word)
		}) {
			p.Errors = append(p.Errors, ErrorFact{of, f.Name(), n})
		}
	}
}

// text returns the text of a file; "": it cannot be read.
func text(path ...string) string {
	b, _ := os.ReadFile(filepath.Join(path...))
	return strings.TrimSpace(string(b))
}
