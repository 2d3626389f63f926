package p4rt

import (
	"testing"

	"google.golang.org/grpc/codes"
)

// TestGroupSize: a one-shot action set, as a group, stays within max_group_size, and within the
// size of its selector, which bounds all groups together. By the semantics of the selector the two
// count weights or members.
func TestGroupSize(t *testing.T) {
	for _, c := range []struct {
		what         string
		size         int64
		max          int32
		members      bool
		weights      []int32
		code         codes.Code
		whichRefused int
	}{
		{"at the size", 128, 0, false, []int32{100, 28}, codes.OK, 0},
		{"above the size", 128, 0, false, []int32{100, 29}, codes.ResourceExhausted, 1},
		{"one above the size", 128, 0, false, []int32{129}, codes.ResourceExhausted, 0},
		{"at max_group_size", 128, 64, false, []int32{63, 1}, codes.OK, 0},
		{"above max_group_size", 128, 64, false, []int32{63, 2}, codes.InvalidArgument, 1},
		{"a size of 0 is none", 0, 0, false, []int32{1 << 30, 1 << 30, 1 << 30}, codes.OK, 0},
		{"members at the size", 2, 0, true, []int32{100, 100}, codes.OK, 0},
		{"members above the size", 2, 0, true, []int32{1, 1, 1}, codes.ResourceExhausted, 2},
	} {
		p := &profileSchema{name: "ways", selector: true, size: c.size, sumOfMembers: c.members}
		sizes := p.newGroupSize(c.max)
		code, at := codes.OK, 0
		for i, w := range c.weights {
			if _, err := sizes.add(w); err != nil {
				code, at = err.Code, i
				break
			}
		}
		if code != c.code || at != c.whichRefused {
			t.Errorf("%s: %v at %d, want %v at %d", c.what, code, at, c.code, c.whichRefused)
		}
	}
}
