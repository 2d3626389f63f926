package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/weft-sdn/weft/cmd/weft/run"
	"github.com/weft-sdn/weft/topology/bgpls"
	"github.com/weft-sdn/weft/topology/static"
)

// bgpFlags say with whom a process has BGP-LS sessions.
type bgpFlags struct {
	listen  string
	peers   []string
	peerASN uint32
}

func (b *bgpFlags) register(f *pflag.FlagSet) {
	f.StringVar(&b.listen, "bgp-listen", "",
		"address:port where the BGP-LS peers connect to (default: connect to them)")
	f.StringArrayVar(&b.peers, "bgp-peer", nil,
		"ADDRESS[:PORT] of a BGP-LS peer, such as the controller; may be repeated (default port 179)")
	f.Uint32Var(&b.peerASN, "bgp-peer-asn", 0,
		"autonomous system of the BGP-LS peers (default that of the first node)")
}

// given returns the first set flag, "" for none.
func (b *bgpFlags) given() string {
	switch {
	case len(b.peers) > 0:
		return "--bgp-peer"
	case b.listen != "":
		return "--bgp-listen"
	case b.peerASN != 0:
		return "--bgp-peer-asn"
	}
	return ""
}

// check reads the flags for a speaker that is the node of an id.
func (b *bgpFlags) check(ctx context.Context, asn uint32, router netip.Addr) (
	s run.Sessions, err error,
) {
	s.Config = bgpls.Config{ASN: asn, RouterID: router}
	if len(b.peers) == 0 {
		return s, usagef("--bgp-peer is missing: want the address of the controller")
	}
	if err := checkListen(ctx, "--bgp-listen", b.listen); err != nil {
		return s, err
	}
	if b.listen != "" {
		host, port, _ := strings.Cut(b.listen, ":")
		if host == "" {
			b.listen = "[::]:" + port
		}
		if s.Config.Listen, err = netip.ParseAddrPort(b.listen); err != nil {
			return s, usagef("--bgp-listen is %q: want an IP address and a port", b.listen)
		}
	}
	for _, text := range b.peers {
		p := bgpls.Peer{ASN: cmp.Or(b.peerASN, asn), Passive: b.listen != ""}
		if ap, err := netip.ParseAddrPort(text); err == nil {
			p.Address, p.Port = ap.Addr(), ap.Port()
		} else if p.Address, err = netip.ParseAddr(strings.Trim(text, "[]")); err != nil {
			return s, usagef("--bgp-peer is %q: want an IP address, with or without a port, such as "+
				"192.0.2.100 or [2001:db8::1]:179", text)
		}
		if p.Passive && p.Port != 0 {
			return s,
				usagef("--bgp-peer is %q: with --bgp-listen peers connect to this process: want no port", text)
		}
		s.Peers = append(s.Peers, p)
	}
	return s, nil
}

// self holds the flags by which a switch describes itself.
type self struct {
	bgp      bgpFlags
	topology string
	node     string
	own      static.Node
	router   string
	loopback string
	locator  string
	prefixes []string
	links    []string
}

func (a *self) register(f *pflag.FlagSet) {
	a.bgp.register(f)
	f.StringVar(&a.topology, "topology", "",
		"YAML file of the network that the switch is a node of, which it advertises by BGP-LS "+
			"(docs/config.md, Topology)")
	f.StringVar(&a.node, "node", "",
		"name of the switch in the file of --topology, or in what it advertises")
	f.StringVar(&a.router, "router-id", "",
		"without --topology: the switch's router-id, an IPv4 address")
	f.Uint32Var(&a.own.ASN, "asn", 0, "without --topology: its autonomous system (default 64512)")
	f.StringVar(&a.loopback, "loopback", "", "without --topology: its loopback address, IPv6")
	f.StringVar(&a.locator, "locator", "", "without --topology: its SRv6 locator, a prefix")
	f.BoolVar(&a.own.PFC, "pfc", false, "without --topology: advertise the SIDs of PFC over SRv6")
	f.StringArrayVar(&a.prefixes, "prefix", nil,
		"without --topology: a further prefix that it advertises, such as a host's; may be repeated")
	f.StringArrayVar(&a.links, "link", nil,
		"without --topology: PORT=ROUTER-ID/PORT[,asn=N][,delay=D][,rate=BITS][,metric=N], a link to "+
			"another switch; may be repeated")
}

// check reads the flags. It returns nil when the switch advertises nothing.
func (a *self) check(ctx context.Context) (*run.Advertisement, error) {
	var own string // the first flag that describes the switch itself
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"--router-id", a.router != ""}, {"--asn", a.own.ASN != 0}, {"--loopback", a.loopback != ""},
		{"--locator", a.locator != ""},
		{"--pfc", a.own.PFC}, {"--prefix", len(a.prefixes) > 0}, {"--link", len(a.links) > 0},
	} {
		if f.given && own == "" {
			own = f.name
		}
	}
	out := &run.Advertisement{Node: a.node}
	var err error
	switch {
	case a.topology != "" && own != "":
		return nil, usagef("--topology and %s: want one of them", own)
	case a.topology != "":
		if out.Topology, err = static.Load(a.topology); err != nil {
			return nil, &usageError{err}
		}
		if a.node == "" {
			return nil, usagef("--node is missing: want one of %s", strings.Join(out.Topology.Names(), ", "))
		}
	case own != "":
		if out.Topology, err = a.described(); err != nil {
			return nil, err
		}
		out.Node = out.Topology.Nodes[0].Name
	default:
		if flag := cmp.Or(a.bgp.given(), map[bool]string{true: "--node"}[a.node != ""]); flag != "" {
			return nil, usagef("%s: want --topology or --router-id with it: the switch has nothing to "+
				"advertise", flag)
		}
		return nil, nil
	}
	all, ok := out.Topology.Of(out.Node, nil)
	if !ok {
		return nil, usagef("--node is %q: want one of %s", out.Node, strings.Join(out.Topology.Names(),
			", "))
	}
	out.Sessions, err = a.bgp.check(ctx, all.Node.ASN, all.Node.RouterID4)
	return out, err
}

