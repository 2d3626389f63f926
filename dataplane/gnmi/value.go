package gnmi

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// encodings are those that clients may ask for.
var encodings = []gpb.Encoding{gpb.Encoding_PROTO, gpb.Encoding_JSON, gpb.Encoding_JSON_IETF, gpb.Encoding_ASCII}

func checkEncoding(e gpb.Encoding) error {
	if slices.Contains(encodings, e) {
		return nil
	}
	return status.Errorf(codes.Unimplemented, "encoding %v; want one of %v", e, encodings)
}

// encode is the value of a leaf: a string, uint32 or uint64.
func encode(v any, e gpb.Encoding) *gpb.TypedValue {
	switch e {
	case gpb.Encoding_JSON:
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: toJSON(v)}}
	case gpb.Encoding_JSON_IETF:
		if n, ok := v.(uint64); ok {
			v = strconv.FormatUint(n, 10) // RFC 7951, section 6.1: numbers of 64 bits are strings
		}
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: toJSON(v)}}
	case gpb.Encoding_ASCII:
		return &gpb.TypedValue{Value: &gpb.TypedValue_AsciiVal{AsciiVal: fmt.Sprint(v)}}
	}
	switch v := v.(type) {
	case uint32:
		return &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: uint64(v)}}
	case uint64:
		return &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: v}}
	}
	return &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: fmt.Sprint(v)}}
}

func toJSON(v any) []byte {
	b, _ := json.Marshal(v) // of a string or a number
	return b
}
