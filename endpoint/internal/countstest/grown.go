// Package countstest compares counters in tests.
package countstest

import "reflect"

// Grown is what counters have become more by, by their names: the fields of two structs of one type
// that are uint64 or int, without those that are as before.
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
