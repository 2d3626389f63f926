package plan

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/internal/sample"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/controller/plan/plantest"
	"github.com/weft-sdn/weft/p4"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/test/seeds"
)

// isolationOf is what a switch holds to keep projects apart.
type isolationOf struct {
	admitted map[uint64]map[netip.Prefix]uint64 // by port and source: who that is
	verdicts map[uint64]map[netip.Prefix]bool   // by who it is and destination
	ports    map[uint64]map[netip.Prefix]bool   // by port and destination
}

func prefixOf(e entry.Table, field string) netip.Prefix {
	m, ok := e.Field(field)
	if !ok {
		return everywhere
	}
	a, _ := m.Value.Addr6()
	return netip.PrefixFrom(a, m.Bits)
}

func readIsolation(t *testing.T, sw string, entities []entry.Entity) isolationOf {
	t.Helper()
	out := isolationOf{map[uint64]map[netip.Prefix]uint64{}, map[uint64]map[netip.Prefix]bool{},
		map[uint64]map[netip.Prefix]bool{}}
	c, seen := plantest.Schema(t), map[entry.Key]bool{}
	for _, e := range entities {
		plantest.Check(t, c, sw, e, seen)
		table, ok := e.(entry.Table)
		if !ok {
			continue
		}
		number := func(field string) uint64 {
			m, _ := table.Field(field)
			n, _ := m.Value.Uint64()
			return n
		}
		switch table.Name {
		case p4.TableSourceGuard:
			p := number("port")
			if out.admitted[p] == nil {
				out.admitted[p] = map[netip.Prefix]uint64{}
			}
			of, _ := table.Action.Arg("of").Uint64()
			out.admitted[p][prefixOf(table, "src_addr")] = of
		case p4.TableIsolation, p4.TableDelivery:
			to, field := out.verdicts, "project"
			if table.Name == p4.TableDelivery {
				to, field = out.ports, "port"
			}
			n := number(field)
			if to[n] == nil {
				to[n] = map[netip.Prefix]bool{}
			}
			to[n][prefixOf(table, "dst_addr")] = table.Action.Name == p4.ActionAllowDestination ||
				table.Action.Name == p4.ActionDeliver
		}
	}
	return out
}

// longest is the switch's lookup by longest prefix.
func longest[V any](m map[netip.Prefix]V, a netip.Addr) (v V, ok bool) {
	best := -1
	for p, x := range m {
		if p.Contains(a) && p.Bits() > best {
			best, v, ok = p.Bits(), x, true
		}
	}
	return v, ok
}

// reaches reports whether the host's own switch passes a packet from one of the host's addresses.
func (x isolationOf) reaches(port uint32, from, to netip.Addr) bool {
	who, ok := longest(x.admitted[uint64(port)], from)
	if !ok {
		return false
	}
	verdict, judged := longest(x.verdicts[who], to)
	return !judged || verdict
}

// stake is who has a thing: isolated projects by name, and whether they share it.
type stake struct {
	projects string
	shared   bool
}

func (a stake) talks(b stake) bool {
	common := strings.ContainsAny(a.projects, b.projects)
	switch {
	case common:
		return true
	case a.projects != "" && !a.shared, b.projects != "" && !b.shared:
		return false // one of them is a project's own
	}
	return true
}

