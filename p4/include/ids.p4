// The numbers that the program shares with its controller and its target: ports, replication, reasons and operations.
// p4runtime_ids.p4 has the ids of tables, actions and counters.

const bit<9> PFC_PORT           = 508;  // to and from the target's traffic manager: TargetOp
const bit<9> RECIRCULATION_PORT = 509;  // queue of the copies that go round once more
const bit<9> CPU_PORT           = 510;
const bit<9> DROP_PORT          = 511;  // simple_switch's default drop port

// PRE groups: 1..32 fan a packet out to n receivers; a multicast group owns the two from
// MCAST_TREE on: its tree at this node, and this node's receivers alone.
const bit<16> MCAST_TREE = 64;

// Replica instances (egress_rid) of a tree: branch + 1; the copy that goes round to have its
// TLVs parsed; and the copies of a fan-out group.
const bit<16> RID_TLV    = 256;
const bit<16> RID_FANOUT = 512;

// Clone sessions: port + 1 sends to that port.
const bit<16> CPU_SESSION = 511;

// Field lists: what survives a second pass, and what a clone has.
const bit<8> RECIRCULATED = 1;
const bit<8> CLONED       = 2;
const bit<8> RESUBMITTED  = 3;

// Receiver of digests, which BMv2 does not use: P4Runtime knows a digest by the id in P4Info.
const bit<32> DIGEST_RECEIVER = 1;

// A packet is dropped for exactly one of these; ingress_drops and egress_drops count them.
enum bit<8> DropReason {
    NONE                  = 0,
    PARSE_TRUNCATED       = 1,    // shorter than its headers say
    PARSE_SRH_LENGTH      = 2,    // Segment List runs past Hdr Ext Len, or has over 16 segments
    PARSE_SEGMENTS_LEFT   = 3,    // Segments Left > Last Entry + 1
    PARSE_TLV_LENGTH      = 4,    // a TLV runs past the SRH
    PARSE_TLV_RECEIVERS   = 5,    // Num Receivers disagrees with Length, or over 32 for one edge
    PARSE_UDP_LENGTH      = 6,    // UDP length of a RoCEv2 packet impossible
    PARSE_OTHER           = 7,
    PACKET_OUT            = 8,    // unknown operation, a branch there cannot be, or a payload where none belongs
    NOT_IPV6              = 9,    // by its EtherType, or by its version; nor IPv4 without options, nor ARP where hosts are answered
    NOT_MY_STATION        = 10,   // destination MAC is not this switch's
    SOURCE_GUARD          = 11,   // host port, source address not the host's (BCP 38)
    HOP_LIMIT             = 12,
    NO_ROUTE              = 13,
    NO_NEIGHBOR           = 14,
    SID_SEGMENTS_LEFT     = 15,   // Segments Left is not what the SID's behavior asks for
    SID_UPPER_LAYER       = 16,   // the SID's behavior has no use for what follows
    ENCAPS_TWICE          = 17,   // H.Encaps of a packet that is already encapsulated
    ECN_NOT_CAPABLE       = 18,   // outer CE over an inner Not-ECT (RFC 6040 section 4.2)
    ICRC                  = 19,
    MT_INNER              = 20,   // inner packet of a tree is no RoCEv2 packet to the proxy address
    MT_OPCODE             = 21,   // READ, ATOMIC or no RC request
    MT_GROUP              = 22,   // the SID's or packet-out's group is not programmed
    MT_QPN                = 23,   // destination QPN is not the designated one
    MT_NOT_SOURCE         = 24,   // data to a group, not from its source or its first switch, or not in the way of its mode
    MT_NOT_BRANCH         = 25,   // response from elsewhere than its branch
    MT_EPOCH              = 26,   // response of another epoch
    MT_DEAD_BRANCH        = 27,   // branch is not in the live mask
    MT_SYNDROME           = 28,   // reserved AETH syndrome
    MT_NO_PSN             = 29,   // fatal NAK before any PSN is known
    MT_ABSORBED           = 30,   // response aggregated, nothing due upstream (no fault)
    MT_CNP_ABSORBED       = 31,   // CNP counted in its window (no fault)
    MT_CNP_RATE           = 32,   // CNP over the branch's rate limit
    MT_NO_RECEIVERS       = 33,   // no TLV names this edge and no receiver is provisioned
    MT_TLV_RECEIVER       = 34,   // receiver in a TLV without a programmed branch
    MT_REPLICA            = 35,   // replica without an entry
    MT_UPSTREAM           = 36,   // group without an upstream entry
    MT_POLL_IDLE          = 37,   // poll that found nothing due (no fault)
    QUEUE_FULL            = 38,   // its class has no room at the egress port, and it may not be trimmed
    TRIM_QUEUE_FULL       = 39,   // neither has the class of trimmed packets
    MT_TRIMMED            = 40,   // trimmed packet of a group where it would be delivered or answered
    EV_FIELD              = 41,   // no way for the value of this switch's field of a structured EV
    SID_FROM_OUTSIDE      = 42,   // from a port that faces a host: addressed to a SID, or encapsulated otherwise than that host may
    SID_ETHERNET          = 43,   // Ethernet frame at an End.X.PFC or End.PFC SID, to another address than PFC's
    SR_POLICY             = 44,   // steered into a policy that has no segment list
    PFC_FRAME             = 45,   // MAC control frame that is not PFC's
    PFC_PORT              = 46,   // PFC frame on a link that may not pause anything
    PFC_SOURCE            = 47,   // PFC frame out of a tunnel that nobody is expected to send into so
    PFC_CLASS             = 48,   // PFC frame that names no priority that it may pause
    PFC_UPSTREAM          = 49,   // PFC frame of the target for which there is no upstream
    TARGET_FRAME          = 50,   // frame of the target that the program does not know
    LLDP_RATE             = 51,   // LLDP frame over the rate of its port
    EXTENSION_HEADERS     = 52,   // from a port that faces a host: more extension headers than the parser walks
    ISOLATED              = 53,   // between a host of an isolated project and what is not of that project
    ND_INVALID            = 54,   // neighbor discovery that RFC 4861 has receivers discard
    ND_RATE               = 55,   // neighbor discovery for the controller, over the rate of its port
    ND_ROUTER             = 56,   // RA or Redirect of a host (RFC 6105)
    ND_TARGET             = 57,   // neighbor solicitation for what is neither the gateway nor a known neighbor (no fault)
    LISTENER_REPORT       = 58,   // multicast listener discovery of a host: nobody needs it (no fault)
    CONNECT_RATE          = 59,   // RDMA CM message to a group over the rate of its port
    IPV4_CHECKSUM         = 60,   // of the IPv4 header, as received or out of a tunnel
    MAPPED_ADDRESS        = 61    // IPv6 packet of a host from an IPv4-mapped address
}

