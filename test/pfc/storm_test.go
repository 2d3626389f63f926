package pfc

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/lab"
)

const longest = 100 * time.Millisecond // pause of the tests below

func (b *bed) stormsAt(sw string) (n uint64) {
	for _, x := range b.policy().Status.Nodes {
		if x.Switch == sw && x.Queue != nil {
			n += x.Queue.Storms
		}
	}
	return n
}

func (b *bed) storming() bool {
	c := b.policy().Status.Conditions.Find(api.Degraded)
	return c != nil && c.Status && c.Reason == api.ReasonPFCStorm
}

// TestStorm: a host that pauses forever without a reason stops the tenant no longer than the policy
// allows. The switch reports the storm, the controller shows the storm, and both notice its end.
func TestStorm(t *testing.T) {
	b := newBed(t, lab.PFCNetwork(2*time.Millisecond, 1e9), 1)
	b.tenants()
	b.lossless(func(s *api.PFCPolicySpec) { s.XOFF, s.MaxPause = 64<<10, api.Duration(longest) })
	b.programmed()
	a, err := b.w.NewStream(lab.StreamConfig{From: "DC1", To: "DC2", QPN: 1, Payload: 4096,
		Rate: 200e6, Priority: 3})
	b.must(err)
	a.Start()
	b.run(20 * time.Millisecond)
	began := b.w.Now()
	b.pause("DC2", 3, time.Second, true)
	b.run(longest - 10*time.Millisecond)
	queue := fmt.Sprintf("R3/%d/3", b.port("DC2"))
	if got := a.Received; b.storming() || b.saw("pfc.storm", queue) ||
		b.policy().Status.Conditions.Is(api.Degraded) {
		t.Fatalf("a storm before %v are over: %d packets, %+v", longest, got,
			b.policy().Status.Conditions)
	}
	stopped := a.Received
	b.run(30 * time.Millisecond)
	if !b.storming() || !b.saw("pfc.storm", queue) || b.stormsAt("R3") != 1 {
		t.Errorf("%v after the pause began: %+v, %d storms; %v", b.w.Now()-began,
			b.policy().Status.Conditions, b.stormsAt("R3"), b.events)
	}
	if a.Received == stopped {
		t.Error("nothing has come since")
	}
	rest := newAPI(b)
	shown := fmt.Sprintf(`"switch":"R3","port":%d,"priority":3,`, b.port("DC2"))
	if body := rest.get("/v1/pfc-policies/lossless"); !strings.Contains(body, shown) ||
		!strings.Contains(body, `"storms":1`) || !strings.Contains(body, api.ReasonPFCStorm) {
		t.Errorf("the API shows no storm: %s", body)
	}
	if body := rest.get("/metrics"); !strings.Contains(body,
		fmt.Sprintf(`weft_pfc_storms_total{port="%d",priority="3",switch="R3"} 1`, b.port("DC2"))) ||
		!strings.Contains(body, `weft_pfc_policies_condition{condition="Degraded"} 1`) {
		t.Errorf("the metrics count no storm: %s", body)
	}
	before, sent := a.Received, a.Sent
	b.run(500 * time.Millisecond) // DC2 still pauses
	if got := a.Received - before; got+20 < a.Sent-sent {
		t.Errorf("while DC2 goes on to pause: %d of %d packets", got, a.Sent-sent)
	}
	if b.stormsAt("R1") != 0 {
		t.Error("R1, which R3 has let go, takes its own pause for a storm")
	}
	b.run(500*time.Millisecond + 2*longest)
	if b.storming() || b.policy().Status.Conditions.Is(api.Degraded) ||
		!b.saw("pfc.storm-ended", queue) {
		t.Errorf("after DC2 has stopped: %+v; %v", b.policy().Status.Conditions, b.events)
	}
	counted := b.policy().Status.Nodes
	b.pause("DC2", 3, 50*time.Millisecond, true) // one like any other
	b.run(20 * time.Millisecond)
	stopped = a.Received
	b.run(20 * time.Millisecond)
	if a.Received != stopped {
		t.Errorf("a pause no longer counts: %+v", counted)
	}
	b.run(200 * time.Millisecond)
	a.Stop()
	b.run(1500 * time.Millisecond)
	if a.Lost()+a.Reordered+a.Corrupt > 0 || b.stormsAt("R3") != 1 {
		t.Errorf("of %d packets %d lost, %d late; %d storms", a.Sent, a.Lost(), a.Reordered,
			b.stormsAt("R3"))
	}
}

// TestLegalPauses: long pauses, many pauses, and pauses close to the policy's limit are no storm,
// neither at their origin nor upstream. The upstream queue resumes later than the queue that
// stopped it.
func TestLegalPauses(t *testing.T) {
	if testing.Short() {
		t.Skip("on one goroutine, like those beside it")
	}
	b := newBed(t, lab.PFCNetwork(20*time.Millisecond, 1e9), 1)
	b.tenants()
	b.lossless(func(s *api.PFCPolicySpec) { s.XOFF, s.MaxPause = 64<<10, api.Duration(longest) })
	b.programmed()
	a, err := b.w.NewStream(lab.StreamConfig{From: "DC1", To: "DC2", QPN: 1, Payload: 4096,
		Rate: 800e6, Priority: 3})
	b.must(err)
	a.Start()
	b.run(50 * time.Millisecond)
	for range 5 {
		b.pause("DC2", 3, longest*95/100, true)
		b.run(longest + 10*time.Millisecond)
	}
	a.Stop()
	b.run(2 * time.Second)
	if b.saw("pfc.storm", fmt.Sprintf("R3/%d/3", b.port("DC2"))) ||
		b.stormsAt("R3")+b.stormsAt("R1") != 0 {
		t.Errorf("storms: %d at R3, %d at R1; %v", b.stormsAt("R3"), b.stormsAt("R1"), b.events)
	}
	if b.pausesAt("R1") == 0 || a.Lost()+a.Reordered+a.Corrupt > 0 {
		t.Errorf("R1 had %d pauses; of %d packets %d lost, %d late", b.pausesAt("R1"), a.Sent, a.Lost(),
			a.Reordered)
	}
}
