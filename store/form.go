package store

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// forms has the types of records, by [Form].
var (
	formsLock sync.Mutex
	forms     = make(map[string]reflect.Type)
)

// Form notes that the record of a key has the JSON of T; where the key ends in "/", all records
// whose keys begin with it have. Every kind of record has a form: a test compares them with the
// table of versions.
func Form[T any](key string) struct{} {
	formsLock.Lock()
	defer formsLock.Unlock()
	forms[key] = reflect.TypeFor[T]()
	return struct{}{}
}

// Forms returns the types of records, by their keys or what these begin with.
func Forms() map[string]reflect.Type {
	formsLock.Lock()
	defer formsLock.Unlock()
	return maps.Clone(forms)
}

// table is the table of versions: a line is the form of a record, the path of a field in its JSON
// (empty: the form itself), the type of the field, and the version of the schema that added it.
//
//go:embed schema.tsv
var table string

// since returns the version that added each field, by form and path.
var since = sync.OnceValue(func() map[[2]string]int {
	out := make(map[[2]string]int)
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if len(cells) != 4 {
			continue // a comment
		}
		n, _ := strconv.Atoi(cells[3]) // the test of the table reads all of them
		out[[2]string{cells[0], cells[1]}] = n
	}
	return out
})

// Newer returns the first field of a record that controllers with the schema up to a version do not
// know, and the version that added the field; 0: such controllers know all fields. The path is
// empty for an unknown kind of record. A field with the zero value does not count, because
// controllers without the field assume the zero value.
func Newer(form string, value []byte, version int) (path string, added int) {
	if n := since()[[2]string{form, ""}]; n > version {
		return "", n
	}
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil { // it is no JSON: a number, or text
		return "", 0
	}
	return newer(form, "", v, version)
}

// newer is Newer for the value at a path.
func newer(form, path string, v any, version int) (string, int) {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if found, n := newer(form, path+"."+name, v[name], version); n != 0 {
				return found, n
			}
			if found, n := newer(form, path+".*", v[name], version); n != 0 { // of a map
				return found, n
			}
		}
	case []any:
		for _, x := range v {
			if found, n := newer(form, path+"[]", x, version); n != 0 {
				return found, n
			}
		}
	default:
		n := since()[[2]string{form, path}]
		if n > version && v != nil && v != false && v != "" && v != json.Number("0") {
			return strings.TrimPrefix(path, "."), n
		}
	}
	return "", 0
}
