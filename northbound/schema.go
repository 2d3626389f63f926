package northbound

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/mrc"
)

// schemaNames are the names of types that have none of their own.
var schemaNames = map[reflect.Type]string{
	reflect.TypeFor[api.MulticastGroupSpec]():   "GroupSpec",
	reflect.TypeFor[api.MulticastGroupStatus](): "GroupStatus",
	reflect.TypeFor[api.Condition]():            "GroupCondition",
	reflect.TypeFor[api.EVProfileSpec]():        "EvProfileSpec",
	reflect.TypeFor[api.CCProfileSpec]():        "CcProfileSpec",
	reflect.TypeFor[api.NSCC]():                 "Nscc",
	reflect.TypeFor[mrc.Counters]():             "FabricCounters",
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

	reflect.TypeFor[api.Table]():            "TableView",
	reflect.TypeFor[api.TableEntry]():       "EntryView",
	reflect.TypeFor[api.Field]():            "FieldView",
	reflect.TypeFor[api.Counter]():          "CounterView",
	reflect.TypeFor[api.GroupState]():       "StateReport",
	reflect.TypeFor[api.GroupNodeState]():   "NodeState",
	reflect.TypeFor[api.GroupBranchState](): "BranchState",

	reflect.TypeFor[draftOf[api.MulticastGroupSpec]](): "GroupRequest",
	reflect.TypeFor[pageOf[api.MulticastGroup]]():      "GroupList",

	reflect.TypeFor[draftOf[api.EVProfileSpec]]():  "EvProfileRequest",
	reflect.TypeFor[draftOf[api.CCProfileSpec]]():  "CcProfileRequest",
	reflect.TypeFor[adminDraft]():                  "AdminRequest",
	reflect.TypeFor[draftOf[api.SRv6PolicySpec]](): "Srv6PolicyRequest",
	reflect.TypeFor[draftOf[api.TenantSpec]]():     "TenantRequest",
	reflect.TypeFor[draftOf[api.PFCPolicySpec]]():  "PfcPolicyRequest",
	reflect.TypeFor[pageOf[api.SRv6Policy]]():      "Srv6PolicyList",
	reflect.TypeFor[pageOf[api.Tenant]]():          "TenantList",
	reflect.TypeFor[pageOf[api.PFCPolicy]]():       "PfcPolicyList",
	reflect.TypeFor[pageOf[evProfile]]():           "EvProfileList",
	reflect.TypeFor[pageOf[evView]]():              "EvList",
	reflect.TypeFor[pageOf[ccProfile]]():           "CcProfileList",
	reflect.TypeFor[pageOf[fabricHost]]():          "HostList",
	reflect.TypeFor[pageOf[fabricLink]]():          "LinkList",
	reflect.TypeFor[pageOf[fabricNode]]():          "NodeList",
	reflect.TypeFor[pageOf[evProbeView]]():         "EvProbeList",
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
