package api

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
)

const (
	maxConnectPort = 1<<16 - 2 // receivers have the one after it
	maxToken       = 32        // octets, as private data has room for
	maxPrefixes    = 64
)

var pathMTUs = []uint16{256, 512, 1024, 2048, 4096}

// connect checks a completed spec whose source and receivers connect by themselves.
func (v *validator) connect(s *MulticastGroupSpec) {
	c := s.Connect
	if c.Port < 1 || c.Port > maxConnectPort {
		v.bad("spec.connect.port", strconv.Itoa(int(c.Port)), fmt.Sprintf("a port from 1 to %d",
			maxConnectPort))
	}
	if !slices.Contains(pathMTUs, c.MTU) {
		v.bad("spec.connect.mtu", strconv.Itoa(int(c.MTU)), "256, 512, 1024, 2048 or 4096")
	}
	if n := len(c.Token); n > maxToken {
		v.bad("spec.connect.token", fmt.Sprintf("%d octets", n), fmt.Sprintf("at most %d octets",
			maxToken))
	}
	switch {
	case c.Source != SourceSpec && c.Source != SourceAny:
		v.bad("spec.connect.source", strconv.Quote(string(c.Source)), `"spec" or "any"`)
	case c.Source == SourceAny && s.Source.Address.IsValid():
		v.bad("spec.source.address", s.Source.Address.String(),
			`nothing with spec.connect.source "any": the host that connects first is the source`)
	}
	if n := len(c.Receivers); n > maxPrefixes {
		v.bad("spec.connect.receivers", fmt.Sprintf("%d prefixes", n),
			fmt.Sprintf("at most %d prefixes", maxPrefixes))
	}
	for i, p := range c.Receivers {
		if !isPrefix(p) || p.Addr().Is4() != s.ProxyAddress.Is4() {
			v.bad(fmt.Sprintf("spec.connect.receivers[%d]", i), p.String(),
				"a prefix of the family of the proxy address, without bits after its length")
		}
	}
	if most := v.env.Limits.Branches * 64; int(c.AtLeast) > most {
		v.bad("spec.connect.atLeast", strconv.Itoa(int(c.AtLeast)), fmt.Sprintf("1 to %d", most))
	}
	if s.Source.QPN != 0 {
		v.typed("spec.source.qpn", uint64(s.Source.QPN))
	}
	if s.Mode == ModeInband {
		v.bad("spec.mode", strconv.Quote(string(s.Mode)),
			`"provisioned" with spec.connect: an in-band source must know the queue pairs`)
	}
	if !s.RewritesSource() {
		v.bad("spec.rewriteSource", "false",
			"true with spec.connect: receivers are connected to the proxy address")
	}
}

// typed refuses what an application brings.
func (v *validator) typed(field string, value uint64) {
	v.bad(field, strconv.FormatUint(value, 10), "nothing with spec.connect: the application brings it")
}

// connected checks a receiver that connects by itself.
func (v *validator) connected(at string, r *GroupReceiver) {
	if r.QPN != 0 {
		v.typed(at+".qpn", uint64(r.QPN))
	}
	if r.StartMSN != 0 {
		v.typed(at+".startMsn", uint64(r.StartMSN))
	}
	for _, f := range []struct {
		name  string
		value *uint32
	}{{"startPsn", r.StartPSN}, {"psn", r.PSN}, {"rkey", r.RKey}} {
		if f.value != nil {
			v.typed(at+"."+f.name, uint64(*f.value))
		}
	}
	if r.VA != nil {
		v.typed(at+".va", *r.VA)
	}
}

// GroupRole is what a connected application is in a group.
type GroupRole string

// The roles.
const (
	RoleSource   GroupRole = "source"
	RoleReceiver GroupRole = "receiver"
)

// GroupConnection is an application connected to a group, or about to connect.
type GroupConnection struct {
	Address netip.Addr `json:"address"`
	Role    GroupRole  `json:"role" enum:"source,receiver"`
	State   string     `json:"state" enum:"asked,replied,asking,answered,established,leaving,time wait" doc:"As RDMA CM has it: asked, a request of the application waits for the tree; replied, the answer was sent; asking, the controller has sent a request; answered, the application has answered it; established; leaving, it is being ended; time wait, it has ended."`
	QPN     uint32     `json:"qpn,omitempty" doc:"The application's queue pair."`
	// PSNOffset is added to the PSN of each packet to a receiver, modulo 2^24.
	PSNOffset uint32 `json:"psnOffset,omitempty" doc:"Of a receiver: what the edge adds to the PSN of each packet, modulo 2^24, and takes from that of each response, since a queue pair chooses its first PSN. Absent where that is the group's."`
	// Listens: it was the controller that connected.
	Listens bool `json:"listens,omitempty" doc:"The application listens, and the controller has connected."`
}
