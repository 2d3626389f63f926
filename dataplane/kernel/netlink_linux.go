package kernel

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

const (
	// protocol is the protocol number by which the agent recognizes its own routes: "W".
	protocol = 87
	// metric is the metric of the agent's routes, equal to the metric of a static route of FRR.
	metric = 20
)

// Attributes of a seg6local route that the library does not have
// (include/uapi/linux/seg6_local.h).
const (
	attrCounters = 10
	attrFlavors  = 11

	attrPackets, attrOctets, attrErrors = 2, 3, 4 // of attrCounters

	attrOperation, attrBlock, attrNode = 1, 2, 3 // of attrFlavors
	operationNextCSID                  = 1 << 4
)

var native = binary.NativeEndian

// rtnetlink speaks netlink with the kernel of one network namespace.
type rtnetlink struct {
	handle  *netlink.Handle
	sockets map[int]*nl.SocketHandle
	changes *nl.NetlinkSocket // of routes, interfaces and queues
}

// connect opens sockets in the network namespace of the thread.
func connect() (*rtnetlink, error) {
	k := new(rtnetlink)
	var err error
	if k.handle, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	s, err := nl.GetNetlinkSocketAt(netns.None(), netns.None(), unix.NETLINK_ROUTE)
	if err != nil {
		k.close()
		return nil, fmt.Errorf("netlink: %w", err)
	}
	k.sockets = map[int]*nl.SocketHandle{unix.NETLINK_ROUTE: {Socket: s}}
	if k.changes, err = nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_LINK,
		unix.RTNLGRP_IPV6_ROUTE, unix.RTNLGRP_TC); err != nil {
		k.close()
		return nil, fmt.Errorf("netlink: %w", err)
	}
	return k, nil
}

func (k *rtnetlink) close() {
	k.handle.Close()
	for _, s := range k.sockets {
		s.Close()
	}
	if k.changes != nil {
		k.changes.Close()
	}
}

// ends are the numbers of interfaces that routes lead over.
type ends struct {
	index map[string]int // by port
	port  map[int]string
	own   int // the interface of routes that lead over none
}

// encapsulation has the attributes of a seg6local route. It implements netlink.Encap.
type encapsulation struct {
	route *route
	out   int // interface of uA, 0 for none
}

// Type implements netlink.Encap.
func (e *encapsulation) Type() int { return nl.LWTUNNEL_ENCAP_SEG6_LOCAL }

// Encode implements netlink.Encap.
func (e *encapsulation) Encode() ([]byte, error) {
	actions := map[action]uint32{end: nl.SEG6_LOCAL_ACTION_END, endX: nl.SEG6_LOCAL_ACTION_END_X,
		endDT6: nl.SEG6_LOCAL_ACTION_END_DT6}
	attrs := []*nl.RtAttr{nl.NewRtAttr(nl.SEG6_LOCAL_ACTION,
		native.AppendUint32(nil, actions[e.route.action]))}
	switch e.route.action {
	case endX:
		attrs = append(attrs, nl.NewRtAttr(nl.SEG6_LOCAL_NH6, e.route.hops[0].via.AsSlice()))
		if e.out != 0 {
			attrs = append(attrs, nl.NewRtAttr(nl.SEG6_LOCAL_OIF,
				native.AppendUint32(nil, uint32(e.out))))
		}
	case endDT6:
		attrs = append(attrs, nl.NewRtAttr(nl.SEG6_LOCAL_TABLE,
			native.AppendUint32(nil, unix.RT_TABLE_MAIN)))
	}
	counters := nl.NewRtAttr(attrCounters|unix.NLA_F_NESTED, nil)
	for _, c := range []int{attrPackets, attrOctets, attrErrors} {
		counters.AddRtAttr(c, native.AppendUint64(nil, 0))
	}
	attrs = append(attrs, counters)
	if e.route.action != endDT6 {
		flavors := nl.NewRtAttr(attrFlavors|unix.NLA_F_NESTED, nil)
		flavors.AddRtAttr(attrOperation, native.AppendUint32(nil, operationNextCSID))
		flavors.AddRtAttr(attrBlock, []byte{e.route.block})
		flavors.AddRtAttr(attrNode, []byte{e.route.node})
		attrs = append(attrs, flavors)
	}
	var out []byte
	for _, a := range attrs {
		out = append(out, a.Serialize()...)
	}
	return out, nil
}

