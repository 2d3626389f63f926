package northbound

import (
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// Arrays of answers are never null: what has no elements is an empty array, or absent.
func init() { huma.DefaultArrayNullable = false }

// schemaNames has names for types without a name.
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

	reflect.TypeFor[api.Table]():            "TableView",
	reflect.TypeFor[api.TableEntry]():       "EntryView",
	reflect.TypeFor[api.Field]():            "FieldView",
	reflect.TypeFor[api.Counter]():          "CounterView",
	reflect.TypeFor[api.GroupState]():       "StateReport",
	reflect.TypeFor[api.GroupNodeState]():   "NodeState",
	reflect.TypeFor[api.GroupBranchState](): "BranchState",
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
		switch of := f.Tag.Get("names"); {
		case of == "":
			s.markNamesOf(f.Type)
		case of != "-":
			p := schema.Properties[name]
			if p.Extensions == nil {
				p.Extensions = make(map[string]any)
			}
			p.Extensions[namesExtension] = of
		}
	}
}

// kindsExtension is the member of the document with the kinds that clients write.
const kindsExtension = "x-weft-kinds"

// describeKinds puts the kinds that clients write into the document.
func (s *Server) describeKinds() {
	var out []api.WrittenKind
	for _, k := range s.all {
		if k.Spec == nil {
			continue
		}
		noun := k.Noun
		if k.Short != k.One { // the word of the command line is the shorter one
			noun = k.Short
		}
		w := api.WrittenKind{Collection: k.Many, At: k.At, Kind: k.One, Noun: noun, Nouns: k.Nouns,
			Reads: string(k.Reads), Writes: string(k.Writes), Events: append([]string{}, k.Events...),
			Overridden: !k.Creates, Untouched: k.Untouched}
		if k.Has(kind.Delete) {
			w.Removed = k.Deleted
		}
		out = append(out, w)
	}
	s.api.OpenAPI().Extensions = map[string]any{kindsExtension: out}
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
	of, _ := strings.CutPrefix(t.String(), "api.")
	switch generic, _, _ := strings.Cut(of, "["); generic {
	case "List":
		items, _ := t.FieldByName("Items")
		of := strings.TrimPrefix(schemaName(items.Type.Elem(), hint), "Fabric")
		return strings.TrimSuffix(strings.TrimSuffix(of, "View"), "Status") + "List"
	case "Request":
		spec, _ := t.FieldByName("Spec")
		return strings.TrimSuffix(schemaName(spec.Type, hint), "Spec") + "Request"
	}
	return huma.DefaultSchemaNamer(t, hint)
}
