package northbound

import (
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
	"github.com/weft-sdn/weft/hostapi"
	"github.com/weft-sdn/weft/topology"
)

// fabricHost is a host of the fabric.
type fabricHost struct {
	Name         string            `json:"name"`
	Address      netip.Addr        `json:"address" doc:"Of its queue pairs, in all planes."`
	Prefixes     []netip.Prefix    `json:"prefixes,omitempty" doc:"Others that it is reached by."`
	Ports        []hostPort        `json:"ports" nullable:"false"`
	Connected    bool              `json:"connected" doc:"Its stream is open."`
	Since        time.Time         `json:"since,omitzero" doc:"When the stream was opened, or ended."`
	Error        string            `json:"error,omitempty" doc:"Why the last stream ended, when there is none now."`
	Software     string            `json:"software,omitempty" doc:"What the agent says that it is."`
	Instance     string            `json:"instance,omitempty" pattern:"^0x[0-9a-f]+$" doc:"Of the agent's start: another one when its counters began anew. 64 bits, which a JSON number would lose some of."`
	Capabilities *hostCapabilities `json:"capabilities,omitempty" doc:"What its device can hold; absent before it has connected."`
	Versions     hostVersions      `json:"versions"`
	Refusals     []hostRefusal     `json:"refusals,omitempty" doc:"What it does not hold of what it is to hold, and why."`
	EVProfiles   int               `json:"evProfiles" doc:"EV profiles that it is to hold."`
	EVs          int               `json:"evs" doc:"EVs in all of them."`
}

// hostPort is a port of a host.
type hostPort struct {
	Port    uint8          `json:"port" doc:"From 1."`
	Version uint64         `json:"version" doc:"Changes with every change of the spec; also the ETag. 0: nobody wants anything."`
	Changed time.Time      `json:"changed,omitzero" doc:"When the spec changed last."`
	Spec    api.AdminSpec  `json:"spec"`
	Status  hostPortStatus `json:"status"`
}

type hostPortStatus struct {
	Leaf     topology.NodeID `json:"leaf" doc:"The switch behind it."`
	LeafName string          `json:"leafName,omitempty"`
	LeafPort uint32          `json:"leafPort,omitempty" doc:"Port of the leaf; absent when it is not known."`
	Usable   bool            `json:"usable" doc:"Peers may send to it."`
	LinkDown bool            `json:"linkDown" doc:"The leaf says that its port is down."`
	HostDown bool            `json:"hostDown" doc:"The host says that its port is down."`
	Held     bool            `json:"held" doc:"It is up again, and has to stay so for a while."`
	Drained  bool            `json:"drained"`
	Drains   []drainView     `json:"drains,omitempty" doc:"How far the drain is."`
}

type hostVersions struct {
	Held    *hostVersion `json:"held,omitempty" doc:"What the host acknowledged last; absent when it holds nothing that is known."`
	Current bool         `json:"current" doc:"It holds all that it is to hold."`
	Wanted  uint64       `json:"wanted" doc:"How often it was told to hold something else; 0 is never."`
	Applied uint64       `json:"applied" doc:"The last of those that it holds."`
}

type hostVersion struct {
	Epoch  string `json:"epoch" doc:"In hexadecimal; another one after every start of the controller."`
	Number uint64 `json:"number" doc:"Grows with every update of the epoch."`
}

type hostRefusal struct {
	Version *hostVersion `json:"version,omitempty" doc:"The version that the host refused; absent when the controller did not send it, as the device cannot hold it."`
	Code    string       `json:"code" doc:"invalid, unsupported, unknown base, busy or device."`
	Field   string       `json:"field" doc:"In the names of host.proto."`
	Reason  string       `json:"reason"`
}

// hostCapabilities are hostapi.Capabilities, bit sets as lists.
type hostCapabilities struct {
	ProtocolVersions  uint32   `json:"protocolVersions" format:"uint32" doc:"Bit set; 0 is the device's choice."`
	EVMaxFormats      int      `json:"evMaxFormats"`
	EVMaxProfiles     int      `json:"evMaxProfiles"`
	EVMaxCount        int      `json:"evMaxCount" doc:"EVs in all profiles."`
	EVFreeCount       int      `json:"evFreeCount" doc:"Of those, free when the host connected."`
	EVMaxCountProfile int      `json:"evMaxCountProfile"`
	EVCountAlign      int      `json:"evCountAlign" doc:"Profiles have a multiple of so many EVs; 0 is any number."`
	EVMaxWidth        int      `json:"evMaxWidth" doc:"Bits of an EV."`
	EVFormatModes     []string `json:"evFormatModes" nullable:"false" doc:"STEV, SRV6, UDP."`
	EVModes           []string `json:"evModes" nullable:"false" doc:"AUTO, EXP, GEN."`
	EVOpMaxEntries    int      `json:"evOpMaxEntries" doc:"EVs in a batch; 0 is any number."`
	CCMaxProfiles     int      `json:"ccMaxProfiles"`
	CCAlgorithms      []string `json:"ccAlgorithms" nullable:"false"`
	Ports             []int    `json:"ports" nullable:"false"`
	Options           []string `json:"options" nullable:"false" doc:"evProfileModifyOnline, ccProfileModifyOnline, evEvent, evExplicitRange, evEventPreciseDropCount, evProbe."`
	Transport         []string `json:"transport" nullable:"false" doc:"trimNack, dynamicMpr, serviceTime."`
	MaxMPR            int      `json:"maxMpr" doc:"Units of 128 PSNs."`
	MaxWIMM           int      `json:"maxWimm" doc:"WriteIMMs in flight, as requestor."`
	MaxWIMMDest       int      `json:"maxWimmDest" doc:"WriteIMMs in flight, as responder."`
}

