package selfprobe

import (
	"reflect"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/controller/mrc/ev"
	"github.com/weft-sdn/weft/topology"
)

// TestSteps: a Planning in small steps takes many of them, and makes the plan that one step makes.
func TestSteps(t *testing.T) {
	f, hosts := network{t0: 4, t1: 4, t2: 3, hosts: 24}.make(t, ev.ModeF3216, nil)
	looks := f.ByID()[:1]
	for !f.Edge(looks[0]).Rises() {
		looks = f.ByID()[len(f.ByID())-1:]
	}
	avoid := Avoid{
		Link: func(i int32) string {
			if f.Edge(i).Local == "t0-001" && f.Edge(i).Remote == "t1-002" {
				return "it is down"
			}
			return ""
		},
		Port: func(host string, _ uint8, _ topology.NodeID) bool { return host == "h0003" },
	}
	want := Make(f, hosts, 3, avoid, looks)
	for _, most := range []int{1, 7, 64} {
		p, steps := NewPlanning(f, hosts, 3, avoid, looks), 1
		got := p.Step(most)
		for ; got == nil; steps++ {
			got = p.Step(most)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("steps of %d: %+v, want %+v", most, got, want)
		}
		if least := (2*len(hosts) + len(f.ByID())) / most; steps < least {
			t.Errorf("%d steps of %d, want %d at least", steps, most, least)
		}
	}
}

// TestMovesDuringChange: a link that goes out of use while the hosts of a new plan are added is out
// of use under the new plan too.
func TestMovesDuringChange(t *testing.T) {
	f, hosts := network{t0: 2, t1: 2, hosts: 8}.make(t, ev.ModeF3216, nil)
	plan := Make(f, hosts, 3, Avoid{}, nil)
	j := NewJudge()
	up := true
	open := func(int32) bool { return up }
	for number := range uint64(2) {
		c := j.Change(f, plan)
		for _, h := range hosts {
			c.Add(h.Name, &hostapi.SelfProbes{Version: hostapi.Version{Number: number + 1}})
		}
		if number == 1 { // between two steps
			up = false
			for place := range c.links {
				j.Moved(place)
			}
			j.Run(time.Second, open)
		}
		j.Use(time.Second, c)
		j.Run(time.Second, open)
		if len(j.links) != 4 {
			t.Fatalf("%d links are probed, want 4", len(j.links))
		}
		for place, l := range j.links {
			if l.open != up {
				t.Errorf("plan %d: link %s is in use: %v, want %v", number+1, f.Edge(place).ID, l.open, up)
			}
		}
	}
}
