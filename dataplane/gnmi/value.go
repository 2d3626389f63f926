package gnmi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// encodings are those that clients may ask for.
var encodings = []gpb.Encoding{gpb.Encoding_PROTO, gpb.Encoding_JSON, gpb.Encoding_JSON_IETF,
	gpb.Encoding_ASCII}

func checkEncoding(e gpb.Encoding) error {
	if slices.Contains(encodings, e) {
		return nil
	}
	return status.Errorf(codes.Unimplemented, "encoding %v; want one of %v", e, encodings)
}

// identity is a value of an identityref.
type identity struct{ module, name string }

// plain returns a value in the form of JSON encodings, which encoding/json can write.
func plain(v any, e gpb.Encoding) any {
	switch v := v.(type) {
	case identity:
		if e == gpb.Encoding_JSON_IETF {
			return v.module + ":" + v.name // RFC 7951, section 6.8
		}
		return v.name
	case uint64:
		if e == gpb.Encoding_JSON_IETF {
			return strconv.FormatUint(v, 10) // RFC 7951, section 6.1: numbers of 64 bits are strings
		}
	}
	return v
}

// encode is the value of a leaf: a string, bool, identity, uint32 or uint64.
func encode(v any, e gpb.Encoding) *gpb.TypedValue {
	switch e {
	case gpb.Encoding_JSON:
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonVal{JsonVal: toJSON(plain(v, e))}}
	case gpb.Encoding_JSON_IETF:
		return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: toJSON(plain(v, e))}}
	case gpb.Encoding_ASCII:
		return &gpb.TypedValue{Value: &gpb.TypedValue_AsciiVal{AsciiVal: fmt.Sprint(plain(v, e))}}
	}
	switch v := plain(v, e).(type) {
	case bool:
		return &gpb.TypedValue{Value: &gpb.TypedValue_BoolVal{BoolVal: v}}
	case uint32:
		return &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: uint64(v)}}
	case uint64:
		return &gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: v}}
	default:
		return &gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: fmt.Sprint(v)}}
	}
}

func toJSON(v any) []byte {
	b, _ := json.Marshal(v) // of strings, booleans, numbers, and objects and lists of them
	return b
}

// decode returns a client's value in the form of fromJSON; isJSON reports that it may be an object.
func decode(v *gpb.TypedValue) (out any, isJSON bool, err error) {
	switch v := v.GetValue().(type) {
	case *gpb.TypedValue_StringVal:
		return v.StringVal, false, nil
	case *gpb.TypedValue_BoolVal:
		return v.BoolVal, false, nil
	case *gpb.TypedValue_UintVal:
		return v.UintVal, false, nil
	case *gpb.TypedValue_IntVal:
		if v.IntVal < 0 {
			return nil, false, fmt.Errorf("value %d; want no negative number", v.IntVal)
		}
		return uint64(v.IntVal), false, nil
	case *gpb.TypedValue_JsonVal:
		out, err = fromJSON(v.JsonVal)
		return out, true, err
	case *gpb.TypedValue_JsonIetfVal:
		out, err = fromJSON(v.JsonIetfVal)
		return out, true, err
	case nil:
		return nil, false, fmt.Errorf(
			"no value; want one of string_val, bool_val, uint_val, int_val, json_val, json_ietf_val")
	default:
		return nil, false, fmt.Errorf(
			"value of type %T; want one of string_val, bool_val, uint_val, int_val, json_val, json_ietf_val",
			v)
	}
}

// fromJSON reads one JSON value, and leaves numbers in their written form.
func fromJSON(b []byte) (out any, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("value is no JSON: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("value is JSON with something behind it; want one JSON value")
	}
	return out, nil
}

// scalar is a value as settings take it: a string, bool or uint64. ok is false for an object, list,
// null, and a number that is not whole or too large.
func scalar(v any) (out any, ok bool) {
	switch v := v.(type) {
	case string, bool, uint64:
		return v, true
	case json.Number:
		n, err := strconv.ParseUint(v.String(), 10, 64)
		return n, err == nil
	}
	return nil, false
}

// shown is a value in an error, cut where it is long.
func shown(v any) string {
	const most = 64
	b := toJSON(v)
	if len(b) > most {
		return string(b[:most]) + "…"
	}
	return string(b)
}
