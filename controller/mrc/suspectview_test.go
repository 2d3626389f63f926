package mrc

import (
	"reflect"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/topology"
)

// TestSuspectOfHost: the link of a host has the host at one end and its leaf at the other.
func TestSuspectOfHost(t *testing.T) {
	w := newWorld(t, 1, nil).clos(1, 2, 1, 1).start()
	leaf := leafID(1, 1)
	w.net.SetNode(topology.Node{ID: leaf, Name: "a leaf"})
	w.core.SetTopology(w.net.Build())
	for _, c := range []struct {
		end  HostEnd
		want api.Suspect
	}{
		{HostEnd{Host: "h1", Port: 2, Leaf: leaf}, api.Suspect{FromName: "h1", To: leaf, ToName: "a leaf", Host: "h1", HostPort: 2}},
		{HostEnd{Host: "h1", Port: 2, Leaf: leaf, Receiving: true}, api.Suspect{From: leaf, FromName: "a leaf", ToName: "h1", Host: "h1", HostPort: 2}},
		{HostEnd{Port: 1, Leaf: leaf, Receiving: true}, api.Suspect{From: leaf, FromName: "a leaf", ToName: "a host", HostPort: 1}},
	} {
		got := w.core.viewSuspect(&accused{end: &c.end})
		got.Links, got.Since = nil, time.Time{}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %+v, want %+v", c.end, got, c.want)
		}
	}
}
