package p4rt

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// A P4Info that does not fit the program is refused, naming what does not fit.
func TestPipelineMismatch(t *testing.T) {
	find := func(i *configv1.P4Info, alias string) *configv1.Table {
		for _, x := range i.GetTables() {
			if x.GetPreamble().GetAlias() == alias {
				return x
			}
		}
		panic("no table " + alias)
	}
	for _, c := range []struct {
		name string
		edit func(i *configv1.P4Info)
		want string
	}{
		{"id 0", func(i *configv1.P4Info) {
			i.Tables[0].Preamble.Id = 0
		}, `P4Info: table "IngressImpl.station" has id 0; ids must not be 0`},
		{"no name", func(i *configv1.P4Info) {
			i.Tables[0].Preamble.Name = ""
		}, `P4Info: table 0x02ca0ba1 has no name`},
		{"id used twice", func(i *configv1.P4Info) { i.Tables[1].Preamble.Id = i.Tables[0].Preamble.Id },
			`P4Info: table "IngressImpl.route" and table "IngressImpl.station" have the same id 0x02ca0ba1`},
		{"no such table", func(i *configv1.P4Info) { i.Tables[0].Preamble.Name = "IngressImpl.other" },
			`table "IngressImpl.other" of the P4Info is not in the program; compile both from the same ` +
				`source`},
		{"width", func(i *configv1.P4Info) { find(i, "station").MatchFields[0].Bitwidth = 32 },
			`table "IngressImpl.station": match field "dst" has 32 bits in the P4Info and 48 in the ` +
				`program`},
		{"width of 0", func(i *configv1.P4Info) { find(i, "station").MatchFields[0].Bitwidth = 0 },
			`P4Info: match field "dst" of table "IngressImpl.station" is 0 bits wide; want 1 to 65536`},
		{"match kind", func(i *configv1.P4Info) {
			find(i,
				"station").MatchFields[0].Match = &configv1.MatchField_MatchType_{MatchType: configv1.MatchField_LPM}
		},
			`table "IngressImpl.station": match field "dst" is lpm in the P4Info and exact in the program`},
		{"unknown match kind", func(i *configv1.P4Info) {
			find(i,
				"station").MatchFields[0].Match = &configv1.MatchField_OtherMatchType{OtherMatchType: "fuzzy"}
		},
			`P4Info: match field "dst" of table "IngressImpl.station" has match type "fuzzy"; want EXACT, ` +
				`LPM, TERNARY, RANGE or OPTIONAL`},
		{"key", func(i *configv1.P4Info) { find(i, "acl").MatchFields = find(i, "acl").MatchFields[:2] },
			`table "IngressImpl.acl": 2 match fields in the P4Info, 4 in the program`},
		{"parameter", func(i *configv1.P4Info) {
			for _, a := range i.GetActions() {
				if a.GetPreamble().GetAlias() == "forward" {
					a.Params[0].Bitwidth = 16
				}
			}
		},
			`action "IngressImpl.forward": parameter "port" has 16 bits in the P4Info and 9 in the program`},
		{"action", func(i *configv1.P4Info) {
			for _, a := range i.GetActions() {
				if a.GetPreamble().GetAlias() == "station_forward" {
					a.Preamble.Name = "IngressImpl.walk"
				}
			}
		},
			`table "IngressImpl.station": action "IngressImpl.walk" of the P4Info is not one of its ` +
				`actions in the program`},
		{"action reference", func(i *configv1.P4Info) { i.Tables[0].ActionRefs[0].Id = 5 },
			`P4Info: table "IngressImpl.station" refers to action 0x00000005, which is not in the P4Info`},
		{"implementation", func(i *configv1.P4Info) {
			find(i, "spread").ImplementationId = 0
			i.ActionProfiles[0].TableIds = nil
		},
			`table "IngressImpl.spread": the program implements it with action profile "IngressImpl.ways",` +
				` the P4Info with none`},
		{"selector", func(i *configv1.P4Info) { i.ActionProfiles[0].WithSelector = false },
			`action profile "IngressImpl.ways": with_selector is false in the P4Info and true in the ` +
				`program`},
		{"counter", func(i *configv1.P4Info) {
			i.Counters[0].Size = 9
		}, `counter "IngressImpl.rx": size 9 in the P4Info and 8 in the program`},
		{"meter", func(i *configv1.P4Info) { i.Meters[0].Preamble.Name = "m" },
			`meter "m" of the P4Info is not in the program; compile both from the same source`},
		{"register", func(i *configv1.P4Info) {
			i.Registers[0].TypeSpec.GetBitstring().GetBit().Bitwidth = 8
		},
			`register "IngressImpl.last_source": its type has 8 bits in the P4Info and 48 in the program`},
		{"value set", func(i *configv1.P4Info) { i.ValueSets[0].Match[0].Bitwidth = 8 },
			`value set "ParserImpl.ipv6_types": 8 bits in the P4Info and 16 in the program`},
		{"digest", func(i *configv1.P4Info) {
			s := i.GetTypeInfo().GetStructs()["learn_t"]
			s.Members = s.Members[:1]
		}, `digest "learn_t": 1 fields in the P4Info and 2 in the program`},
		{"type", func(i *configv1.P4Info) { delete(i.GetTypeInfo().GetStructs(), "learn_t") },
			`P4Info: the type of digest "learn_t" names struct "learn_t", which is not in type_info`},
		{"controller header", func(i *configv1.P4Info) {
			i.ControllerPacketMetadata[0].Metadata[0].Bitwidth = 8
		},
			`P4Info: the "packet_in" header has 23 bits; want a multiple of 8`},
		{"strings in a prefix", func(i *configv1.P4Info) {
			i.TypeInfo.NewTypes = stringType("port_t")
			find(i, "route").MatchFields[0].TypeName = &configv1.P4NamedType{Name: "port_t"}
		},
			`P4Info: match field "dst" of table "IngressImpl.route" is lpm and has type "port_t", ` +
				`translated to strings; want exact or optional`},
		{"a type of two widths", func(i *configv1.P4Info) {
			i.TypeInfo.NewTypes = stringType("port_t")
			find(i, "station").MatchFields[0].TypeName = &configv1.P4NamedType{Name: "port_t"}
			find(i, "fixed").MatchFields[0].TypeName = &configv1.P4NamedType{Name: "port_t"}
		},
			`table "IngressImpl.station": match field "dst": type "port_t" has 48 bits in the program; it ` +
				`has 16 elsewhere`},
		{"a given value too wide", func(i *configv1.P4Info) {
			i.TypeInfo.NewTypes = stringType("port_t", `@p4runtime_translation_mappings({{"big", 65536}})`)
			find(i, "fixed").MatchFields[0].TypeName = &configv1.P4NamedType{Name: "port_t"}
		}, `P4Info: type "port_t" gives string "big" a value of 17 bits; it has 16 in the program`},
		{"a header that is not there", func(i *configv1.P4Info) {
			i.TypeInfo.NewTypes = stringType("port_t")
			i.ControllerPacketMetadata[0].Metadata[0].TypeName = &configv1.P4NamedType{Name: "port_t"}
			i.ControllerPacketMetadata[0].Metadata[0].Name = "other"
		},
			`the "packet_in" header of the P4Info is not in the program; compile both from the same source`},
		{"value set that is not exact", func(i *configv1.P4Info) {
			i.ValueSets[0].Match[0].Match = &configv1.MatchField_MatchType_{MatchType: configv1.MatchField_TERNARY}
			i.ValueSets[0].Match[0].Name = "type"
		},
			`value set "ParserImpl.ipv6_types": field "type" is ternary; BMv2 JSON has exact value sets ` +
				`only`},
		{"register of a struct", func(i *configv1.P4Info) {
			i.Registers[0].TypeSpec = &configv1.P4DataTypeSpec{
				TypeSpec: &configv1.P4DataTypeSpec_Struct{Struct: &configv1.P4NamedType{Name: "learn_t"}}}
		},
			`register "IngressImpl.last_source": its type has 2 fields in the P4Info; registers of BMv2 ` +
				`JSON hold one`},
		{"extern", func(i *configv1.P4Info) {
			i.Externs = []*configv1.Extern{{ExternTypeName: "Wonder"}}
		},
			`P4Info: extern type "Wonder" is not part of v1model and cannot be realized`},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newTestDevice(t, Config{})
			cfg := loadConfig(t, "entities")
			c.edit(cfg.P4Info)
			err := d.SetPipeline(0, &p4v1.SetForwardingPipelineConfigRequest{
				DeviceId: 1, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, Config: cfg,
			})
			if st := status.Convert(err); st.Code() != codes.InvalidArgument || st.Message() != c.want {
				t.Errorf("got  %s: %s\nwant %s: %s", st.Code(), st.Message(), codes.InvalidArgument, c.want)
			}
			if d.current() != nil {
				t.Error("the device has a pipeline")
			}
		})
	}
}