// described makes a topology of the flags: the switch, and the neighbors that its links name, of
// which only the ids count.
func (a *self) described() (*static.Topology, error) {
	a.own.Name = cmp.Or(a.node, a.router)
	var err error
	if a.own.RouterID, err = netip.ParseAddr(a.router); err != nil || !a.own.RouterID.Is4() {
		return nil, usagef("--router-id is %q: want an IPv4 address", a.router)
	}
	if a.own.Loopback, err = netip.ParseAddr(a.loopback); err != nil {
		return nil, usagef("--loopback is %q: want a global unicast IPv6 address", a.loopback)
	}
	if a.own.Locator, err = netip.ParsePrefix(a.locator); err != nil {
		return nil, usagef("--locator is %q: want an IPv6 prefix such as 5f00:0:1::/48", a.locator)
	}
	for _, text := range a.prefixes {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, usagef("--prefix is %q: want an IPv6 prefix such as 2001:db8:1:1::1/128", text)
		}
		a.own.Prefixes = append(a.own.Prefixes, p)
	}
	t := &static.Topology{Nodes: []static.Node{a.own}}
	if faults := t.Validate(); len(faults) > 0 {
		flag := strings.ToLower(strings.NewReplacer("nodes[0].", "--", "routerId",
			"router-id").Replace(faults[0].Field))
		return nil, usagef("%s is %s: want %s", strings.Replace(flag, "--prefixes", "--prefix", 1),
			faults[0].Value, faults[0].Want)
	}
	for _, text := range a.links {
		l, neighbor, err := parseLink(text)
		if err != nil {
			return nil, usagef("--link is %q: %w", text, err)
		}
		i := slices.IndexFunc(t.Nodes, func(n static.Node) bool {
			return n.RouterID == neighbor.RouterID && n.ASN == neighbor.ASN
		})
		switch {
		case i == 0:
			return nil, usagef("--link is %q: want the router-id of another switch", text)
		case i < 0:
			neighbor.Name = fmt.Sprintf("neighbor %d", len(t.Nodes))
			i, t.Nodes = len(t.Nodes), append(t.Nodes, neighbor)
		}
		if slices.ContainsFunc(t.Links, func(o static.Link) bool { return o.PortA == l.PortA }) {
			return nil, usagef("--link is %q: port %d has a link already", text, l.PortA)
		}
		l.A, l.B = t.Nodes[0].Name, t.Nodes[i].Name
		t.Links = append(t.Links, l)
	}
	return t, nil
}

// parseLink reads the value of --link.
func parseLink(text string) (l static.Link, neighbor static.Node, err error) {
	const form = "want PORT=ROUTER-ID/PORT, such as 2=10.0.0.4/1"
	ends, options, _ := strings.Cut(text, ",")
	here, there, ok := strings.Cut(ends, "=")
	router, port, ok2 := strings.Cut(there, "/")
	if !ok || !ok2 {
		return l, neighbor, errors.New(form)
	}
	for _, p := range []struct {
		text string
		into *uint32
	}{{here, &l.PortA}, {port, &l.PortB}} {
		n, err := strconv.ParseUint(p.text, 10, 32)
		if err != nil || n < 1 || n > static.MaxPort {
			return l, neighbor, fmt.Errorf("port %q: want 1 to %d", p.text, static.MaxPort)
		}
		*p.into = uint32(n)
	}
	if neighbor.RouterID, err = netip.ParseAddr(router); err != nil || !neighbor.RouterID.Is4() {
		return l, neighbor, fmt.Errorf("router-id %q: %s", router, form)
	}
	if options == "" {
		return l, neighbor, nil
	}
	for option := range strings.SplitSeq(options, ",") {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "delay":
			err = l.Delay.UnmarshalText([]byte(value))
			if err == nil && time.Duration(l.Delay) < 0 {
				err = errors.New("want 0 or more")
			}
		case "rate":
			l.Rate, err = strconv.ParseUint(value, 10, 64)
		case "metric":
			err = parse32(value, 24, &l.Metric)
		case "asn":
			err = parse32(value, 32, &neighbor.ASN)
		default:
			err = errors.New("want asn, delay, rate or metric")
		}
		if err != nil {
			return l, neighbor, fmt.Errorf("option %q: %w", option, err)
		}
	}
	return l, neighbor, nil
}

func parse32(text string, bits int, into *uint32) error {
	n, err := strconv.ParseUint(text, 10, bits)
	*into = uint32(n)
	return err
}
