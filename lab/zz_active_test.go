package lab

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/weft-sdn/weft/controller/ev"
)

func TestZZActive(t *testing.T) {
	a, _ := strconv.Atoi(os.Getenv("ACTIVE"))
	o := MRCOptions{Fabric: ClosConfig{T0: 2, T1: 2, Hosts: 32}, Mode: ev.ModeStructured, Bytes: 11 * 4096}.withDefaults()
	v := newVirtual(t, o, 1)
	d := newMRCDemo(o)
	d.stage = v
	d.rtt, d.hosts = v.world.Network.RoundTrip(), v.world.Network.mrcHosts()
	if _, err := d.spreadOf(t.Context(), "x", MeshConfig{Flows: allToAll(d.hosts, o.Bytes), Active: a}); err != nil {
		t.Fatal(err)
	}
	p := d.phases[0]
	fmt.Println("ACTIVE", a, "took", p.took, "share", p.goodput()/p.capacity, "trimmed", p.classes.Trimmed, "packets", p.octets/4096)
}
