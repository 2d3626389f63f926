package api

// GroupLimits are what a network of switches can hold. The API shows these limits, and refuses
// groups that exceed them.
type GroupLimits struct {
	// Groups of a controller; every switch numbers them alike. At most 1,024.
	Groups int `json:"groups" yaml:"groups" doc:"Groups of the controller."`
	// Branches, children and receivers together, of a node and group. At most 32.
	Branches int `json:"branches" yaml:"branches" doc:"Children and receivers of a node and group."`
	// ReceiversPerEdge of a group. At most 32.
	ReceiversPerEdge int `json:"receiversPerEdge" yaml:"receiversPerEdge" doc:"Receivers of a group on one edge."`
	// SRHOctets is the greatest SRH of an in-band group: 8 + 2 x 16 octets and
	// the TLVs, padded to 8. At most 2,048 (RFC 8754 section 2: Hdr Ext Len).
	SRHOctets int `json:"srhOctets" yaml:"srhOctets" doc:"Octets of the SRH of an in-band group."`
}

// StandardGroupLimits returns the limits of the Weft fabric program.
func StandardGroupLimits() GroupLimits {
	return GroupLimits{Groups: 1024, Branches: 32, ReceiversPerEdge: 32, SRHOctets: 2048}
}

// Sizes of the SRH and of the End.MT TLV (RFC 8754 section 2, draft section
// 7.2; docs/multicast.md, End.MT TLV).
const (
	srhFixedOctets     = 8
	segmentOctets      = 16
	segments           = 2
	tlvHeaderOctets    = 2 + 22
	tlvReceiverOctets  = 20
	receiversInOneTLV  = 11
	srhAlignmentOctets = 8
)

// SRHSize returns the octets of the SRH whose End.MT TLVs list receivers; edges
// has the number of receivers of each edge.
func SRHSize(edges []int) int {
	n := srhFixedOctets + segments*segmentOctets
	for _, receivers := range edges {
		tlvs := (receivers + receiversInOneTLV - 1) / receiversInOneTLV
		n += tlvs*tlvHeaderOctets + receivers*tlvReceiverOctets
	}
	return (n + srhAlignmentOctets - 1) / srhAlignmentOctets * srhAlignmentOctets
}