// stringType is a type translated to strings.
func stringType(name string, annotations ...string) map[string]*configv1.P4NewTypeSpec {
	return map[string]*configv1.P4NewTypeSpec{name: {
		Annotations: annotations,
		Representation: &configv1.P4NewTypeSpec_TranslatedType{
			TranslatedType: &configv1.P4NewTypeTranslation{SdnType: &configv1.P4NewTypeTranslation_SdnString_{SdnString: &configv1.P4NewTypeTranslation_SdnString{}}},
		},
	}}
}

// What is not BMv2 JSON is refused.
func TestPipelineNotAProgram(t *testing.T) {
	cfg := loadConfig(t, "entities")
	for _, device := range []string{"", "x", "{", "[]", `{"program": 3}`,
		string(cfg.P4DeviceConfig[:len(cfg.P4DeviceConfig)/2])} {
		d := newTestDevice(t, Config{})
		err := d.SetPipeline(0, &p4v1.SetForwardingPipelineConfigRequest{
			DeviceId: 1, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
			Config: &p4v1.ForwardingPipelineConfig{P4Info: cfg.P4Info, P4DeviceConfig: []byte(device)},
		})
		if status.Code(err) != codes.InvalidArgument ||
			!strings.Contains(err.Error(), "p4_device_config") && device != "[]" {
			t.Errorf("%.20q: %v", device, err)
		}
	}
}

// No P4Info, however odd, breaks the device.
func TestMutatedP4Info(t *testing.T) {
	accepted, rounds := uint64(0), mutants(150)
	cfg := loadConfig(t, "entities")
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(seed, 2))
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			info := proto.Clone(cfg.P4Info).(*configv1.P4Info)
			for range 1 + rng.IntN(4) {
				mutate(rng, info.ProtoReflect(), nil)
			}
			d := newTestDevice(t, Config{})
			err := d.SetPipeline(0, &p4v1.SetForwardingPipelineConfigRequest{
				DeviceId: 1, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
				Config: &p4v1.ForwardingPipelineConfig{P4Info: info, P4DeviceConfig: cfg.P4DeviceConfig},
			})
			if err != nil {
				if status.Code(err) != codes.InvalidArgument {
					t.Fatal(err)
				}
				return
			}
			accepted++
			dump(d)
		})
	}
	if accepted == 0 || accepted == rounds {
		t.Errorf("%d of %d accepted: the mutations are not what they should be", accepted, rounds)
	}
}