// instanceText writes the instance of an agent, "" for none. It is random in all its 64
// bits, of which JSON clients keep 53 of a number.
func instanceText(n uint64) string {
	if n == 0 {
		return ""
	}
	return hexadecimal(n)
}

func (s *Server) viewHost(h *mrc.HostResource) fabricHost {
	v := fabricHost{
		Name: h.Name, Address: h.Address, Prefixes: h.Prefixes, Ports: s.viewPorts(h), Connected: h.Connected, Since: utc(h.Session.Since),
		Error: h.Session.Err, Software: h.Hello.Software, Instance: instanceText(h.Hello.Instance),
		Versions: hostVersions{Held: viewVersion(h.Session.Held), Current: h.Session.Current, Wanted: h.Set, Applied: h.Applied},
	}
	if h.Hello.Instance != 0 {
		v.Capabilities = viewCapabilities(&h.Hello.Capabilities)
	}
	for i := range h.Session.Refusals {
		r := &h.Session.Refusals[i]
		v.Refusals = append(v.Refusals, hostRefusal{Version: viewVersion(r.Version), Code: r.Code.String(), Field: r.Field, Reason: r.Reason})
	}
	if h.State != nil {
		v.EVProfiles, v.EVs = len(h.State.Profiles), h.State.EVCount()
	}
	return v
}

func viewVersion(v hostapi.Version) *hostVersion {
	if v == (hostapi.Version{}) {
		return nil
	}
	return &hostVersion{Epoch: hexadecimal(v.Epoch), Number: v.Number}
}

func viewCapabilities(c *hostapi.Capabilities) *hostCapabilities {
	v := &hostCapabilities{
		ProtocolVersions: c.ProtocolVersions, EVMaxFormats: c.EVMaxFormats, EVMaxProfiles: c.EVMaxProfiles, EVMaxCount: c.EVMaxCount,
		EVFreeCount: c.EVFreeCount, EVMaxCountProfile: c.EVMaxCountProfile, EVCountAlign: c.EVCountAlign, EVMaxWidth: c.EVMaxWidth,
		EVFormatModes: []string{}, EVModes: []string{}, EVOpMaxEntries: c.EVOpMaxEntries, CCMaxProfiles: c.CCMaxProfiles,
		CCAlgorithms: append([]string{}, c.CCAlgorithms...), Ports: []int{},
		Options: bitNames(c.OptAttr, optionNames[:]), Transport: bitNames(c.DeviceCap, transportNames[:]),
		MaxMPR: c.MaxMPR, MaxWIMM: c.MaxWIMM, MaxWIMMDest: c.MaxWIMMDest,
	}
	for _, m := range [...]hostapi.FormatMode{hostapi.FormatSTEV, hostapi.FormatSRv6, hostapi.FormatUDP} {
		if c.HasFormat(m) {
			v.EVFormatModes = append(v.EVFormatModes, m.String())
		}
	}
	for _, m := range [...]hostapi.Mode{hostapi.ModeAuto, hostapi.ModeExplicit, hostapi.ModeGenerated} {
		if c.HasMode(m) {
			v.EVModes = append(v.EVModes, m.String())
		}
	}
	for port := 1; port <= hostapi.MaxPort; port++ {
		if c.Ports.Has(port) {
			v.Ports = append(v.Ports, port)
		}
	}
	return v
}

// bitName is what a bit of a set stands for.
type bitName struct {
	bit  uint32
	name string
}

var optionNames = [...]bitName{
	{hostapi.OptEVProfileModifyOnline, "evProfileModifyOnline"}, {hostapi.OptCCProfileModifyOnline, "ccProfileModifyOnline"},
	{hostapi.OptEVEvent, "evEvent"}, {hostapi.OptEVExplicitRange, "evExplicitRange"},
	{hostapi.OptEVEventPreciseDropCount, "evEventPreciseDropCount"}, {hostapi.OptEVProbe, "evProbe"},
}

var transportNames = [...]bitName{
	{hostapi.CapTrimNACK, "trimNack"}, {hostapi.CapDynamicMPR, "dynamicMpr"}, {hostapi.CapServiceTime, "serviceTime"},
}

// bitNames names the bits of a set; those without a name are in hexadecimal.
func bitNames(set uint32, names []bitName) []string {
	out := []string{}
	for _, n := range names {
		if set&n.bit != 0 {
			out, set = append(out, n.name), set&^n.bit
		}
	}
	if set != 0 {
		out = append(out, hexadecimal(uint64(set)))
	}
	return out
}
