package packet

import "testing"

const bthWire = "81 00 ffff 40 000118 00 000000"

func TestBTH(t *testing.T) {
	testHeader(t, ParseBTH, []headerCase[BTH]{
		{"CNP", bthWire, CNPHeader(0x118)},
		{"ACK", "11 40 ffff 00 000109 00 a788c0", BTH{Opcode: OpAcknowledge, MigReq: true,
			PKey: DefaultPKey, DestQPN: 0x109, PSN: 0xa788c0}},
		{"WRITE Only with padding", "0a 70 ffff 00 00010a 80 a788bc",
			BTH{Opcode: OpWriteOnly, MigReq: true, PadCount: 3, PKey: DefaultPKey, DestQPN: 0x10a,
				AckReq: true, PSN: 0xa788bc}},
		{"every bit", "ff ff ffff ff ffffff ff ffffff", BTH{
			Opcode: 0xff, Solicited: true, MigReq: true, PadCount: 3, TVer: 15, PKey: 0xffff, FECN: true,
			BECN: true, Reserved6: 0x3f,
			DestQPN: 0xffffff, AckReq: true, Reserved7: 0x7f, PSN: 0xffffff,
		}},
		{"solicited", "04 80 0000 00 000000 00 000000", BTH{Opcode: OpSendOnly, Solicited: true}},
		{"migration", "04 40 0000 00 000000 00 000000", BTH{Opcode: OpSendOnly, MigReq: true}},
		{"padding", "04 20 0000 00 000000 00 000000", BTH{Opcode: OpSendOnly, PadCount: 2}},
		{"version", "04 05 0000 00 000000 00 000000", BTH{Opcode: OpSendOnly, TVer: 5}},
		{"partition", "04 00 1234 00 000000 00 000000", BTH{Opcode: OpSendOnly, PKey: 0x1234}},
		{"FECN", "04 00 0000 80 000000 00 000000", BTH{Opcode: OpSendOnly, FECN: true}},
		{"BECN", "04 00 0000 40 000000 00 000000", BTH{Opcode: OpSendOnly, BECN: true}},
		{"reserved", "04 00 0000 21 000000 41 000000", BTH{Opcode: OpSendOnly, Reserved6: 0x21,
			Reserved7: 0x41}},
		{"queue pair", "04 00 0000 00 123456 00 000000", BTH{Opcode: OpSendOnly, DestQPN: 0x123456}},
		{"ack request", "04 00 0000 00 000000 80 000000", BTH{Opcode: OpSendOnly, AckReq: true}},
		{"PSN", "04 00 0000 00 000000 00 fedcba", BTH{Opcode: OpSendOnly, PSN: 0xfedcba}},
	})
}

func TestBTHAppendKeepsFieldsApart(t *testing.T) {
	got, _, err := ParseBTH(BTH{PadCount: 0xFC, TVer: 0xF0, Reserved6: 0xC0, Reserved7: 0x80,
		DestQPN: 0xFF000000, PSN: 0xFF000000}.Append(nil))
	if err != nil || got != (BTH{}) {
		t.Errorf("bits beyond the fields' widths come back as %+v, %v", got, err)
	}
}

func FuzzParseBTH(f *testing.F) {
	fuzzHeader(f, ParseBTH, true, bthWire, "0a 70 ffff 00 00010a 80 a788bc",
		"ff ff ffff ff ffffff ff ffffff")
}
