package northbound

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/api"
)

// Arrays of answers are never null: what has no elements is an empty array, or absent.
func init() { huma.DefaultArrayNullable = false }

// schemaNames are the names of types that have none of their own.
var schemaNames = map[reflect.Type]string{
	reflect.TypeFor[api.MulticastGroupSpec]():   "GroupSpec",
	reflect.TypeFor[api.MulticastGroupStatus](): "GroupStatus",
	reflect.TypeFor[api.Condition]():            "GroupCondition",
	reflect.TypeFor[api.EVProfileSpec]():        "EvProfileSpec",
	reflect.TypeFor[api.CCProfileSpec]():        "CcProfileSpec",
	reflect.TypeFor[api.NSCC]():                 "Nscc",
	reflect.TypeFor[api.SRv6PolicySpec]():       "Srv6PolicySpec",
	reflect.TypeFor[api.SRv6PolicyStatus]():     "Srv6PolicyStatus",
	reflect.TypeFor[api.PFCPolicySpec]():        "PfcPolicySpec",
	reflect.TypeFor[api.PFCPolicyStatus]():      "PfcPolicyStatus",
	reflect.TypeFor[api.PFCNode]():              "PfcNode",
	reflect.TypeFor[api.PFCQueue]():             "PfcQueue",
	reflect.TypeFor[api.PFCTunnel]():            "PfcTunnel",
	reflect.TypeFor[api.MulticastGroup]():       "Group",
	reflect.TypeFor[api.SRv6Policy]():           "Srv6Policy",
	reflect.TypeFor[api.PFCPolicy]():            "PfcPolicy",

	reflect.TypeFor[api.BGPPeer]():         "BgpPeerView",
	reflect.TypeFor[api.Drain]():           "DrainView",
	reflect.TypeFor[api.EV]():              "EvView",
	reflect.TypeFor[api.EVField]():         "EvField",
	reflect.TypeFor[api.EVFormat]():        "EvFormat",
	reflect.TypeFor[api.EVHop]():           "EvHop",
	reflect.TypeFor[api.EVLink]():          "EvLink",
	reflect.TypeFor[api.EVPacket]():        "EvPacket",
	reflect.TypeFor[api.EVPath]():          "EvPathView",
	reflect.TypeFor[api.EVProbe]():         "EvProbeView",
	reflect.TypeFor[api.EVProfile]():       "EvProfile",
	reflect.TypeFor[api.EVProfileStatus](): "EvProfileStatus",
	reflect.TypeFor[api.CCProfile]():       "CcProfile",
	reflect.TypeFor[api.Fabric]():          "FabricView",
	reflect.TypeFor[api.FabricCount]():     "CountOf",
	reflect.TypeFor[api.Node]():            "FabricNode",
	reflect.TypeFor[api.NodeStatus]():      "FabricNodeStatus",
	reflect.TypeFor[api.Plane]():           "FabricPlane",
	reflect.TypeFor[api.PlaneStatus]():     "FabricPlaneStatus",
	reflect.TypeFor[api.Link]():            "FabricLink",
	reflect.TypeFor[api.LinkStatus]():      "FabricLinkStatus",
	reflect.TypeFor[api.Host]():            "FabricHost",
	reflect.TypeFor[api.PlannedTree]():     "GroupTreeView",
	reflect.TypeFor[api.Health]():          "HealthView",
	reflect.TypeFor[api.Readiness]():       "ReadinessView",
	reflect.TypeFor[api.ReadinessCheck]():  "Check",
	reflect.TypeFor[api.Suspect]():         "SuspectView",
	reflect.TypeFor[api.Topology]():        "TopologyView",
	reflect.TypeFor[api.TopologyNode]():    "NodeView",
	reflect.TypeFor[api.TopologySID]():     "SidView",
	reflect.TypeFor[api.TopologyLink]():    "LinkView",
	reflect.TypeFor[api.TopologyPrefix]():  "PrefixView",
	reflect.TypeFor[api.TopologyHost]():    "HostView",

	reflect.TypeFor[api.List[api.BGPPeer]]():      "BgpPeerList",
	reflect.TypeFor[api.List[api.Certificate]]():  "CertificateList",
	reflect.TypeFor[api.List[api.HostPort]]():     "PortList",
	reflect.TypeFor[api.List[api.Plane]]():        "PlaneList",
	reflect.TypeFor[api.List[api.Suspect]]():      "SuspectList",
	reflect.TypeFor[api.List[api.SwitchStatus]](): "SwitchList",
	reflect.TypeFor[api.List[api.Table]]():        "TableList",
	reflect.TypeFor[api.List[api.TableEntry]]():   "EntryList",
	reflect.TypeFor[api.List[api.Counter]]():      "CounterList",
	reflect.TypeFor[api.List[api.Event]]():        "EventList",

	reflect.TypeFor[api.Table]():            "TableView",
	reflect.TypeFor[api.TableEntry]():       "EntryView",
	reflect.TypeFor[api.Field]():            "FieldView",
	reflect.TypeFor[api.Counter]():          "CounterView",
	reflect.TypeFor[api.GroupState]():       "StateReport",
	reflect.TypeFor[api.GroupNodeState]():   "NodeState",
	reflect.TypeFor[api.GroupBranchState](): "BranchState",

	reflect.TypeFor[api.Request[api.MulticastGroupSpec]](): "GroupRequest",
	reflect.TypeFor[api.List[api.MulticastGroup]]():        "GroupList",

	reflect.TypeFor[api.Request[api.EVProfileSpec]]():   "EvProfileRequest",
	reflect.TypeFor[api.Request[api.CCProfileSpec]]():   "CcProfileRequest",
	reflect.TypeFor[api.Request[api.SRv6PolicySpec]]():  "Srv6PolicyRequest",
	reflect.TypeFor[api.Request[api.TenantSpec]]():      "TenantRequest",
	reflect.TypeFor[api.Request[api.PFCPolicySpec]]():   "PfcPolicyRequest",
	reflect.TypeFor[api.Request[api.ProjectSpec]]():     "ProjectRequest",
	reflect.TypeFor[api.List[api.SRv6Policy]]():         "Srv6PolicyList",
	reflect.TypeFor[api.List[api.Tenant]]():             "TenantList",
	reflect.TypeFor[api.List[api.Project]]():            "ProjectList",
	reflect.TypeFor[api.Request[api.JobSpec]]():         "JobRequest",
	reflect.TypeFor[api.List[api.Job]]():                "JobList",
	reflect.TypeFor[api.Request[api.MaintenanceSpec]](): "MaintenanceRequest",
	reflect.TypeFor[api.List[api.Maintenance]]():        "MaintenanceList",
	reflect.TypeFor[api.Request[api.SilenceSpec]]():     "SilenceRequest",
	reflect.TypeFor[api.List[api.Silence]]():            "SilenceList",
	reflect.TypeFor[api.Request[api.PathLeaseSpec]]():   "LeaseRequest",
	reflect.TypeFor[api.List[api.PathLease]]():          "LeaseList",
	reflect.TypeFor[api.List[api.JobDependent]]():       "JobDependentList",
	reflect.TypeFor[api.List[api.PFCPolicy]]():          "PfcPolicyList",
	reflect.TypeFor[api.List[api.EVProfile]]():          "EvProfileList",
	reflect.TypeFor[api.List[api.EV]]():                 "EvList",
	reflect.TypeFor[api.List[api.CCProfile]]():          "CcProfileList",
	reflect.TypeFor[api.List[api.Host]]():               "HostList",
	reflect.TypeFor[api.List[api.Link]]():               "LinkList",
	reflect.TypeFor[api.List[api.Node]]():               "NodeList",
	reflect.TypeFor[api.List[api.EVProbe]]():            "EvProbeList",
}

// namesExtension marks a schema property that names a thing which may belong to a project. The
// value is the kind of thing.
const namesExtension = "x-weft-names"

// markNamesOf marks the properties of a type that members of projects write.
func (s *Server) markNamesOf(t reflect.Type) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	registry := s.api.OpenAPI().Components.Schemas
	schema := registry.SchemaFromRef(registry.Schema(t, true, "").Ref)
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch kind := f.Tag.Get("names"); {
		case kind == "":
			s.markNamesOf(f.Type)
		case kind != "-":
			p := schema.Properties[name]
			if p.Extensions == nil {
				p.Extensions = make(map[string]any)
			}
			p.Extensions[namesExtension] = kind
		}
	}
}

// standardize removes from the document every member unknown to OpenAPI. The messages of refusals
// already contain the descriptions of patterns.
func (s *Server) standardize() {
	for _, schema := range s.api.OpenAPI().Components.Schemas.Map() {
		for _, p := range schema.Properties {
			p.PatternDescription = ""
		}
	}
}

func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name, ok := schemaNames[t]; ok {
		return name
	}
	return huma.DefaultSchemaNamer(t, hint)
}
