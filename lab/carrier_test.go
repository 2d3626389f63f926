package lab

import "testing"

// TestCarrier: the ports at both ends of a link are down while the link is down, and a port towards
// a switch is down while the switch is off. A switch turned on again finds its links in their
// current state.
func TestCarrier(t *testing.T) {
	w, err := NewWorld(Figure1(), Options{Carrier: true})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, down ...[2]string) {
		t.Helper()
		for _, x := range w.Wires() {
			n := w.switches[x.From]
			if n == nil || n.Down() {
				continue
			}
			want := true
			for _, d := range down {
				want = want && d != [2]string{x.From, x.To}
			}
			if got := n.Device().Switch().PortUp(x.FromPort); got != want {
				t.Errorf("%s: the port of %s towards %s is up: %v", what, x.From, x.To, got)
			}
		}
	}
	check("all is well")
	for _, ends := range [][2]string{{"N4", "N2"}, {"S1", "N6"}} {
		if err := w.SetLink(ends[0], ends[1], false); err != nil {
			t.Fatal(err)
		}
	}
	check("two links", [2]string{"N4", "N2"}, [2]string{"N2", "N4"}, [2]string{"N6", "S1"})
	n4 := w.switches["N4"]
	n4.Stop()
	check("N4 too", [2]string{"N2", "N4"}, [2]string{"N6", "S1"}, [2]string{"N6", "N4"},
		[2]string{"N1", "N4"})
	if err := w.SetLink("N4", "N2", true); err != nil {
		t.Fatal(err)
	}
	check("a link to what is off", [2]string{"N2", "N4"}, [2]string{"N6", "S1"}, [2]string{"N6", "N4"},
		[2]string{"N1", "N4"})
	if err := w.SetLink("N4", "N1", false); err != nil {
		t.Fatal(err)
	}
	if err := n4.Start(); err != nil {
		t.Fatal(err)
	}
	check("N4 is back", [2]string{"N4", "N1"}, [2]string{"N1", "N4"}, [2]string{"N6", "S1"})
}
