package main

import (
	"slices"
	"testing"
)

// TestExportHasAllKinds: what apply takes, export gives.
func TestExportHasAllKinds(t *testing.T) {
	var want []string
	for _, k := range kinds {
		if k.document != nil {
			want = append(want, k.name)
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(slices.Values(exported)); !slices.Equal(got, want) {
		t.Errorf("export has %v, apply takes %v", got, want)
	}
}
