// Every size of the pipeline in one place. The controller reads the table sizes from
// P4Info; the group and branch counts are also the limits that the API declares.

#define MT_GROUPS            1024    // multicast groups a switch
#define MT_BRANCHES          32      // branches (children plus local receivers) of a node and group
#define MT_CELLS             32768   // MT_GROUPS * MT_BRANCHES: one register cell a branch
#define MT_SOURCES           4096    // a source has an entry for each port it may send on
#define MT_BRANCH_ENTRIES    65536   // a branch has an entry for each port it may answer on
#define MT_CONNECTS          4096    // addresses or prefixes that may connect to groups
#define MT_TLV_RECEIVERS     32      // receivers of one edge in the End.MT TLVs of a packet

#define ROUTES               16384
#define ECMP_GROUPS          1024
#define ECMP_MEMBERS         8192
#define NEIGHBORS            1024
#define LOCAL_SIDS           4096
#define SRV6_POLICIES        4096    // prefixes that are steered
#define SR_POLICIES          1024    // segment lists
#define SERVICE_SIDS         1024
#define SID_SPACES           256     // prefixes of the domain's SIDs
#define SIDS_ALLOWED         4096    // exceptions at its edge
#define SLICES               1024
#define PORTS                512
#define LLDP_ADDRESSES       4       // group addresses: IEEE 802.1AB table 7-1 has three
#define ND_TARGETS           8192    // gateways, and hosts in the prefixes of a switch
#define SOURCE_PREFIXES      4096
#define ISOLATED_PREFIXES    16384   // what hosts of isolated projects may send to, and others may not
#define EV_VALUES            4096    // of one field of a structured EV
#define DSCPS                64
#define QUEUES               4096    // PORTS * 8: a cell a port and class
#define PFC_TUNNELS          4096    // that end here
#define PFC_QUEUES           8192    // PORTS * 8, egress queues and what came by a port
#define PFC_UPSTREAMS        16384   // of all of them
#define PFC_SIDS             4096    // End.X.PFC SIDs of the domain
#define PFC_SEEN             4096    // cells for the segment lists that were reported

#define EXTENSIONS           4       // extension headers behind an IPv6 header that the parser walks
#define EXTENSION_BITS       16368   // of one, after its first two octets
#define ND_OPTION_BITS       504     // options of a neighbor solicitation: at most 63 octets
#define SRH_SEGMENTS         16      // segments of a parsed SRH
#define SRH_TLV_BITS         16384   // TLV area of an SRH: at most 2,040 octets
#define PAYLOAD_BITS         73728   // RoCEv2 payload of a jumbo frame: 9,216 octets
#define QUOTED_BITS          9856    // of the packet in an ICMPv6 error: 1,232 octets
