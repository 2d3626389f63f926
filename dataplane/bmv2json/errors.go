package bmv2json

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// Describe explains an error of encoding/json in the reader's terms rather than
// Go's; data, where known, gives the line.
func Describe(err error, data []byte) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		if data != nil && syntax.Offset >= int64(len(data)) {
			return fmt.Sprintf("not whole JSON: it ends after %d octets", len(data))
		}
		return lineOf(data, syntax.Offset) + "not JSON: " + syntax.Error()
	}
	var typ *json.UnmarshalTypeError
	if errors.As(err, &typ) {
		where := ""
		if typ.Field != "" {
			where = typ.Field + ": "
		}
		return fmt.Sprintf("%s%s%s where %s is wanted", lineOf(data, typ.Offset), where,
			article(typ.Value), wanted(typ.Type))
	}
	return err.Error()
}

// lineOf is "line N: " for an offset of data.
func lineOf(data []byte, offset int64) string {
	if data == nil || offset > int64(len(data)) {
		return ""
	}
	return fmt.Sprintf("line %d: ", 1+bytes.Count(data[:offset], []byte("\n")))
}

func article(value string) string {
	if value == "array" || value == "object" {
		return "an " + value
	}
	return "a " + value
}

// wanted is the kind of JSON value that fits a Go type.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Pointer:
		return wanted(t.Elem())
	}
	return "a whole number"
}
