package packet

import "testing"

const (
	// type 4, nxt 5, res 5, op 2 = 1; res 8; vendor_info; port_status_mask; res 32; tx_timestamp, tsr
	// 0, res, ftype 1.
	erthWire       = "00 01 00 99 00000000 00000000 beef 0001"
	erthStatusWire = "00 00 00 00 8000001e 00000000 0000 0000"
	erthMask       = "00 03 00 ff ffffffff 00000000" + tsethMask
)

func TestERTH(t *testing.T) {
	testHeader(t, ParseERTH, []headerCase[ERTH]{
		{"EV probe", erthWire, ERTH{Op: EndpointEVProbe, VendorInfo: 0x99, TSETH: TSETH{Timestamp: 0xbeef,
			Type: TSETHTimestamp}}},
		{"port status", erthStatusWire,
			ERTH{Op: EndpointPortStatus, Ports: PortMask(0).With(1).With(2).With(3).With(4).With(31)}},
		{"reserved operation", "00 03 00 00 00000000 00000000 0000 0000", ERTH{Op: 3}},
	})
	testMask(t, ParseERTH, erthMask)
	if got := (ERTH{Op: 0xFC}).Append(nil); got[1] != 0 {
		t.Errorf("an operation beyond 2 bits reaches the reserved bits: % x", got)
	}
}

func TestPortMask(t *testing.T) {
	if got := PortMask(0).With(1).With(31); got != 0x80000002 {
		t.Errorf("ports 1 and 31 are %#08x, want 0x80000002", uint32(got))
	}
	for port := -1; port <= 40; port++ {
		exists := port >= 1 && port <= MaxPort
		if got := PortMask(0).With(port); got.Has(port) != exists || (got != 0) != exists {
			t.Errorf("port %d: mask %#08x, has %v", port, uint32(got), got.Has(port))
		}
		if PortMask(0xFFFFFFFF).Has(port) != exists || PortMask(0).Has(port) {
			t.Errorf("port %d in full and empty mask", port)
		}
	}
}

func TestEndpointOp(t *testing.T) {
	for op, want := range map[EndpointOp]string{0: "Port Status Update", 1: "EV Probe",
		2: "reserved endpoint operation 2"} {
		if op.String() != want {
			t.Errorf("operation %d is %q, want %q", uint8(op), op, want)
		}
	}
}

func FuzzParseERTH(f *testing.F) { fuzzMask(f, ParseERTH, erthMask, erthWire, erthStatusWire) }