// Decode implements netlink.Encap. Routes are read without it.
func (e *encapsulation) Decode([]byte) error { return errors.ErrUnsupported }

// String implements netlink.Encap.
func (e *encapsulation) String() string { return fmt.Sprintf("seg6local %v", e.route) }

// Equal implements netlink.Encap.
func (e *encapsulation) Equal(o netlink.Encap) bool { return e == o }

// request returns a route as the library has it. A uA leads over the interface of the agent and
// names its own, where the kernel can (Linux 6.17 and later), else it leads over its own.
func (r *route) request(at *ends, direct bool) (*netlink.Route, error) {
	out := &netlink.Route{Dst: &net.IPNet{IP: r.prefix.Addr().AsSlice(),
		Mask: net.CIDRMask(r.prefix.Bits(), 128)}, Protocol: protocol, Priority: metric,
		Table: unix.RT_TABLE_MAIN}
	var indices []int
	for _, h := range r.hops {
		i, there := at.index[h.port]
		if !there {
			return nil, fmt.Errorf("port %s has no interface now", h.port)
		}
		indices = append(indices, i)
	}
	if r.action != forward {
		out.LinkIndex = at.own
		e := &encapsulation{route: r}
		if r.action == endX && direct {
			out.LinkIndex = indices[0]
		} else if r.action == endX {
			e.out = indices[0]
		}
		out.Encap = e
		return out, nil
	}
	for i, h := range r.hops {
		n := &netlink.NexthopInfo{LinkIndex: indices[i]}
		if h.via.IsValid() {
			n.Gw = h.via.AsSlice()
		}
		out.MultiPath = append(out.MultiPath, n)
	}
	if len(out.MultiPath) == 1 {
		out.LinkIndex, out.Gw, out.MultiPath = out.MultiPath[0].LinkIndex, out.MultiPath[0].Gw, nil
	}
	return out, nil
}

// put writes a route, in the place of another of the agent.
func (k *rtnetlink) put(r *route, at *ends) error {
	var first error
	for _, direct := range []bool{false, true} {
		q, err := r.request(at, direct)
		if err != nil {
			return err
		}
		if err = k.handle.RouteReplace(q); err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
		if r.action != endX || !errors.Is(err, unix.EINVAL) {
			break // no other form of it
		}
	}
	return fmt.Errorf("the kernel does not take the route to %v: %w", r.prefix, first)
}

