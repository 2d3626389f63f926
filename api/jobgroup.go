package api

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// MaxJobMulticast bounds the queue pairs of the multicast groups of a communicator: its ranks times
// its groups.
const MaxJobMulticast = 65536

// JobMulticast defines the multicast groups that carry a communicator's data: one group for a
// broadcast, with the first rank as source, and one group per rank for an all-gather.
type JobMulticast struct {
	NIC           string         `json:"nic,omitempty" maxLength:"253" names:"-" doc:"Name of the RoCEv2 NIC of a rank in the inventory, as spec.nic. Default spec.nic."`
	ProxyAddress  netip.Addr     `json:"proxyAddress" names:"-" format:"ipv6" doc:"Proxy address of the group. The groups of an all-gather have the addresses from it on, in the order of the ranks."`
	DesignatedQPN uint32         `json:"designatedQpn" names:"-" minimum:"2" maximum:"16777215" doc:"Destination queue pair of everything sent to a proxy address."`
	QPN           uint32         `json:"qpn,omitempty" names:"-" maximum:"16777215" doc:"Number of the queue pair of each rank, where all have the same. In an all-gather, those of the groups after the first are one more each."`
	QueuePairs    []JobQueuePair `json:"queuePairs,omitempty" maxItems:"65536" doc:"In place of qpn: the queue pair of each rank, in the order of the communicator. In an all-gather, those of all ranks for the first group, then for the second, and so on. Neither: the group waits for them."`
}

// JobQueuePair is the queue pair of a rank in a group.
type JobQueuePair struct {
	QPN  uint32  `json:"qpn" names:"-" minimum:"2" maximum:"16777215" doc:"Its number."`
	VA   *uint64 `json:"va,omitempty" names:"-" format:"uint64" doc:"Of a receiver: virtual address of its memory, where it differs from the source's idea of it; with rkey."`
	RKey *uint32 `json:"rkey,omitempty" names:"-" format:"uint32" maximum:"4294967295" doc:"Of a receiver: R_Key of its memory; with va."`
}

// JobGroup is a multicast group that a job wants.
type JobGroup struct {
	Communicator string        `json:"communicator" doc:"Whose data it carries."`
	Source       int           `json:"source" doc:"Rank that sends."`
	Receivers    int           `json:"receivers" doc:"How many ranks receive."`
	Group        string        `json:"group,omitempty" doc:"Name of the multicast group; absent while there is none."`
	State        JobGroupState `json:"state" enum:"Waiting,Refused,Installing,Programmed" doc:"Waiting: its queue pairs are not known. Refused: it cannot be made, and is tried again."`
	Why          string        `json:"why,omitempty" doc:"The obstacle, in words."`
}

// JobGroupState is the progress of a group of a job.
type JobGroupState string

// The states.
const (
	JobGroupWaiting    JobGroupState = "Waiting"
	JobGroupRefused    JobGroupState = "Refused"
	JobGroupInstalling JobGroupState = "Installing"
	JobGroupProgrammed JobGroupState = "Programmed"
)

// Groups returns how many groups a communicator of n ranks has.
func (c *JobCommunicator) Groups(n int) int {
	switch {
	case c.Multicast == nil:
		return 0
	case c.Pattern == PatternAllGather:
		return n
	}
	return 1
}

// Group returns the k-th group of a communicator. nics lists the communicator's addresses by rank.
// ok is false until the queue pairs are known. The communicator must be valid.
func (c *JobCommunicator) Group(k int, nics []netip.Addr) (s MulticastGroupSpec, ok bool) {
	m := c.Multicast
	pair := func(i int) JobQueuePair {
		if len(m.QueuePairs) > 0 {
			return m.QueuePairs[k*len(nics)+i]
		}
		return JobQueuePair{QPN: m.QPN + uint32(k)}
	}
	s = MulticastGroupSpec{ProxyAddress: after(m.ProxyAddress, k), DesignatedQPN: m.DesignatedQPN}
	for i, a := range nics {
		q := pair(i)
		if i == k {
			s.Source = GroupSource{Address: a, QPN: q.QPN}
			continue
		}
		s.Receivers = append(s.Receivers, GroupReceiver{Address: a, QPN: q.QPN, VA: clone(q.VA),
			RKey: clone(q.RKey)})
	}
	return s, m.QPN != 0 || len(m.QueuePairs) > 0
}

