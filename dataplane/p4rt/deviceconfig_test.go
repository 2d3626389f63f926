package p4rt

import (
	"bytes"
	"strings"
	"testing"

	"github.com/bufbuild/protocompile"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

// p4config is PI's proto/p4/tmp/p4config.proto.
const p4config = `syntax = "proto3";
package p4.tmp;
message P4DeviceConfig {
  message Extras {
    map<string, string> kv = 1;
  }
  bool reassign = 1;
  Extras extras = 2;
  bytes device_data = 3;
};`

// wrap returns a P4DeviceConfig with the JSON as its device_data; other holds its
// other fields in text form.
func wrap(t testing.TB, json []byte, other string) []byte {
	t.Helper()
	c := protocompile.Compiler{Resolver: &protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{"p4config.proto": p4config}),
	}}
	files, err := c.Compile(t.Context(), "p4config.proto")
	if err != nil {
		t.Fatal(err)
	}
	m := dynamicpb.NewMessage(files[0].Messages().ByName("P4DeviceConfig"))
	if err := prototext.Unmarshal([]byte(other), m); err != nil {
		t.Fatal(err)
	}
	m.Set(m.Descriptor().Fields().ByName("device_data"), protoreflect.ValueOfBytes(json))
	b, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The program comes as the JSON itself, or in the message that the clients of
// p4lang/tutorials send. The switch runs it alike, and gives back what came.
func TestDeviceConfigInMessage(t *testing.T) {
	bare := loadConfig(t, "entities")
	json := bare.P4DeviceConfig
	for name, config := range map[string][]byte{
		"bare":          json,
		"tutorials":     wrap(t, json, "reassign: true"),
		"data alone":    wrap(t, json, ""),
		"extras":        wrap(t, json, `extras { kv { key: "port" value: "9090" } }`),
		"unknown field": append(wrap(t, json, ""), 0x20, 1), // field 4, varint 1
	} {
		for _, action := range []p4v1.SetForwardingPipelineConfigRequest_Action{
			p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
			p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT,
		} {
			d := newTestDevice(t, Config{})
			if err := d.SetPipeline(0, &p4v1.SetForwardingPipelineConfigRequest{
				DeviceId: 1, Action: action,
				Config: &p4v1.ForwardingPipelineConfig{P4Info: bare.P4Info, P4DeviceConfig: config},
			}); err != nil {
				t.Errorf("%s, %s: %v", name, action, err)
				continue
			}
			if got, want := len(d.Switch().Program().Tables()), len(bare.P4Info.Tables); got < want {
				t.Errorf("%s, %s: the switch has %d tables, want %d at least", name, action, got, want)
			}
			got, err := d.GetPipeline(&p4v1.GetForwardingPipelineConfigRequest{DeviceId: 1})
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.GetConfig().GetP4DeviceConfig(), config) {
				t.Errorf("%s, %s: the switch gives back other octets than it took", name, action)
			}
		}
	}
}

// A message with a bad program is refused, and the error names the field in it.
func TestDeviceConfigInMessageRefused(t *testing.T) {
	cfg := loadConfig(t, "entities")
	for _, c := range []struct {
		name   string
		config []byte
		want   string
	}{
		{"no data", wrap(t, nil, "reassign: true"),
			"config.p4_device_config is a p4.tmp.P4DeviceConfig without device_data; want the BMv2 JSON " +
				"of the program there"},
		{"half", wrap(t, cfg.P4DeviceConfig[:100], ""),
			"config.p4_device_config, a p4.tmp.P4DeviceConfig: device_data: bad program: not whole JSON"},
		{"message cut off", wrap(t, cfg.P4DeviceConfig, "")[:200],
			"config.p4_device_config: bad program: line 1: not JSON"},
		{"twice", wrap(t, wrap(t, cfg.P4DeviceConfig, ""), ""),
			"config.p4_device_config, a p4.tmp.P4DeviceConfig: device_data: bad program"},
	} {
		d := newTestDevice(t, Config{})
		err := d.SetPipeline(0, &p4v1.SetForwardingPipelineConfigRequest{
			DeviceId: 1, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
			Config: &p4v1.ForwardingPipelineConfig{P4Info: cfg.P4Info, P4DeviceConfig: c.config},
		})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant %s", c.name, err, c.want)
		}
		if d.current() != nil {
			t.Errorf("%s: the device has a pipeline", c.name)
		}
	}
}
