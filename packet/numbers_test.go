package packet

import (
	"bytes"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestNumbers: constants match the numbers assigned by RFCs, IEEE and IBTA, and lengths match the
// figures of these documents.
func TestNumbers(t *testing.T) {
	for name, n := range map[string]struct{ is, want int }{
		"EtherType of IPv4 (RFC 894)":               {EtherTypeIPv4, 0x0800},
		"EtherType of ARP (RFC 826)":                {EtherTypeARP, 0x0806},
		"EtherType of IPv6 (RFC 2464)":              {EtherTypeIPv6, 0x86DD},
		"EtherType of LLDP (IEEE 802.1AB)":          {EtherTypeLLDP, 0x88CC},
		"ICMP (RFC 792)":                            {ProtocolICMP, 1},
		"IPv4 in IPv6 (RFC 2473)":                   {NextHeaderIPv4, 4},
		"UDP (RFC 768)":                             {NextHeaderUDP, 17},
		"IPv6 in IPv6 (RFC 2473)":                   {NextHeaderIPv6, 41},
		"routing header (RFC 8200)":                 {NextHeaderRouting, 43},
		"ICMPv6 (RFC 4443)":                         {NextHeaderICMPv6, 58},
		"no next header (RFC 8200)":                 {NextHeaderNone, 59},
		"Ethernet in IPv6 (RFC 8986)":               {NextHeaderEthernet, 143},
		"flow label of 20 bits (RFC 8200)":          {MaxFlowLabel, 0xFFFFF},
		"Time Exceeded (RFC 4443)":                  {ICMPv6TimeExceeded, 3},
		"Parameter Problem (RFC 4443)":              {ICMPv6ParameterProblem, 4},
		"erroneous header field (RFC 4443)":         {ICMPv6ErroneousField, 0},
		"SR Upper-layer Header Error (RFC 8754)":    {ICMPv6UpperLayerHeader, 4},
		"quoted in the least MTU (RFC 4443)":        {ICMPv6MaxQuoted, 1232},
		"Echo Request (RFC 4443)":                   {ICMPv6EchoRequest, 128},
		"Echo Reply (RFC 4443)":                     {ICMPv6EchoReply, 129},
		"Router Solicitation (RFC 4861)":            {ICMPv6RouterSolicitation, 133},
		"Router Advertisement (RFC 4861)":           {ICMPv6RouterAdvertisement, 134},
		"Neighbor Solicitation (RFC 4861)":          {ICMPv6NeighborSolicitation, 135},
		"Neighbor Advertisement (RFC 4861)":         {ICMPv6NeighborAdvertisement, 136},
		"Redirect (RFC 4861)":                       {ICMPv6Redirect, 137},
		"Listener Report (RFC 3810)":                {ICMPv6ListenerReport, 143},
		"Hop Limit of neighbor discovery":           {NDHopLimit, 255},
		"ARP request (RFC 826)":                     {ARPRequest, 1},
		"ARP reply (RFC 826)":                       {ARPReply, 2},
		"chassis by MAC (IEEE 802.1AB)":             {LLDPChassisMAC, 4},
		"chassis, locally assigned":                 {LLDPChassisLocal, 7},
		"port, locally assigned":                    {LLDPPortLocal, 7},
		"string of LLDP":                            {LLDPMaxString, 255},
		"RoCEv2 (IBTA annex A17)":                   {RoCEPort, 4791},
		"type of the SRH (RFC 8754)":                {RoutingTypeSRH, 4},
		"Pad1 (RFC 8754)":                           {int(TLVPad1), 0},
		"PadN (RFC 8754)":                           {int(TLVPadN), 4},
		"HMAC (RFC 8754)":                           {int(TLVHMAC), 5},
		"End.MT, for experiments":                   {int(TLVEndMTDefault), 124},
		"longest SRH":                               {SRHMaxLen, 2048},
		"longest padding of a PadN":                 {maxPadN, 5},
		"Not-ECT (RFC 3168)":                        {int(NotECT), 0},
		"ECT(1) (RFC 3168)":                         {int(ECT1), 1},
		"ECT(0) (RFC 3168)":                         {int(ECT0), 2},
		"CE (RFC 3168)":                             {int(CE), 3},
		"DSCP of 6 bits (RFC 2474)":                 {MaxDSCP, 63},
		"default partition (IBTA)":                  {DefaultPKey, 0xFFFF},
		"no credit (IBTA)":                          {CreditInvalid, 31},
		"endpoint operations (OCP MRC)":             {EndpointQPN, 2},
		"port of a mask of 32 bits":                 {MaxPort, 31},
		"greatest penalty (OCP MRC)":                {MaxRcvCwndPenalty, 127},
		"unit of rcvd_bytes (OCP MRC)":              {RcvdBytesUnit, 256},
		"unit of timestamps (OCP MRC)":              {int(TimestampUnit / time.Nanosecond), 128},
		"receivers of an End.MT TLV":                {EndMTMaxReceivers, 11},
		"entropy value":                             {EVBits, 32},
		"digest of an HMAC (RFC 8754)":              {HMACDigestLen, 32},
		"length of ARP":                             {ARPLen, 28},
		"length of Ethernet":                        {EthernetLen, 14},
		"length of IPv4":                            {IPv4Len, 20},
		"length of IPv6":                            {IPv6Len, 40},
		"length of UDP":                             {UDPLen, 8},
		"length of BTH":                             {BTHLen, 12},
		"length of AETH":                            {AETHLen, 4},
		"length of RETH":                            {RETHLen, 16},
		"length of ICRC":                            {ICRCLen, 4},
		"length of METH":                            {METHLen, 4},
		"length of TSETH":                           {TSETHLen, 4},
		"length of NETH":                            {NETHLen, 20},
		"length of ERTH":                            {ERTHLen, 16},
		"length of EETH":                            {EETHLen, 36},
		"length of a congestion control state":      {CCStateLen, 8},
		"length of a CNP's reserved octets":         {CNPLen, 16},
		"DSCP of data that is dropped, not trimmed": {int(DefaultDSCPClasses().NoTrim), 3},
		"DSCP of data that may be trimmed":          {int(DefaultDSCPClasses().Trimmable), 7},
		"DSCP of data that is sent again":           {int(DefaultDSCPClasses().TrimmableRetx), 11},
		"DSCP of what is trimmed":                   {int(DefaultDSCPClasses().Trimmed), 35},
		"DSCP of what is trimmed at the last hop":   {int(DefaultDSCPClasses().TrimmedLastHop), 39},
		"DSCP of control":                           {int(DefaultDSCPClasses().Control), 43},
	} {
		if n.is != n.want {
			t.Errorf("%s: %#x, want %#x", name, n.is, n.want)
		}
	}
	for name, m := range map[string]struct{ is, want MAC }{
		"all stations":                 {BroadcastMAC, MAC(unhex(t, "ffffffffffff"))},
		"nearest bridge (IEEE 802.1Q)": {LLDPAddress, MAC(unhex(t, "0180c200000e"))},
		"MAC control (IEEE 802.3)":     {PFCAddress, MAC(unhex(t, "0180c2000001"))},
	} {
		if m.is != m.want {
			t.Errorf("%s: %v, want %v", name, m.is, m.want)
		}
	}
	for o, want := range map[Opcode]Opcode{
		OpSendFirst: 0, OpSendMiddle: 1, OpSendLast: 2, OpSendLastImmediate: 3, OpSendOnly: 4,
		OpSendOnlyImmediate: 5, OpWriteFirst: 6, OpWriteMiddle: 7, OpWriteLast: 8,
		OpWriteLastImmediate: 9, OpWriteOnly: 10, OpWriteOnlyImmediate: 11, OpReadRequest: 12,
		OpReadResponseFirst:  13,
		OpReadResponseMiddle: 14, OpReadResponseLast: 15, OpReadResponseOnly: 16, OpAcknowledge: 17,
		OpAtomicAcknowledge: 18, OpCompareSwap: 19, OpFetchAdd: 20, OpSendLastInvalidate: 22,
		OpSendOnlyInvalidate: 23, OpCongestionNotification: 0x81, OpMRCWriteFirst: 0xC6,
		OpMRCWriteMiddle: 0xC7, OpMRCWriteLast: 0xC8, OpMRCWriteLastImmediate: 0xC9, OpMRCWriteOnly: 0xCA,
		OpMRCWriteOnlyImmediate: 0xCB, OpMRCAcknowledge: 0xD1, OpMRCEndpointRequest: 0xD8,
		OpMRCEndpointResponse: 0xD9, OpMRCSACK: 0xDC, OpMRCNACK: 0xDD, OpMRCProbe: 0xDE,
	} {
		if o != want {
			t.Errorf("%v: %#x, want %#x", o, uint8(o), uint8(want))
		}
	}
}

// TestEdgesOfLengths: parsers accept the minimum length of each header, and errors name the present
// and the needed length.
func TestEdgesOfLengths(t *testing.T) {
	if _, n, err := ParseEthernet(make([]byte, EthernetLen)); err != nil || n != EthernetLen {
		t.Errorf("an Ethernet header alone: %d, %v", n, err)
	}
	const solicit = "87 00 0000 00000000 20010db8000000000000000000000007"
	_, _, err := ParseND(unhex(t, solicit+"0101"))
	wantError(t, err, ErrTruncated, "2 octets", "need 8")
	eth := Ethernet{EtherType: EtherTypeIPv6}.Append(nil)
	ip := IPv6{PayloadLength: 100, Src: addr("::1"), Dst: addr("::2")}
	_, n, err := ParseSRv6Frame(append(ip.Append(eth), make([]byte, 99)...))
	if wantError(t, err, ErrTruncated, "139 octets", "need 140"); n != 0 {
		t.Errorf("refused, and took %d octets", n)
	}
	err = SRH{LastEntry: 1, SegmentList: make([]byte, 16)}.Validate()
	wantError(t, err, ErrMalformed, "16 octets", "want 32 with Last Entry 1")
	_, n, err = ParseRoCE(make([]byte, 200))
	if wantError(t, err, ErrUnsupported, "EtherType 0x0000"); n != 0 {
		t.Errorf("refused, and took %d octets", n)
	}
	fragment := IPv4{MoreFragments: true, TTL: 1, TotalLength: 100, Protocol: NextHeaderUDP,
		Src: addr("10.0.0.1"), Dst: addr("10.0.0.2")}.Append(nil)
	_, n, err = ParseIP(append(fragment, make([]byte, 80)...))
	if wantError(t, err, ErrUnsupported, "fragment"); n != 0 {
		t.Errorf("refused, and took %d octets", n)
	}
}

// TestPrefixOptions: a prefix may have 0 to 128 bits, and its flags are apart; reachable and
// retransmission times are.
func TestPrefixOptions(t *testing.T) {
	want := ND{Type: ICMPv6RouterAdvertisement, Reachable: 0x01020304, Retrans: 0x05060708}
	for i, bits := range []int{0, 1, 127, 128} {
		p := netip.PrefixFrom(addr("2001:db8::ffff"), bits).Masked()
		want.Prefixes = append(want.Prefixes, NDPrefix{Prefix: p, OnLink: i&1 > 0, Autonomous: i&2 > 0,
			Valid: 0x11121314, Preferred: 0x15161718})
	}
	b := want.Append(nil)
	got, n, err := ParseND(b)
	if err != nil || n != len(b) || got.Reachable != want.Reachable || got.Retrans != want.Retrans ||
		!slices.Equal(got.Prefixes, want.Prefixes) {
		t.Errorf("%+v, %d, %v", got, n, err)
	}
	if !bytes.Equal(b[8:16], []byte{1, 2, 3, 4, 5, 6, 7, 8}) {
		t.Errorf("times % x", b[8:16])
	}
	for i, flags := range []byte{0, 0x80, 0x40, 0xC0} {
		if got := b[16+32*i+3]; got != flags {
			t.Errorf("flags %#x, want %#x", got, flags)
		}
	}
}

// TestNDFrameAccepts: frames that RFC 4861 allows, close to the frames of TestNDFrameRefuses.
// Append writes the EtherType.
func TestNDFrameAccepts(t *testing.T) {
	for what, f := range map[string]NDFrame{
		"an RA of a link-local address": {IP: IPv6{Src: addr("fe80::1"), Dst: AllNodes},
			ND: ND{Type: ICMPv6RouterAdvertisement}},
		"an unsolicited NA to all": {IP: IPv6{Src: linuxAddr, Dst: AllNodes},
			ND: ND{Type: ICMPv6NeighborAdvertisement, Target: linuxAddr}},
		"a solicited NA to one": {IP: IPv6{Src: linuxAddr, Dst: linuxAddr},
			ND: ND{Type: ICMPv6NeighborAdvertisement, Target: linuxAddr, Solicited: true}},
		"an NS of a global address to one": {IP: IPv6{Src: linuxAddr, Dst: linuxAddr},
			ND: ND{Type: ICMPv6NeighborSolicitation, Target: linuxAddr, SourceMAC: linuxMAC}},
		"an RS without an address": {IP: IPv6{Src: netip.IPv6Unspecified(), Dst: AllRouters},
			ND: ND{Type: ICMPv6RouterSolicitation}},
	} {
		b := f.Append(nil)
		got, err := ParseNDFrame(b)
		if err != nil || got.Ethernet.EtherType != 0x86DD || got.ND.Type != f.ND.Type {
			t.Errorf("%s: %+v, %v", what, got, err)
		}
	}
}

// TestARPFrameBehind: Append pads a frame with zeros to the minimum Ethernet length, whatever b
// holds before; Append writes a non-IPv4 address as 0.0.0.0.
func TestARPFrameBehind(t *testing.T) {
	f := ARPFrame{ARP: ARP{Operation: ARPReply, Sender: linuxAddr, Target: addr("::ffff:10.0.0.2")}}
	before := bytes.Repeat([]byte{0xEE}, 30)
	b := f.Append(slices.Clone(before))
	if len(b) != 30+60 || !bytes.Equal(b[:30], before) || slices.Max(b[30+EthernetLen+ARPLen:]) != 0 {
		t.Errorf("% x", b)
	}
	got, err := ParseARPFrame(b[30:])
	if err != nil || got.ARP.Sender != addr("0.0.0.0") || got.ARP.Target != addr("10.0.0.2") {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestLLDPCutsOrganizations: a value of an organization has 507 octets at most.
func TestLLDPCutsOrganizations(t *testing.T) {
	for _, n := range []int{506, 507, 508, 2000} {
		h := LLDP{Chassis: LLDPID{7, "s"}, Port: LLDPID{7, "1"}, Organization: []LLDPOrganization{
			{OUI: [3]byte{1, 2, 3}, Subtype: 4, Value: strings.Repeat("x", n)},
			{Subtype: 5, Value: "after"}}}
		got, _, err := ParseLLDP(h.Append(nil))
		h.Organization[0].Value = h.Organization[0].Value[:min(n, 507)]
		if err != nil || !slices.Equal(got.Organization, h.Organization) {
			t.Errorf("%d octets: %+v, %v", n, got, err)
		}
	}
}

// TestDerivedFields: what Append derives is written whatever the fields have: EtherTypes and next
// headers.
func TestDerivedFields(t *testing.T) {
	srh, err := NewSRH(99, []netip.Addr{addr("fc00::1"), addr("fc00::2")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p := MRC{Ethernet: Ethernet{EtherType: 0x1234}, Encapsulated: true, Routed: true, SRH: srh,
		Outer: IPv6{NextHeader: 98, Src: addr("::1"), Dst: addr("fc00::1")},
		IPv6:  IPv6{NextHeader: 97, Src: addr("::1"), Dst: addr("::2")},
		UDP:   UDP{DstPort: RoCEPort}, BTH: MRCBTH{Opcode: OpMRCAcknowledge}}
	b := p.Append(nil)
	if b[12] != 0x86 || b[13] != 0xDD || b[EthernetLen+6] != NextHeaderRouting ||
		b[EthernetLen+IPv6Len] != NextHeaderIPv6 || b[EthernetLen+IPv6Len+srh.Len()+6] != NextHeaderUDP {
		t.Errorf("% x", b)
	}
	if p.Ethernet.EtherType != 0x1234 || p.SRH.NextHeader != 99 || p.IPv6.NextHeader != 97 {
		t.Errorf("Append has changed %+v", p)
	}
}

// TestDecapECNMasks: only the two bits of ECN count.
func TestDecapECNMasks(t *testing.T) {
	for inner := range uint8(4) {
		for outer := range uint8(4) {
			want, wantOK := DecapECN(inner, outer)
			if got, ok := DecapECN(inner|0xFC, outer|0x54); got != want || ok != wantOK {
				t.Errorf("%d in %d: %d, %v; want %d, %v", inner, outer, got, ok, want, wantOK)
			}
		}
	}
}

// TestEndMTListBounds: a QPN has 24 bits, and an SRH of so many segments 2,048 octets.
func TestEndMTListBounds(t *testing.T) {
	list := func(segments, receivers int, qpn uint32) ([]byte, error) {
		e := EdgeReceivers{Edge: addr("fc00::1")}
		for i := range receivers {
			a := addr("2001:db8::").As16()
			a[15] = byte(i)
			e.Receivers = append(e.Receivers, Receiver{Addr: netip.AddrFrom16(a), QPN: qpn})
		}
		return EndMTList(TLVEndMTDefault, segments, []EdgeReceivers{e})
	}
	if _, err := list(1, 1, 0xFFFFFF); err != nil {
		t.Errorf("a QPN of 24 bits: %v", err)
	}
	if _, err := list(1, 1, 0x1000000); err == nil {
		t.Error("a QPN of 25 bits")
	}
	b, err := list(1, 11, 5)
	if err != nil {
		t.Fatal(err)
	}
	most := (SRHMaxLen - SRHFixedLen - len(b)) / SegmentLen
	if _, err := list(most, 11, 5); err != nil {
		t.Errorf("%d segments: %v", most, err)
	}
	_, err = list(most+1, 11, 5)
	wantError(t, err, ErrTooLong, "at most 2048")
}

// TestAddressesMade: each octet of an Ethernet address, and each low octet of an IPv6 address,
// lands in its place in the derived address.
func TestAddressesMade(t *testing.T) {
	if got := LinkLocal(MAC{1, 2, 3, 4, 5, 6}); got != addr("fe80::302:3ff:fe04:506") {
		t.Errorf("link-local address %v", got)
	}
	a := addr("2001:db8:1122:3344:5566:7788:99aa:bbcc")
	if got := SolicitedNode(a); got != addr("ff02::1:ffaa:bbcc") {
		t.Errorf("solicited node %v", got)
	}
	if got := MulticastMAC(a); got != MAC(unhex(t, "333399aabbcc")) {
		t.Errorf("multicast MAC %v", got)
	}
}

// TestNonces: a nonce of any length is padded to whole units of 8 octets with its head.
func TestNonces(t *testing.T) {
	for n := 1; n < 32; n++ {
		m := ND{Type: ICMPv6RouterSolicitation, Nonce: bytes.Repeat([]byte{7}, n)}
		units := (n + 2 + 7) / 8
		b := m.Append(nil)
		if len(b) != 8+8*units || int(b[9]) != units {
			t.Errorf("%d octets: % x", n, b)
		}
		got, _, err := ParseND(b)
		if err != nil || len(got.Nonce) != 8*units-2 || !bytes.Equal(got.Nonce[:n], m.Nonce) {
			t.Errorf("%d octets: %+v, %v", n, got, err)
		}
	}
}

// TestWhatIsMissing: an error names the present and the needed length.
func TestWhatIsMissing(t *testing.T) {
	wantError(t, CheckICRC(append([]byte{6 << 4}, make([]byte, 62)...)), ErrTruncated, "63 octets",
		"need 64")
	const start = "02 03 07 6e31 04 02 07 31 "
	err := refused(t, ParseLLDP, unhex(t, start+"06"))
	wantError(t, err, ErrTruncated, "1 octets", "need 2")
	err = refused(t, ParseLLDP, unhex(t, start+"06 02 00"))
	wantError(t, err, ErrTruncated, "type 3", "3 octets", "need 4")
	err = refused(t, ParsePFC, make([]byte, 64))
	wantError(t, err, ErrUnsupported, "opcode 0x0000")
	four := IPv4{TTL: 1, TotalLength: IPv4Len, Src: addr("10.0.0.1"), Dst: addr("10.0.0.2")}.
		Append(nil)
	four[0] = 6<<4 | 5
	if err := refused(t, ParseIPv4, four); err == nil {
		t.Error("an IPv4 header of version 6 is read")
	}
}
