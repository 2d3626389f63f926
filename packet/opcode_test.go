package packet

import "testing"

// The layouts are those of IBTA volume 1, §9.2.1, for reliable connection, and annex A17.9.
func TestOpcodeExtensions(t *testing.T) {
	want := map[Opcode]Extension{
		0x00: 0, 0x01: 0, 0x02: 0, 0x03: ExtImmDt, 0x04: 0, 0x05: ExtImmDt,
		0x06: ExtRETH, 0x07: 0, 0x08: 0, 0x09: ExtImmDt, 0x0A: ExtRETH, 0x0B: ExtRETH | ExtImmDt,
		0x0C: ExtRETH, 0x0D: ExtAETH, 0x0E: 0, 0x0F: ExtAETH, 0x10: ExtAETH, 0x11: ExtAETH,
		0x81: ExtCNP,
	}
	for o := range 256 {
		o := Opcode(o)
		ext, ok := o.Extensions()
		wantExt, wantOK := want[o]
		if ext != wantExt || ok != wantOK {
			t.Errorf("%v: extensions %b, %v; want %b, %v", o, ext, ok, wantExt, wantOK)
		}
	}
}

func TestOpcodeNumbersAndNames(t *testing.T) {
	for _, c := range []struct {
		op   Opcode
		code uint8
		name string
	}{
		{OpSendFirst, 0, "SEND First"},
		{OpSendMiddle, 1, "SEND Middle"},
		{OpSendLast, 2, "SEND Last"},
		{OpSendLastImmediate, 3, "SEND Last with Immediate"},
		{OpSendOnly, 4, "SEND Only"},
		{OpSendOnlyImmediate, 5, "SEND Only with Immediate"},
		{OpWriteFirst, 6, "RDMA WRITE First"},
		{OpWriteMiddle, 7, "RDMA WRITE Middle"},
		{OpWriteLast, 8, "RDMA WRITE Last"},
		{OpWriteLastImmediate, 9, "RDMA WRITE Last with Immediate"},
		{OpWriteOnly, 10, "RDMA WRITE Only"},
		{OpWriteOnlyImmediate, 11, "RDMA WRITE Only with Immediate"},
		{OpReadRequest, 12, "RDMA READ Request"},
		{OpReadResponseFirst, 13, "RDMA READ Response First"},
		{OpReadResponseMiddle, 14, "RDMA READ Response Middle"},
		{OpReadResponseLast, 15, "RDMA READ Response Last"},
		{OpReadResponseOnly, 16, "RDMA READ Response Only"},
		{OpAcknowledge, 17, "Acknowledge"},
		{OpAtomicAcknowledge, 18, "ATOMIC Acknowledge"},
		{OpCompareSwap, 19, "CmpSwap"},
		{OpFetchAdd, 20, "FetchAdd"},
		{OpSendLastInvalidate, 22, "SEND Last with Invalidate"},
		{OpSendOnlyInvalidate, 23, "SEND Only with Invalidate"},
		{OpCongestionNotification, 0x81, "CNP"},
		{0x21, 0x21, "opcode 0x21"},
		{OpMRCWriteFirst, 0xC6, "MRC WRITE First"},
		{OpMRCWriteMiddle, 0xC7, "MRC WRITE Middle"},
		{OpMRCWriteLast, 0xC8, "MRC WRITE Last"},
		{OpMRCWriteLastImmediate, 0xC9, "MRC WRITE Last with Immediate"},
		{OpMRCWriteOnly, 0xCA, "MRC WRITE Only"},
		{OpMRCWriteOnlyImmediate, 0xCB, "MRC WRITE Only with Immediate"},
		{OpMRCAcknowledge, 0xD1, "MRC Acknowledge"},
		{OpMRCEndpointRequest, 0xD8, "MRC Endpoint Request"},
		{OpMRCEndpointResponse, 0xD9, "MRC Endpoint Response"},
		{OpMRCSACK, 0xDC, "MRC SACK"},
		{OpMRCNACK, 0xDD, "MRC NACK"},
		{OpMRCProbe, 0xDE, "MRC Probe Request"},
		{0xC0, 0xC0, "opcode 0xc0"},
	} {
		if uint8(c.op) != c.code || c.op.String() != c.name {
			t.Errorf("%d is %q, want %d %q", uint8(c.op), c.op, c.code, c.name)
		}
	}
}

func TestExtensionLen(t *testing.T) {
	for ext, want := range map[Extension]int{
		ExtMETH: 4, ExtTSETH: 4, ExtRETH: 16, ExtAETH: 4, ExtImmDt: 4, ExtCNP: 16,
		ExtSETH: 36, ExtNETH: 20, ExtPETH: 16, ExtERTH: 16, ExtEETH: 36,
	} {
		if got := ext.Len(); got != want {
			t.Errorf("Len of %b = %d, want %d", ext, got, want)
		}
	}
	if got := (ExtRETH | ExtAETH | ExtImmDt | ExtCNP).Len(); got != 16+4+4+16 {
		t.Errorf("Len of four = %d, want 40", got)
	}
	if got := Extension(0).Len(); got != 0 {
		t.Errorf("Len of none = %d", got)
	}
}

func TestOpcodeMRC(t *testing.T) {
	for o := range 256 {
		if got, want := Opcode(o).MRC(), o>>5 == 6; got != want {
			t.Errorf("opcode %#02x: MRC = %v, want %v", o, got, want)
		}
	}
}
