package packet

import "testing"

// Opcode C6; SE, M, pad 2, version 0; p_key; var-res; dqp; a 1, R 0, rtx 1, ts 1, inv-res 0; psn.
const mrcBTHWire = "c6 20 ffff 00 000118 b0 a788c0"

func TestMRCBTH(t *testing.T) {
	testHeader(t, ParseMRCBTH, []headerCase[MRCBTH]{
		{"WRITE First", mrcBTHWire, MRCBTH{
			Opcode: OpMRCWriteFirst, PadCount: 2, PKey: DefaultPKey, DestQPN: 0x118, AckReq: true,
			Retransmission: true, Timestamped: true, PSN: 0xa788c0,
		}},
		{"every bit", "df ff ffff ff ffffff ff ffffff", MRCBTH{
			Opcode: 0xdf, Solicited: true, MigReq: true, PadCount: 3, TVer: 15, PKey: 0xffff,
			VarReserved: 0xff, DestQPN: 0xffffff,
			AckReq: true, Reserved: true, Retransmission: true, Timestamped: true, InvReserved: 15,
			PSN: 0xffffff,
		}},
		{"solicited", "c0 80 0000 00 000000 00 000000", MRCBTH{Opcode: 0xc0, Solicited: true}},
		{"migration", "c0 40 0000 00 000000 00 000000", MRCBTH{Opcode: 0xc0, MigReq: true}},
		{"padding", "c0 10 0000 00 000000 00 000000", MRCBTH{Opcode: 0xc0, PadCount: 1}},
		{"version", "c0 05 0000 00 000000 00 000000", MRCBTH{Opcode: 0xc0, TVer: 5}},
		{"partition", "c0 00 1234 00 000000 00 000000", MRCBTH{Opcode: 0xc0, PKey: 0x1234}},
		{"var-res", "c0 00 0000 a5 000000 00 000000", MRCBTH{Opcode: 0xc0, VarReserved: 0xa5}},
		{"dqp", "c0 00 0000 00 123456 00 000000", MRCBTH{Opcode: 0xc0, DestQPN: 0x123456}},
		{"a", "c0 00 0000 00 000000 80 000000", MRCBTH{Opcode: 0xc0, AckReq: true}},
		{"R", "c0 00 0000 00 000000 40 000000", MRCBTH{Opcode: 0xc0, Reserved: true}},
		{"rtx", "c0 00 0000 00 000000 20 000000", MRCBTH{Opcode: 0xc0, Retransmission: true}},
		{"ts", "c0 00 0000 00 000000 10 000000", MRCBTH{Opcode: 0xc0, Timestamped: true}},
		{"inv-res", "c0 00 0000 00 000000 09 000000", MRCBTH{Opcode: 0xc0, InvReserved: 9}},
		{"psn", "c0 00 0000 00 000000 00 fedcba", MRCBTH{Opcode: 0xc0, PSN: 0xfedcba}},
	})
}

func TestMRCBTHAppendKeepsFieldsApart(t *testing.T) {
	h := MRCBTH{Opcode: 0xc0, PadCount: 0xFC, TVer: 0xF0, InvReserved: 0xF0, DestQPN: 0xFF000000,
		PSN: 0xFF000000}
	if got, _, err := ParseMRCBTH(h.Append(nil)); err != nil || got != (MRCBTH{Opcode: 0xc0}) {
		t.Errorf("bits beyond the fields' widths come back as %+v, %v", got, err)
	}
}

// An opcode of another service does not give the bits beside A a meaning.
func TestParseMRCBTHTakesOnlyMRC(t *testing.T) {
	wire := unhex(t, mrcBTHWire)
	for o := range 256 {
		wire[0] = byte(o)
		h, n, err := ParseMRCBTH(wire)
		if Opcode(o).MRC() {
			if err != nil || h.Opcode != Opcode(o) {
				t.Errorf("opcode %#02x: %+v, %v", o, h, err)
			}
			continue
		}
		if wantError(t, err, ErrUnsupported, Opcode(o).String(), "0xc0 to 0xdf"); n != 0 {
			t.Errorf("opcode %#02x: took %d octets", o, n)
		}
	}
}

// MRCBTH.BTH returns the same header as ParseBTH from the same octets.
func TestMRCBTHIsABTH(t *testing.T) {
	for _, wire := range []string{mrcBTHWire, "df ff ffff ff ffffff ff ffffff",
		"c0 00 0000 c0 000000 40 000000", "c0 00 0000 3f 000000 3f 000000"} {
		h, _, err := ParseMRCBTH(unhex(t, wire))
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := ParseBTH(unhex(t, wire))
		if err != nil {
			t.Fatal(err)
		}
		if got := h.BTH(); got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", wire, got, want)
		}
	}
}

// Table 6-2.
func TestMRCBTHExtensions(t *testing.T) {
	const write, immediate = ExtMETH | ExtRETH, ExtMETH | ExtRETH | ExtImmDt
	want := map[Opcode]Extension{
		0xC6: write, 0xC7: write, 0xC8: write, 0xC9: immediate, 0xCA: write, 0xCB: immediate,
		0xD1: ExtAETH, 0xD8: ExtERTH, 0xD9: ExtEETH, 0xDC: ExtSETH, 0xDD: ExtNETH, 0xDE: ExtPETH,
	}
	for o := range 256 {
		o := Opcode(o)
		wantExt, wantOK := want[o]
		if ext, ok := (MRCBTH{Opcode: o}).Extensions(); ext != wantExt || ok != wantOK {
			t.Errorf("%v: extensions %b, %v; want %b, %v", o, ext, ok, wantExt, wantOK)
		}
		if wantExt.Is(ExtMETH) {
			wantExt |= ExtTSETH
		}
		if ext, ok := (MRCBTH{Opcode: o, Timestamped: true}).Extensions(); ext != wantExt ||
			ok != wantOK {
			t.Errorf("%v with ts: extensions %b, %v; want %b, %v", o, ext, ok, wantExt, wantOK)
		}
	}
}

func TestEndpointHeader(t *testing.T) {
	h := EndpointHeader(OpMRCEndpointRequest, 0xBEEF)
	if got, want := h.Append(nil),
		unhex(t, "d8 00 ffff 00 000002 00 00beef"); string(got) != string(want) {
		t.Errorf("append:\n got % x\nwant % x", got, want)
	}
	if h.EndpointID() != 0xBEEF {
		t.Errorf("EndpointID = %#04x", h.EndpointID())
	}
	if got := (MRCBTH{PSN: 0xAB1234}).EndpointID(); got != 0x1234 {
		t.Errorf("EndpointID of PSN 0xab1234 = %#04x, want PSN[15:0]", got)
	}
}

func FuzzParseMRCBTH(f *testing.F) {
	fuzzHeader(f, ParseMRCBTH, true, mrcBTHWire, "dc 00 ffff 00 000118 20 a788bf",
		"df ff ffff ff ffffff ff ffffff", bthWire)
}
