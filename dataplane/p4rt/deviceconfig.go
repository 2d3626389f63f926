package p4rt

import "google.golang.org/protobuf/encoding/protowire"

// programOf returns the BMv2 JSON from a p4_device_config, and whether the JSON came in a
// p4.tmp.P4DeviceConfig (PI, proto/p4/tmp/p4config.proto), which p4lang/tutorials and clients from
// the same time send:
//
//	message P4DeviceConfig {
//	  bool reassign = 1;
//	  Extras extras = 2;
//	  bytes device_data = 3;
//	}
//
// The order is PI's: octets that parse into a protobuf message are the message, other octets the
// JSON itself. In practice JSON never parses as a protobuf message: the first octet, '{', opens a
// group that only a field header of '|' closes. The switch ignores reassign, since a committed
// config starts from empty state anyway, and extras, since they name nothing in this switch.
func programOf(config []byte) (json []byte, wrapped bool) {
	const deviceData protowire.Number = 3
	for rest := config; len(rest) > 0; {
		number, kind, n := protowire.ConsumeTag(rest)
		if n < 0 {
			return config, false
		}
		rest = rest[n:]
		if n = protowire.ConsumeFieldValue(number, kind, rest); n < 0 {
			return config, false
		}
		if number == deviceData && kind == protowire.BytesType {
			json, _ = protowire.ConsumeBytes(rest)
		}
		rest = rest[n:]
	}
	return json, true
}
