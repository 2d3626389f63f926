package main

import (
	"slices"
	"testing"

	"github.com/weft-sdn/weft/controller/inventory"
)

// TestRequestsForMembers: a controller's certificate has the address of the controller's etcd
// member, and the certificate for the controller in the file also the host under which peers reach
// this controller.
func TestRequestsForMembers(t *testing.T) {
	inv := inventory.Default()
	inv.Cluster.Name, inv.Cluster.Listen, inv.Cluster.Advertise = "c1", "192.0.2.7:9443", "c1.example"
	inv.Cluster.Etcd.Members = map[string]string{"c1": "192.0.2.1:2380", "c2": "192.0.2.2:2380",
		"c3": "192.0.2.3:2380"}
	all := requests(&inv)
	for i, want := range [][]string{
		{"c1", "192.0.2.1", "localhost", "127.0.0.1", "::1", "c1.example"},
		{"c2", "192.0.2.2", "localhost", "127.0.0.1", "::1"},
	} {
		if !slices.Equal(all[i].Hosts, want) {
			t.Errorf("%s: %v, want %v", all[i].Name, all[i].Hosts, want)
		}
	}
}
