package kernel

import (
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Queues are an HTB with more tokens than a port uses: HTB serves the first class by priority that
// has packets. The agent knows its own HTB by the handle; a replacement gets the other handle.
const (
	ownQueues, ownQueuesTo     = 0x5757, 0x5758
	unlimited, tokens, quantum = 400e9, 1 << 20, 1<<16 - 1 // bits a second, octets, octets
)

// arrange gives each port the queues that are wanted. It logs the first failure of a port in a row.
func (d *daemons) arrange() {
	for port, l := range d.links {
		err := d.arrangePort(port, l)
		if err != nil && d.refused[port] == nil {
			d.log.Warn("queues without effect", "port", port, "error", permitted(err))
		}
		d.refused[port] = err
	}
}

func (d *daemons) arrangePort(port string, l netlink.Link) error {
	all, err := d.rt.handle.QdiscList(l)
	if err != nil {
		return err
	}
	parent, mine, err := place(all)
	want, wanted := d.queuings[port]
	want.parent = parent
	switch {
	case !wanted && mine == nil, wanted && mine != nil && d.placed[port] == want:
		return nil
	case err != nil:
		return err
	case wanted:
		d.placed[port] = want
		return d.queue(l, mine, &want)
	case parent == netlink.HANDLE_ROOT:
		return d.rt.handle.QdiscDel(mine)
	}
	// A token bucket filter without anything would drop all.
	return d.rt.handle.QdiscReplace(&netlink.GenericQdisc{QdiscAttrs: netlink.QdiscAttrs{
		LinkIndex: l.Attrs().Index, Parent: parent}, QdiscType: "pfifo"})
}

// place returns the parent for the queues of an interface, and the agent's own queues there. The
// parent is a token bucket filter, by which an administrator gives a port a rate, or the root.
func place(all []netlink.Qdisc) (parent uint32, mine netlink.Qdisc, err error) {
	parent = netlink.HANDLE_ROOT
	for _, q := range all {
		major, _ := netlink.MajorMinor(q.Attrs().Handle)
		switch {
		case major == ownQueues || major == ownQueuesTo:
			if q.Attrs().Parent == parent { // else it goes with what holds it
				mine = q
			}
		case q.Attrs().Parent != netlink.HANDLE_ROOT || major == 0: // the kernel's own
		case q.Type() == "tbf":
			parent = netlink.MakeHandle(major, 1)
		default:
			err = fmt.Errorf("somebody else has a qdisc %s at the root", q.Type())
		}
	}
	return parent, mine, err
}

// queue gives an interface queues. Packets without a filter are in queue 0.
func (d *daemons) queue(l netlink.Link, mine netlink.Qdisc, q *queuing) error {
	index, h, major := l.Attrs().Index, d.rt.handle, uint16(ownQueues)
	if mine != nil && mine.Attrs().Handle == netlink.MakeHandle(ownQueues, 0) {
		major = ownQueuesTo
	}
	handle := netlink.MakeHandle(major, 0)
	htb := netlink.NewHtb(netlink.QdiscAttrs{LinkIndex: index, Parent: q.parent, Handle: handle})
	htb.Defcls = 1
	err := h.QdiscReplace(htb)
	for n := uint16(0); n < queues && err == nil; n++ {
		prio := uint32(queues - 1)
		if q.strict[n] {
			prio -= uint32(n)
		}
		err = h.ClassAdd(netlink.NewHtbClass(netlink.ClassAttrs{LinkIndex: index, Parent: handle,
			Handle: netlink.MakeHandle(major, n+1)}, netlink.HtbClassAttrs{Rate: unlimited,
			Buffer: tokens, Cbuffer: tokens, Prio: prio, Quantum: quantum}))
	}
	for dscp, n := range q.of {
		if n == 0 || err != nil {
			continue
		}
		err = h.FilterAdd(&netlink.U32{FilterAttrs: netlink.FilterAttrs{LinkIndex: index,
			Parent: handle, Priority: 1, Protocol: unix.ETH_P_IPV6},
			ClassId: netlink.MakeHandle(major, uint16(n)+1),
			Sel: &netlink.TcU32Sel{Flags: nl.TC_U32_TERMINAL, Nkeys: 1, Keys: []netlink.TcU32Key{
				{Mask: 0x3f << 22, Val: uint32(dscp) << 22}}}}) // of the first 32 bits of the header
	}
	return err
}
