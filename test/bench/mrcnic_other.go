//go:build !linux

package main

import "context"

// mrcNIC has no figures where there are no network namespaces.
func mrcNIC(_ context.Context, out *report) error {
	out.tell("nic: no network namespaces here")
	return nil
}
