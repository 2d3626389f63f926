package device

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/api/hostapi"
)

// reduced is H.Encaps.Red (RFC 8986, section 5.2): the one segment is the outer destination, and no
// segment routing header is added. Mode SEG6_IPTUN_MODE_ENCAP_RED of linux/seg6_iptunnel.h.
const reduced = 3

// Seg6 has Linux encapsulate what it sends to the destinations: a multipath route each, with a next
// hop for each EV, among which the kernel chooses: by flow with the value 1 of
// net.ipv6.fib_multipath_hash_policy, else by addresses. It implements Backend, and needs
// CAP_NET_ADMIN. The routes have the protocol Weft; those of an earlier start are replaced.
type Seg6 struct {
	handle *netlink.Handle
	hops   []Hop
	links  []int // indexes of the interfaces
}

// Weft is the protocol of the routes (rtm_protocol).
const Weft = 87

// NewSeg6 opens a backend in the network namespace of the thread. Without CAP_NET_ADMIN it fails at
// once: the kernel refuses to remove even a route that it does not have.
func NewSeg6(hops []Hop) (*Seg6, error) {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("netlink: %w", err)
	}
	s := &Seg6{handle: h, hops: hops}
	for _, hop := range hops {
		l, err := h.LinkByName(hop.Interface)
		if err != nil {
			h.Close()
			return nil, fmt.Errorf("interface %s: %w", hop.Interface, err)
		}
		s.links = append(s.links, l.Attrs().Index)
	}
	none := &net.IPNet{IP: net.IPv6unspecified, Mask: net.CIDRMask(128, 128)}
	if err := h.RouteDel(new(route(none))); errors.Is(err, unix.EPERM) {
		h.Close()
		return nil, fmt.Errorf("routes need CAP_NET_ADMIN: %w", err)
	}
	return s, nil
}

// Ports implements Backend.
func (s *Seg6) Ports() hostapi.PortMask { return hostapi.FirstPorts(len(s.hops)) }

// Close ends the use of the kernel; the routes stay.
func (s *Seg6) Close() error {
	s.handle.Close()
	return nil
}

// Apply implements Backend. Since the kernel looks the outer destination up again, each EV has a
// route of its own to its port too. An EV by two ports is a *hostapi.FieldError. If the kernel
// refuses a route, those before are put back.
func (s *Seg6) Apply(paths []Path) error {
	want, err := s.routes(paths)
	if err != nil {
		return err
	}
	held, err := s.held()
	if err != nil {
		return err
	}
	for i := range want {
		if err := s.handle.RouteReplace(&want[i]); err != nil {
			return errors.Join(fmt.Errorf("route %v: %w", want[i].Dst, err), s.restore(held, want[:i]))
		}
	}
	return s.drop(held, want)
}

// restore puts routes back in place of those that were made.
func (s *Seg6) restore(held, made []netlink.Route) (err error) {
	for i := range held {
		err = errors.Join(err, s.handle.RouteReplace(&held[i]))
	}
	return errors.Join(err, s.drop(made, held))
}

// drop removes the routes to what others do not lead to.
func (s *Seg6) drop(held, kept []netlink.Route) (err error) {
	keep := make(map[string]bool, len(kept))
	for _, r := range kept {
		keep[r.Dst.String()] = true
	}
	for _, r := range held {
		if keep[r.Dst.String()] {
			continue
		}
		if gone := s.handle.RouteDel(new(route(r.Dst))); gone != nil && !errors.Is(gone, syscall.ESRCH) {
			err = errors.Join(err, fmt.Errorf("route %v: %w", r.Dst, gone))
		}
	}
	return err
}

// held returns the routes of Weft that the kernel has.
func (s *Seg6) held() ([]netlink.Route, error) {
	all, err := s.handle.RouteListFiltered(netlink.FAMILY_V6, new(route(nil)),
		netlink.RT_FILTER_PROTOCOL|netlink.RT_FILTER_TABLE)
	if err != nil {
		err = fmt.Errorf("routes: %w", err)
	}
	return all, err
}

// route is a route of Weft.
func route(to *net.IPNet) netlink.Route {
	return netlink.Route{Dst: to, Protocol: Weft, Table: unix.RT_TABLE_MAIN}
}

// routes returns the routes of paths, EV routes first, because other routes lead to them.
func (s *Seg6) routes(paths []Path) (out []netlink.Route, err error) {
	ports := make(map[netip.Addr]uint8)
	var encaps []netlink.Route
	for _, p := range paths {
		r := route(ipNet(p.Destination))
		for _, v := range p.EVs {
			to := outer(v)
			if v.Port == 0 || int(v.Port) > len(s.hops) {
				return nil, noPort(v, len(s.hops))
			}
			if port, ok := ports[to]; ok && port != v.Port {
				return nil, &hostapi.FieldError{Code: hostapi.CodeUnsupported, Field: "evs",
					Reason: fmt.Sprintf("%v leaves by the ports %d and %d, and Linux has one route to it: "+
						"want uSIDs that differ by plane", to, port, v.Port)}
			}
			hop := s.hops[v.Port-1]
			if _, ok := ports[to]; !ok {
				ports[to] = v.Port
				direct := route(ipNet(netip.PrefixFrom(to, 128)))
				direct.LinkIndex, direct.Gw = s.links[v.Port-1], hop.Gateway.AsSlice()
				out = append(out, direct)
			}
			r.MultiPath = append(r.MultiPath, &netlink.NexthopInfo{LinkIndex: s.links[v.Port-1],
				Gw:    hop.Gateway.AsSlice(),
				Encap: &netlink.SEG6Encap{Mode: reduced, Segments: []net.IP{to.AsSlice()}}})
		}
		if len(r.MultiPath) > 0 {
			encaps = append(encaps, r)
		}
	}
	return append(out, encaps...), nil
}

func ipNet(p netip.Prefix) *net.IPNet {
	return &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())}
}