// What the switch answered to hosts, by ICMPv6 or ARP; nd_events counts it.
enum bit<8> NdEvent {
    NONE     = 0,
    GATEWAY  = 1,         // advertised the gateway
    NEIGHBOR = 2,         // advertised a known neighbor
    DEFENDED = 3,         // the gateway's address, which a host wanted
    ECHO     = 4,         // replied to an echo request to the gateway
    REPORTED = 5          // none: left it to the controller
}

// What the aggregation sent upstream and why; mt_events counts them.
enum bit<8> MtEvent {
    NONE         = 0,
    ACK_ADVANCED = 1,    // the minimum moved
    ACK_REPEATED = 2,    // the lowest live branch repeated itself
    NAK_SEQUENCE = 3,
    NAK_RNR      = 4,
    NAK_FATAL    = 5,
    CNP_SENT     = 6,
    CNP_WINDOW   = 7     // a window opened
}

// What became of packets that call for an ICMPv6 error; icmp_events counts them.
enum bit<8> IcmpEvent {
    NONE              = 0,
    TIME_EXCEEDED     = 1,   // sent
    PARAMETER_PROBLEM = 2,   // sent
    LIMITED           = 3,   // over the rate
    UNANSWERABLE      = 4    // an ICMPv6 error itself, from or to an address that gets none, or out of a tunnel that ended here
}

// Packet-in reasons.
enum bit<8> PacketInReason {
    NONE       = 0,
    CNP_WINDOW = 1,      // first CNP of a window: poll when the window is over
    STATE      = 2,      // answer to a STATE packet-out
    PFC        = 3,      // what the target reports of a queue: the payload is its frame
    LLDP       = 4,      // an LLDP frame: the payload is the frame as it came
    ND         = 5,      // a message of neighbor discovery of a host: the payload is the frame as it came
    CONNECT    = 6       // an RDMA CM message to a group: the payload is the frame as it came
}

// Packet-out operations.
enum bit<8> PacketOutOp {
    SEND  = 0,           // out of egress_port, as it is
    POLL  = 1,           // end the group's CNP window if it is over, send the ACK or NAK that is due
    STATE = 2            // report (group, branch) by packet-in
}

// What the frames of PFC_PORT are about.
enum bit<8> TargetOp {
    NONE       = 0,
    PAUSE      = 1,      // to the target: the PFC frame that follows is for port
    QUERY      = 2,      // to the target: answer with STATE
    XOFF       = 3,      // from the target: over the mark, or still above the lower one
    XON        = 4,      // from the target: below it
    STATE      = 5,      // from the target: a report follows
    STORM      = 6,      // from the target, with a report: a queue was paused and did not move, and the watchdog acts
    STORM_OVER = 7       // from the target, with a report: it is as before
}

// What a queue is known by.
enum bit<8> PfcDirection {
    EGRESS  = 0,         // what waits to leave by a port
    INGRESS = 1          // what has come by a port and waits, wherever
}

// What the watchdog does with a queue that does not move.
enum bit<8> WatchdogAction {
    REPORT  = 0,         // nothing but say so
    RELEASE = 1,         // pauses have no effect
    DROP    = 2          // what waits and what comes is dropped
}
