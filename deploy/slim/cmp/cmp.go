// Package cmp stands in for github.com/google/go-cmp/cmp in released programs: the Makefile puts it
// there. etcd's server alone uses the package, for one check that only the environment variable
// ETCD_VERIFY turns on. go-cmp calls methods by names that the linker does not know, and so a
// program with it keeps every exported method of every type.
package cmp

import (
	"fmt"
	"reflect"
)

// Diff returns "" where two values are deeply equal, and else both.
func Diff(x, y any) string {
	if reflect.DeepEqual(x, y) {
		return ""
	}
	return fmt.Sprintf("-%v\n+%v\n", x, y)
}