// TestIsolatedProjects: hosts of random projects reach exactly the allowed hosts and proxy
// addresses, from each of their ports and addresses, even if a prefix of proxy addresses contains
// addresses of other projects. Every reached destination can answer.
func TestIsolatedProjects(t *testing.T) {
	first, count := seeds.Range(t, 1, 60)
	for seed := first; seed < first+count; seed++ {
		r := rand.New(rand.NewPCG(seed, 7))
		net := sample.Clos(3, 2, 4)
		hosts := net.Inventory.Hosts
		for i := range hosts {
			if r.IntN(3) == 0 {
				hosts[i].Prefixes = []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("2001:db8:77:%x::/64", i))}
			}
		}
		names := []string{"a", "b", "c"}[:1+r.IntN(3)]
		projects := make([]Isolated, len(names))
		things := map[netip.Addr]stake{}
		for i := range names {
			projects[i].Name = names[i]
		}
		assign := func(give func(p *Isolated, shared bool)) (s stake) {
			switch n := r.IntN(2 + len(names)); {
			case n == 0: // shared by some
				s.shared = true
				for i := range projects {
					if r.IntN(2) == 0 {
						give(&projects[i], true)
						s.projects += names[i]
					}
				}
			case n <= len(names):
				give(&projects[n-1], false)
				s.projects = names[n-1]
			}
			return s
		}
		stakes := make([]stake, len(hosts))
		for i := range hosts {
			h := &hosts[i]
			byPort := r.IntN(2) == 0
			stakes[i] = assign(func(p *Isolated, shared bool) {
				if byPort {
					p.Ports = append(p.Ports, api.ProjectPort{Switch: h.Switch, Port: h.AllPorts()[0],
						Shared: shared})
				} else {
					p.Hosts = append(p.Hosts, api.ProjectHost{Name: h.Name, Shared: shared})
				}
			})
			things[h.Address] = stakes[i]
			for _, p := range h.Prefixes {
				things[p.Addr().Next()] = stakes[i]
			}
		}
		// One of the prefixes has hosts in it.
		for i, p := range []string{"2001:db8:fa::/64", "2001:db8:fb::/64", "2001:db8:77::/48"} {
			prefix := netip.MustParsePrefix(p)
			s := assign(func(p *Isolated, shared bool) {
				p.Proxies = append(p.Proxies, api.ProjectPrefix{Prefix: prefix, Shared: shared})
			})
			things[prefix.Addr().Next()] = s
			if i == 2 {
				things[netip.MustParseAddr("2001:db8:77:ffff::3")] = s
				for j := range hosts {
					for _, q := range hosts[j].Prefixes {
						things[q.Addr().Next()] = stakes[j]
					}
				}
			}
		}
		n := network(net)
		for _, node := range n.Snapshot.Nodes {
			things[node.Loopback] = stake{}
		}
		n = n.WithIsolated(projects)
		for i := range hosts {
			h := &hosts[i]
			x := readIsolation(t, h.Switch, n.Links(n.Inventory.Switch(h.Switch)))
			from := []netip.Addr{h.Address}
			for _, p := range h.Prefixes {
				from = append(from, p.Addr().Next())
			}
			for to, theirs := range things {
				want := stakes[i].talks(theirs)
				if theirs.talks(stakes[i]) != want {
					t.Fatalf("seed %d: %v and %v hear each other in one direction", seed, stakes[i], theirs)
				}
				for _, src := range from {
					if got := x.reaches(h.AllPorts()[0], src, to); got != want {
						t.Errorf("seed %d: %s (%+v) from %v to %v (%+v): %v, want %v", seed, h.Name, stakes[i], src,
							to, theirs, got, want)
					}
				}
			}
		}
	}
}

// TestIsolationTakesFewEntries: a switch with outsiders has one entry for each destination in
// isolated projects, and a switch has, for each project among its hosts, one entry for each thing
// in the project, plus one.
func TestIsolationTakesFewEntries(t *testing.T) {
	// hosts of a leaf: 0 and 1 are a's, 2 and 3 b's, 4 is c's, 5 to 7 are in no project
	net := sample.Clos(4, 2, 8)
	of := []string{"a", "a", "b", "b", "c"}
	projects := []Isolated{{Name: "a"}, {Name: "b"}, {Name: "c"}}
	behind := map[string]int{}
	for i := range net.Inventory.Hosts {
		h := &net.Inventory.Hosts[i]
		k := behind[h.Switch]
		behind[h.Switch]++
		for j := range projects {
			if k < len(of) && projects[j].Name == of[k] {
				projects[j].Hosts = append(projects[j].Hosts, api.ProjectHost{Name: h.Name})
			}
		}
	}
	n := network(net).WithIsolated(projects)
	for sw, hosts := range behind {
		x := readIsolation(t, sw, n.Links(n.Inventory.Switch(sw)))
		total := 0
		for _, m := range x.verdicts {
			total += len(m)
		}
		if want := (8 + 8 + 4) + (1 + 8) + (1 + 8) + (1 + 4); hosts != 8 || total != want {
			t.Errorf("%s: %d entries for %d hosts, want %d", sw, total, hosts, want)
		}
	}
	for i := range n.Inventory.Switches {
		sw := &n.Inventory.Switches[i]
		if x := readIsolation(t, sw.Name, n.Links(sw)); behind[sw.Name] == 0 && len(x.verdicts) > 0 {
			t.Errorf("%s has no hosts, and %v", sw.Name, x.verdicts)
		}
	}
	if a, b := network(net), n.WithIsolated(nil); !reflect.DeepEqual(a.Links(&a.Inventory.Switches[0]),
		b.Links(&b.Inventory.Switches[0])) {
		t.Error("without isolated projects a switch holds something else than before there were any")
	}
}

