package kernel

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sdn/weft/internal/sonicdb"
)

// action is what the kernel does with a packet to a prefix.
type action int

const (
	forward action = iota // to the next hops
	end                   // uN: End with next-csid
	endX                  // uA: End.X with next-csid
	endDT6                // uDT6: End.DT6 into the main table
)

// hop is a next hop of a route.
type hop struct {
	port string     // of the switch, as the databases name it
	via  netip.Addr // invalid: the destination is on the link itself
}

// route is a route of the kernel, in the main table.
type route struct {
	prefix netip.Prefix
	action action
	// block and node are the lengths in bits of the locator block and of a uSID, of uN and uA.
	block, node uint8
	hops        []hop // in order; of uN and uDT6 none
}

// same reports whether two routes do the same.
func (r *route) same(o *route) bool {
	return r.prefix == o.prefix && r.action == o.action && r.block == o.block && r.node == o.node &&
		slices.Equal(r.hops, o.hops)
}

// Tables of CONFIG_DB that routes are made of.
const (
	tableLocators = "SRV6_MY_LOCATORS"
	tableSIDs     = "SRV6_MY_SIDS"
	tableRoutes   = "STATIC_ROUTE"
	tablePorts    = "PORT"
)

// wanted returns the routes that CONFIG_DB asks for, by prefix. The error has all rows that no
// kernel can carry out.
func wanted(config sonicdb.Database) (map[netip.Prefix]route, error) {
	out := make(map[netip.Prefix]route)
	var errs []error
	take := func(table, key string, r route, err error) {
		if err != nil {
			errs = append(errs, fmt.Errorf("%s|%s: %w", table, key, err))
			return
		}
		if _, twice := out[r.prefix]; twice {
			errs = append(errs, fmt.Errorf("%s|%s: another row has %v too", table, key, r.prefix))
			return
		}
		out[r.prefix] = r
	}
	ports := config[tablePorts]
	for _, key := range slices.Sorted(maps.Keys(config[tableSIDs])) {
		r, err := sidOf(key, config[tableSIDs][key], config[tableLocators], ports)
		take(tableSIDs, key, r, err)
	}
	for _, key := range slices.Sorted(maps.Keys(config[tableRoutes])) {
		r, err := staticOf(key, config[tableRoutes][key], ports)
		take(tableRoutes, key, r, err)
	}
	return out, errors.Join(errs...)
}

func text(row map[string]any, field string) string {
	if v, ok := row[field]; ok {
		return fmt.Sprint(v)
	}
	return ""
}

// length returns a length in bits of a locator: a multiple of 8, as the kernel requires.
func length(locator map[string]any, field, otherwise string) (uint8, error) {
	given := cmp.Or(text(locator, field), otherwise)
	n, err := strconv.ParseUint(given, 10, 8)
	if err != nil || n == 0 || n > 120 || n%8 != 0 {
		return 0, fmt.Errorf("%s is %q: want a multiple of 8 from 8 to 120", field, given)
	}
	return uint8(n), nil
}

// sidOf returns the route of a row of SRV6_MY_SIDS.
func sidOf(key string, row map[string]any, locators, ports sonicdb.Table) (r route, err error) {
	locator, prefix, _ := strings.Cut(key, "|")
	if r.prefix, err = netip.ParsePrefix(prefix); err != nil || !r.prefix.Addr().Is6() {
		return r, fmt.Errorf("%q is no IPv6 prefix", prefix)
	}
	r.prefix = r.prefix.Masked()
	if vrf := text(row, "decap_vrf"); vrf != "" && vrf != "default" {
		return r, fmt.Errorf("decap_vrf is %q: want default, the agent has no VRF", vrf)
	}
	switch what := text(row, "action"); what {
	case "uN":
		r.action = end
	case "uA":
		r.action = endX
		h := hop{port: text(row, "interface")}
		if ports[h.port] == nil {
			return r, fmt.Errorf("interface is %q: want a port", h.port)
		}
		if h.via, err = netip.ParseAddr(text(row, "adj")); err != nil || !h.via.Is6() {
			return r, fmt.Errorf("adj is %q: want an IPv6 address, the kernel looks for none",
				text(row, "adj"))
		}
		r.hops = []hop{h}
	case "uDT46", "uDT6":
		r.action = endDT6
		return r, nil
	default:
		return r, fmt.Errorf("action is %q: want uN, uA or uDT46", what)
	}
	if r.block, err = length(locators[locator], "block_len", "32"); err != nil {
		return r, err
	}
	if r.node, err = length(locators[locator], "node_len", "16"); err != nil {
		return r, err
	}
	if int(r.block)+int(r.node) > 128 {
		return r, fmt.Errorf("block_len and node_len are %d together: want at most 128",
			int(r.block)+int(r.node))
	}
	return r, nil
}

// staticOf returns the route of a row of STATIC_ROUTE.
func staticOf(key string, row map[string]any, ports sonicdb.Table) (r route, err error) {
	vrf, prefix, ok := strings.Cut(key, "|")
	if !ok {
		vrf, prefix = "default", key
	}
	if vrf != "default" {
		return r, fmt.Errorf("the VRF is %q: want default, the agent has no other", vrf)
	}
	if r.prefix, err = netip.ParsePrefix(prefix); err != nil || !r.prefix.Addr().Is6() {
		return r, fmt.Errorf("%q is no IPv6 prefix", prefix)
	}
	r.prefix = r.prefix.Masked()
	names, hops := strings.Split(text(row, "ifname"), ","), strings.Split(text(row, "nexthop"), ",")
	if len(names) != len(hops) {
		return r, fmt.Errorf("ifname has %d entries, and nexthop %d", len(names), len(hops))
	}
	for i, name := range names {
		h := hop{port: name}
		if ports[name] == nil {
			return r, fmt.Errorf("ifname is %q: want a port", name)
		}
		via, err := netip.ParseAddr(hops[i])
		if err != nil || !via.Is6() {
			return r, fmt.Errorf("nexthop is %q: want an IPv6 address, :: for none", hops[i])
		}
		if !via.IsUnspecified() {
			h.via = via
		}
		if slices.Contains(r.hops, h) {
			return r, fmt.Errorf("next hop %v over %s is there twice", via, name)
		}
		r.hops = append(r.hops, h)
	}
	slices.SortFunc(r.hops, compareHops)
	return r, nil
}

func compareHops(a, b hop) int {
	return cmp.Or(cmp.Compare(a.port, b.port), a.via.Compare(b.via))
}

// cannot are tables that Linux, or this agent, makes nothing of: a row there would promise what no
// packet sees.
var cannot = map[string]string{
	"SWITCH_TRIMMING": "Linux does not trim packets (SWITCH_TRIMMING_CAPABLE is false)",
	"BUFFER_PROFILE":  "a kernel has no such buffers",
	"BUFFER_QUEUE":    "a kernel has no such buffers",
	"TC_TO_DSCP_MAP":  "Linux does not trim packets",
	"WRED_PROFILE":    "the kernel makes no marks, and End.DT6 hands on none",
	"SWITCH_HASH":     "it is net.ipv6.fib_multipath_hash_policy that says how the kernel hashes",
}

// checkTables returns which table has rows that nothing comes of.
func checkTables(config sonicdb.Database) error {
	for _, table := range slices.Sorted(maps.Keys(cannot)) {
		if len(config[table]) > 0 {
			return fmt.Errorf("%s: %s", table, cannot[table])
		}
	}
	return nil
}
