package kind

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
)

// Bounds of the error for a filter that names nothing: the number of valid values, and the octets
// of the invalid value.
const (
	mostNames = 40
	mostValue = 64
)

// Unknown returns the error for a query parameter whose value names nothing; valid lists the valid
// values.
func Unknown(parameter, value string, valid []string) *api.Error {
	want := "one of " + strings.Join(valid[:min(len(valid), mostNames)], ", ")
	switch {
	case len(valid) == 0:
		want = "nothing: there is none"
	case len(valid) > mostNames:
		want += fmt.Sprintf(" and %d more", len(valid)-mostNames)
	}
	if len(value) > mostValue {
		value = strings.ToValidUTF8(value[:mostValue], "") + "…"
	}
	return &api.Error{Code: api.CodeInvalid, Fields: []api.FieldError{
		{Field: "query." + parameter, Code: api.CodeInvalid, Value: value, Want: want},
	}}
}

// Known returns, for an empty list, the error for the first field in the filter that names nothing:
// an empty answer would hide a slip of the pen. Whatever is listed proves its filter right. names
// returns what a field may name, by its tag "of".
func Known(q Query, listed int, names func(of string) []string) error {
	if listed > 0 || q.After != "" || q.Filter == nil {
		return nil
	}
	filter := reflect.ValueOf(q.Filter)
	for i := range filter.NumField() {
		tag := filter.Type().Field(i).Tag
		of, ok := tag.Lookup("of")
		if !ok || filter.Field(i).IsZero() {
			continue
		}
		value, valid := fmt.Sprint(filter.Field(i)), names(of)
		if !slices.Contains(valid, value) {
			return Unknown(tag.Get("query"), value, valid)
		}
	}
	return nil
}
