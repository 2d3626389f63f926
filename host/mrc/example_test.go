package mrc_test

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/weft-sdn/weft/host/mrc"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// Two hosts of two planes, joined without switches: one writes to the other's memory.
func Example() {
	addrs := [2]netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")}
	mac := func(host, port int) packet.MAC { return packet.MAC{2, 0, 0, 0, byte(host), byte(port)} }
	type frame struct {
		to, port int
		octets   []byte
	}
	var wire []frame
	var hosts [2]*mrc.Host
	var qps [2]*mrc.QP
	for i := range hosts {
		cfg := mrc.DefaultConfig()
		cfg.Addr = addrs[i]
		for port := 1; port <= 2; port++ {
			cfg.Ports = append(cfg.Ports, mrc.Port{MAC: mac(i, port), Gateway: mac(1-i, port)})
		}
		cfg.Output = func(_ time.Duration, port int, octets []byte) {
			wire = append(wire, frame{1 - i, port, append([]byte(nil), octets...)})
		}
		hosts[i], _ = mrc.NewHost(cfg)
		qp := mrc.DefaultQPConfig()
		qp.QPN, qp.RemoteQPN, qp.RemoteAddr = 10, 10, addrs[1-i]
		qp.Congestion = mrc.FixedWindow(64 << 10)
		qp.Sprayer = mrc.NewRoundRobin(mrc.Path{EV: 0xC0000001, Port: 1},
			mrc.Path{EV: 0xC0000002, Port: 2})
		qps[i], _ = hosts[i].CreateQP(qp)
	}
	memory := make([]byte, 64)
	_, _ = hosts[1].RegisterMR(0x1000, 7, memory, verbs.AccessRemoteWrite)
	_ = qps[1].PostRecv(verbs.RecvRequest{ID: 1})

	now := time.Duration(0)
	wr := verbs.WorkRequest{ID: 1, Op: verbs.OpWriteImmediate, Data: []byte("by any plane"),
		RemoteVA: 0x1000, RKey: 7, Immediate: 42}
	if err := qps[0].PostSend(now, wr); err != nil {
		fmt.Println(err)
	}
	for hosts[0].Advance(now); len(wire) > 0; hosts[0].Advance(now) {
		f := wire[0]
		wire = wire[1:]
		now += time.Microsecond
		hosts[f.to].Receive(now, f.port, f.octets)
	}
	done, _ := qps[0].Poll()
	got, _ := qps[1].Poll()
	fmt.Println(done.Status, got.Immediate, string(memory[:got.Octets]))
	// Output: ok 42 by any plane
}
