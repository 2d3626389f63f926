// Package countstest compares counters in tests.
package countstest

import "reflect"

// Grown returns the growth of counters by name, without unchanged counters. before and after are
// structs of the same type; Grown compares their uint64 and int fields.
func Grown(before, after any) map[string]int {
	a, b := reflect.ValueOf(before), reflect.ValueOf(after)
	out := map[string]int{}
	for i := range a.NumField() {
		name := a.Type().Field(i).Name
		var n int
		switch a.Field(i).Kind() {
		case reflect.Uint64:
			n = int(int64(b.Field(i).Uint() - a.Field(i).Uint()))
		case reflect.Int:
			n = int(b.Field(i).Int() - a.Field(i).Int())
		}
		if n != 0 {
			out[name] = n
		}
	}
	return out
}