// remove removes a route of the agent. The absence of the route is no error.
func (k *rtnetlink) remove(p netip.Prefix) error {
	err := k.handle.RouteDel(&netlink.Route{Dst: &net.IPNet{IP: p.Addr().AsSlice(),
		Mask: net.CIDRMask(p.Bits(), 128)}, Protocol: protocol, Priority: metric,
		Table: unix.RT_TABLE_MAIN})
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// counts are the counts of a local SID.
type counts struct{ packets, octets, errors uint64 }

// found is a route that the kernel has.
type found struct {
	route
	own    bool // of the agent
	clash  bool // of somebody else, in the place that one of the agent would have
	counts counts
}

// routes returns the unicast routes of the main table, except routes that lead nowhere.
func (k *rtnetlink) routes(at *ends) (out []found, err error) {
	req := nl.NewNetlinkRequest(unix.RTM_GETROUTE, unix.NLM_F_DUMP)
	req.Sockets = k.sockets
	m := nl.NewRtMsg()
	m.Family = unix.AF_INET6
	req.AddData(m)
	messages, err := req.Execute(unix.NETLINK_ROUTE, unix.RTM_NEWROUTE)
	if err != nil {
		return nil, fmt.Errorf("reading routes: %w", err)
	}
	for _, b := range messages {
		f, ok, err := decode(b, at)
		if err != nil {
			return nil, fmt.Errorf("reading routes: %w", err)
		}
		if ok {
			out = append(out, f)
		}
	}
	return out, nil
}

// decode reads a message of a route; ok is false for other messages.
func decode(b []byte, at *ends) (f found, ok bool, err error) {
	if len(b) < unix.SizeofRtMsg {
		return f, false, errors.New("a short message")
	}
	m := nl.DeserializeRtMsg(b)
	if m.Table != unix.RT_TABLE_MAIN || m.Type != unix.RTN_UNICAST || m.Flags&unix.RTM_F_CLONED != 0 {
		return f, false, nil
	}
	attrs, err := nl.ParseRouteAttr(b[unix.SizeofRtMsg:])
	if err != nil {
		return f, false, err
	}
	addr := netip.IPv6Unspecified()
	var over int
	var via netip.Addr
	var encap []byte
	priority := uint32(0)
	for _, a := range attrs {
		switch a.Attr.Type &^ unix.NLA_F_NESTED {
		case unix.RTA_DST:
			addr, _ = netip.AddrFromSlice(a.Value)
		case unix.RTA_OIF:
			over = int(native.Uint32(a.Value))
		case unix.RTA_GATEWAY:
			via, _ = netip.AddrFromSlice(a.Value)
		case unix.RTA_PRIORITY:
			priority = native.Uint32(a.Value)
		case unix.RTA_MULTIPATH:
			f.hops = append(f.hops, nextHops(a.Value, at)...)
		case unix.RTA_ENCAP:
			encap = a.Value
		}
	}
	if over != 0 {
		f.hops = append(f.hops, hop{port: at.port[over], via: via})
	}
	slices.SortFunc(f.hops, compareHops)
	f.prefix, f.own = netip.PrefixFrom(addr, int(m.Dst_len)), m.Protocol == protocol &&
		priority == metric
	f.clash = priority == metric && !f.own
	if encap != nil {
		return f, true, f.decapsulate(encap, at)
	}
	return f, true, nil
}

// nextHops reads the next hops of a route with several: struct rtnexthop and attributes of each.
func nextHops(b []byte, at *ends) (out []hop) {
	for len(b) >= unix.SizeofRtNexthop {
		size := int(native.Uint16(b))
		if size < unix.SizeofRtNexthop || size > len(b) {
			break
		}
		h := hop{port: at.port[int(native.Uint32(b[4:]))]}
		attrs, err := nl.ParseRouteAttr(b[unix.SizeofRtNexthop:size])
		if err != nil {
			break
		}
		for _, a := range attrs {
			if a.Attr.Type == unix.RTA_GATEWAY {
				h.via, _ = netip.AddrFromSlice(a.Value)
			}
		}
		out = append(out, h)
		b = b[min(len(b), (size+3)&^3):]
	}
	return out
}

// decapsulate reads the attributes special to a seg6local route. A flavor that the agent never
// writes makes the route differ from every wanted route.
func (f *found) decapsulate(b []byte, at *ends) error {
	attrs, err := nl.ParseRouteAttr(b)
	if err != nil {
		return err
	}
	over := f.hops
	f.hops, f.action = nil, -1
	var via netip.Addr
	for _, a := range attrs {
		switch a.Attr.Type &^ unix.NLA_F_NESTED {
		case nl.SEG6_LOCAL_ACTION:
			switch native.Uint32(a.Value) {
			case nl.SEG6_LOCAL_ACTION_END:
				f.action = end
			case nl.SEG6_LOCAL_ACTION_END_X:
				f.action = endX
			case nl.SEG6_LOCAL_ACTION_END_DT6:
				f.action = endDT6
			}
		case nl.SEG6_LOCAL_NH6:
			via, _ = netip.AddrFromSlice(a.Value)
		case nl.SEG6_LOCAL_OIF:
			over = []hop{{port: at.port[int(native.Uint32(a.Value))]}}
		case attrCounters:
			err = errors.Join(err, f.counts.decode(a.Value))
		case attrFlavors:
			err = errors.Join(err, f.flavors(a.Value))
		}
	}
	if f.action == endX && len(over) == 1 {
		f.hops = []hop{{port: over[0].port, via: via}}
	}
	return err
}

func (c *counts) decode(b []byte) error {
	attrs, err := nl.ParseRouteAttr(b)
	for _, a := range attrs {
		to := map[uint16]*uint64{attrPackets: &c.packets, attrOctets: &c.octets,
			attrErrors: &c.errors}[a.Attr.Type]
		if to != nil && len(a.Value) >= 8 {
			*to = native.Uint64(a.Value)
		}
	}
	return err
}

func (f *found) flavors(b []byte) error {
	attrs, err := nl.ParseRouteAttr(b)
	for _, a := range attrs {
		switch {
		case a.Attr.Type == attrOperation && len(a.Value) >= 4:
			if native.Uint32(a.Value) != operationNextCSID {
				f.action = -1
			}
		case a.Attr.Type == attrBlock && len(a.Value) > 0:
			f.block = a.Value[0]
		case a.Attr.Type == attrNode && len(a.Value) > 0:
			f.node = a.Value[0]
		}
	}
	return err
}