// TestIsolatedNumbersStay: a project that comes or goes changes no number of another's hosts.
func TestIsolatedNumbersStay(t *testing.T) {
	net := sample.Clos(1, 2, 3)
	hosts := net.Inventory.Hosts
	one := Isolated{Name: "m", Hosts: []api.ProjectHost{{Name: hosts[0].Name}}}
	numbers := func(projects ...Isolated) uint64 {
		sw := hosts[0].Switch
		n := network(net).WithIsolated(projects)
		x := readIsolation(t, sw, n.Links(n.Inventory.Switch(sw)))
		who, _ := longest(x.admitted[uint64(hosts[0].AllPorts()[0])], hosts[0].Address)
		return who
	}
	alone := numbers(one)
	for _, other := range []string{"a", "z"} {
		projects := []Isolated{one, {Name: other, Hosts: []api.ProjectHost{{Name: hosts[1].Name}}}}
		slices.SortFunc(projects, func(a, b Isolated) int { return strings.Compare(a.Name, b.Name) })
		if got := numbers(projects...); got != alone || got == 0 {
			t.Errorf("beside %s: %d, alone %d", other, got, alone)
		}
	}
}

// TestDeliveries: where uSIDs lead to a host's port, an isolated network delivers there what is
// behind the port, and nothing else.
func TestDeliveries(t *testing.T) {
	net := sample.Clos(2, 2, 2)
	net.Inventory.Hosts[0].Prefixes = []netip.Prefix{netip.MustParsePrefix("2001:db8:77::/64")}
	beside := net.Inventory.Hosts[0] // a second host behind the same port
	beside.Name, beside.Address, beside.MAC, beside.Prefixes = "beside",
		netip.MustParseAddr("2001:db8:78::1"), inventory.MAC{2, 7, 7, 7, 7, 7}, nil
	net.Inventory.Hosts = append(net.Inventory.Hosts, beside)
	plainly := network(net)
	isolated := plainly.WithIsolated([]Isolated{{Name: "a",
		Hosts: []api.ProjectHost{{Name: net.Inventory.Hosts[0].Name}}}})
	clos, _ := closOf(t, plainly)
	for _, mode := range []ev.Mode{ev.ModeF3216, ev.ModeF1616, ev.ModeSRH, ev.ModeStructured,
		ev.ModeUSIDStructured} {
		a, err := ev.Assign(clos, ev.Format{Mode: mode}, ev.Numbers{})
		if err != nil {
			t.Fatal(err)
		}
		for i := range plainly.Inventory.Switches {
			sw := &plainly.Inventory.Switches[i]
			if x := readIsolation(t, sw.Name, plainly.EVs(sw, a)); len(x.ports) > 0 {
				t.Errorf("%v: %s, nothing isolated: %v", mode, sw.Name, x.ports)
			}
			x := readIsolation(t, sw.Name, isolated.EVs(sw, a))
			for _, at := range isolated.hostsOf[sw.Name] {
				for _, h := range net.Inventory.Hosts {
					verdict, judged := longest(x.ports[uint64(at.Hop.Port)], h.Address)
					want := h.Switch == sw.Name && h.AllPorts()[0] == at.Hop.Port
					if judged != mode.SRv6() || judged && verdict != want {
						t.Errorf("%v: %s, port %d, to %s: %v (%v), want %v", mode, sw.Name, at.Hop.Port, h.Name,
							verdict, judged, want)
					}
					for _, p := range h.Prefixes {
						if verdict, _ := longest(x.ports[uint64(at.Hop.Port)], p.Addr().Next()); mode.SRv6() &&
							verdict != want {
							t.Errorf("%v: %s, port %d, to %v: %v, want %v", mode, sw.Name, at.Hop.Port, p, verdict, want)
						}
					}
				}
			}
		}
	}
}
