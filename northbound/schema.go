package northbound

import (
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/controller/intent"
	"github.com/weft-sdn/weft/controller/multipath"
)

// schemaNames are the names of types that have none of their own.
var schemaNames = map[reflect.Type]string{
	reflect.TypeFor[intent.Spec]():             "GroupSpec",
	reflect.TypeFor[intent.Source]():           "GroupSource",
	reflect.TypeFor[intent.Receiver]():         "GroupReceiver",
	reflect.TypeFor[intent.Status]():           "GroupStatus",
	reflect.TypeFor[intent.Condition]():        "GroupCondition",
	reflect.TypeFor[intent.Tree]():             "GroupTree",
	reflect.TypeFor[intent.Limits]():           "GroupLimits",
	reflect.TypeFor[intent.EVProfileSpec]():    "EvProfileSpec",
	reflect.TypeFor[intent.CCProfileSpec]():    "CcProfileSpec",
	reflect.TypeFor[intent.NSCC]():             "Nscc",
	reflect.TypeFor[multipath.Counters]():      "FabricCounters",
	reflect.TypeFor[intent.SRv6PolicySpec]():   "Srv6PolicySpec",
	reflect.TypeFor[intent.Segment]():          "PolicySegment",
	reflect.TypeFor[intent.SRv6PolicyStatus](): "Srv6PolicyStatus",
	reflect.TypeFor[intent.Site]():             "TenantSite",
	reflect.TypeFor[intent.PFCPolicySpec]():    "PfcPolicySpec",
	reflect.TypeFor[intent.PFCPolicyStatus]():  "PfcPolicyStatus",
	reflect.TypeFor[intent.PFCNode]():          "PfcNode",
	reflect.TypeFor[intent.PFCQueue]():         "PfcQueue",
	reflect.TypeFor[intent.PFCTunnel]():        "PfcTunnel",
	reflect.TypeFor[intent.MulticastGroup]():   "Group",
	reflect.TypeFor[intent.SRv6Policy]():       "Srv6Policy",
	reflect.TypeFor[intent.PFCPolicy]():        "PfcPolicy",

	reflect.TypeFor[draftOf[intent.Spec]]():          "GroupRequest",
	reflect.TypeFor[pageOf[intent.MulticastGroup]](): "GroupList",

	reflect.TypeFor[draftOf[intent.EVProfileSpec]]():  "EvProfileRequest",
	reflect.TypeFor[draftOf[intent.CCProfileSpec]]():  "CcProfileRequest",
	reflect.TypeFor[adminDraft]():                     "AdminRequest",
	reflect.TypeFor[draftOf[intent.SRv6PolicySpec]](): "Srv6PolicyRequest",
	reflect.TypeFor[draftOf[intent.TenantSpec]]():     "TenantRequest",
	reflect.TypeFor[draftOf[intent.PFCPolicySpec]]():  "PfcPolicyRequest",
	reflect.TypeFor[pageOf[intent.SRv6Policy]]():      "Srv6PolicyList",
	reflect.TypeFor[pageOf[intent.Tenant]]():          "TenantList",
	reflect.TypeFor[pageOf[intent.PFCPolicy]]():       "PfcPolicyList",
	reflect.TypeFor[pageOf[evProfile]]():              "EvProfileList",
	reflect.TypeFor[pageOf[evView]]():                 "EvList",
	reflect.TypeFor[pageOf[ccProfile]]():              "CcProfileList",
	reflect.TypeFor[pageOf[fabricHost]]():             "HostList",
	reflect.TypeFor[pageOf[fabricLink]]():             "LinkList",
	reflect.TypeFor[pageOf[fabricNode]]():             "NodeList",
	reflect.TypeFor[pageOf[evProbeView]]():            "EvProbeList",
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
