package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"runtime"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// trials lists routes that the kernel must accept, each with the feature that the route needs.
var trials = []struct {
	route route
	what  string
}{
	{route{action: endDT6}, "SRv6 (CONFIG_IPV6_SEG6_LWTUNNEL)"},
	{route{action: end, block: 32, node: 16}, "End with the flavor next-csid (Linux 6.1)"},
	{route{action: endX, block: 32, node: 16, hops: []hop{{port: "own",
		via: netip.AddrFrom16([16]byte{0: 0xfe, 1: 0x80, 15: 1})}}},
		"End.X with the flavor next-csid over a link-local address (Linux 6.17)"},
}

// Lacks returns the features that the kernel lacks to be a switch. It tries each feature in a
// network namespace of its own. The error reports that Lacks could not try.
func Lacks() (lacks []string, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: the namespace ends with the thread
		if err = unix.Unshare(unix.CLONE_NEWNET); err != nil {
			if errors.Is(err, fs.ErrPermission) {
				err = permitted(err)
			}
			return
		}
		lacks, err = try()
	}()
	<-done
	return lacks, err
}

func try() (lacks []string, err error) {
	rt, err := connect()
	if err != nil {
		return nil, err
	}
	defer rt.close()
	d := &daemons{rt: rt, own: ownInterface}
	if err := d.makeOwn(); err != nil {
		return []string{fmt.Sprintf("interfaces of kind dummy or bridge: %v", err)}, nil
	}
	l, err := rt.handle.LinkByName(d.own)
	if err != nil {
		return nil, err
	}
	at := &ends{own: l.Attrs().Index, index: map[string]int{"own": l.Attrs().Index},
		port: map[int]string{l.Attrs().Index: "own"}}
	for i, x := range trials {
		x.route.prefix = netip.PrefixFrom(netip.AddrFrom16([16]byte{0: 0x5f, 5: byte(i + 1)}), 48)
		q, err := x.route.request(at, false)
		if err == nil {
			err = rt.handle.RouteReplace(q)
		}
		has, failed := rt.routes(at)
		taken := err == nil && failed == nil
		for j := range has {
			taken = taken && (has[j].prefix != x.route.prefix || has[j].same(&x.route))
		}
		if !taken { // old kernels take an attribute that they do not know, and forget it
			lacks = append(lacks, x.what)
		}
	}
	if d.queue(l, nil, &queuing{of: [64]uint8{1: 1}, parent: netlink.HANDLE_ROOT}) != nil {
		lacks = append(lacks, "queues (CONFIG_NET_SCH_HTB, CONFIG_NET_CLS_U32)")
	}
	return lacks, nil
}
