package rc_test

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weft-sdn/weft/host/rc"
	"github.com/weft-sdn/weft/host/verbs"
	"github.com/weft-sdn/weft/packet"
)

// Two hosts on a wire without delay: one writes to the memory of the other.
func Example() {
	var hosts [2]*rc.Host
	var wire [2][][]byte // frames on their way to each host
	var qps [2]*rc.QP
	addr := [2]netip.Addr{netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")}
	mac := [2]packet.MAC{{2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 2}}
	for i := range hosts {
		cfg := rc.DefaultConfig()
		cfg.Addr, cfg.MAC, cfg.GatewayMAC = addr[i], mac[i], mac[1-i]
		cfg.Output = func(_ time.Duration, frame []byte) {
			wire[1-i] = append(wire[1-i], slices.Clone(frame))
		}
		hosts[i], _ = rc.NewHost(cfg)

		qp := rc.DefaultQPConfig()
		qp.QPN, qp.RemoteQPN, qp.RemoteAddr = 0x11, 0x11, addr[1-i]
		qps[i], _ = hosts[i].CreateQP(qp)
	}
	memory, _ := hosts[1].RegisterMR(0x1000, 7, make([]byte, 16), verbs.AccessRemoteWrite)

	if err := qps[0].PostSend(verbs.WorkRequest{ID: 1, Op: verbs.OpWrite, Data: []byte("hello"),
		RemoteVA: 0x1004, RKey: 7}); err != nil {
		fmt.Println(err)
	}
	var now time.Duration
	for {
		next, _ := hosts[0].Advance(now)
		for i := range hosts {
			i = 1 - i
			for _, frame := range wire[i] {
				hosts[i].Receive(now, frame)
			}
			wire[i] = nil
		}
		if c, ok := qps[0].Poll(); ok {
			fmt.Println(c.Op, c.ID, c.Status)
			break
		}
		now = next
	}
	fmt.Printf("%q\n", memory.Buf()[4:9])
	// Output:
	// WRITE 1 ok
	// "hello"
}
