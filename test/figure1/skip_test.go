//go:build !linux

package figure1

import "testing"

func TestFigure1OnBMv2(t *testing.T) {
	t.Skip("skipped: network namespaces and veth pairs are Linux's")
}