// after returns the address n after another one.
func after(a netip.Addr, n int) netip.Addr {
	b := a.As16()
	for i := len(b) - 1; i >= 0 && n > 0; i-- {
		n += int(b[i])
		b[i] = byte(n)
		n >>= 8
	}
	return netip.AddrFrom16(b)
}

// jobMulticast checks the groups of a communicator of so many ranks.
func (v *validator) jobMulticast(s *JobSpec, at string, c *JobCommunicator, members []int,
	env JobEnv) {
	m := c.Multicast
	at += "multicast"
	if c.Pattern != PatternBroadcast && c.Pattern != PatternAllGather {
		v.bad(at, string(c.Pattern), "no multicast: only broadcast and all-gather have groups")
		return
	}
	n := len(members)
	groups := c.Groups(n)
	v.count(at, n*groups, 2, MaxJobMulticast, "number of queue pairs of its groups")
	if v.unicast(at+".proxyAddress", m.ProxyAddress) && !v.unicast(at+".proxyAddress",
		after(m.ProxyAddress, groups-1)) {
		return
	}
	v.number(at+".designatedQpn", m.DesignatedQPN, 2, maxQPN, "queue pair number")
	switch {
	case m.QPN != 0 && len(m.QueuePairs) > 0:
		v.bad(at+".queuePairs", fmt.Sprintf("%d queue pairs", len(m.QueuePairs)),
			"qpn or queuePairs, not both")
	case m.QPN != 0:
		v.number(at+".qpn", m.QPN, 2, maxQPN-uint32(groups-1), "queue pair number")
	case len(m.QueuePairs) > 0 && len(m.QueuePairs) != n*groups:
		v.bad(at+".queuePairs", fmt.Sprintf("%d queue pairs", len(m.QueuePairs)),
			fmt.Sprintf("%d: one for each of %d ranks in each of %d groups", n*groups, n, groups))
	}
	for i, q := range m.QueuePairs {
		of := fmt.Sprintf("%s.queuePairs[%d]", at, i)
		v.number(of+".qpn", q.QPN, 2, maxQPN, "queue pair number")
		if (q.VA == nil) != (q.RKey == nil) {
			v.bad(of+".va", "given without the other", "va and rkey together, or neither")
		}
	}
	v.jobMulticastNICs(s, at, m, members, env)
}

// jobMulticastNICs checks that the inventory contains the NICs of a communicator's groups.
func (v *validator) jobMulticastNICs(s *JobSpec, at string, m *JobMulticast, members []int,
	env JobEnv) {
	places, err := s.Places(env.Expand)
	if err != nil {
		return // that is a fault of its own
	}
	var unknown []string
	for _, r := range members {
		name := s.MulticastNIC(m, places[r])
		if !env.HasNIC(name) && len(unknown) < someNames {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		v.bad(at+".nic", strconv.Quote(m.NIC),
			"how the RoCEv2 NICs are named that the inventory has as hosts; it lacks "+
				strings.Join(unknown, ", "))
	}
}

// MulticastNIC returns the name of the NIC of a rank in groups.
func (s *JobSpec) MulticastNIC(m *JobMulticast, at JobRank) string {
	if m.NIC == "" {
		return s.NICOf(at.Host, at.NIC)
	}
	of := JobSpec{NIC: m.NIC}
	return of.NICOf(at.Host, at.NIC)
}

// HasGroups reports whether communicators of a job have multicast groups.
func (s *JobSpec) HasGroups() bool {
	return slices.ContainsFunc(s.Communicators,
		func(c JobCommunicator) bool { return c.Multicast != nil })
}
