-- Wireshark dissector for MRC: OCP Multipath Reliable Connection 1.0.
--
--   wireshark -X lua_script:mrc.lua FILE        or copy it to the folder of personal Lua plugins
--
-- MRC has the UDP port of RoCEv2. Packets with an opcode of MRC (0b110 in its high bits) are
-- dissected here; all others go to Wireshark's own dissector. Table numbers are those of OCP MRC 1.0.

local mrc = Proto("mrc", "Multipath Reliable Connection")

mrc.prefs.port = Pref.uint("UDP port", 4791, "Destination port of MRC")
mrc.prefs.trimmed = Pref.uint("DSCP of trimmed packets", 35, "Codepoint of packets that a switch has trimmed")
mrc.prefs.lasthop = Pref.uint("DSCP of packets trimmed at the last hop", 39, "Codepoint of packets that the last switch has trimmed")

local opcodes = { -- table 6-2
	[0xc6] = "MRC WRITE First", [0xc7] = "MRC WRITE Middle", [0xc8] = "MRC WRITE Last",
	[0xc9] = "MRC WRITE Last with Immediate", [0xca] = "MRC WRITE Only", [0xcb] = "MRC WRITE Only with Immediate",
	[0xd1] = "MRC Acknowledge", [0xd8] = "MRC Endpoint Request", [0xd9] = "MRC Endpoint Response",
	[0xdc] = "MRC SACK", [0xdd] = "MRC NACK", [0xde] = "MRC Probe Request",
}
local marks = { [0] = "none", [1] = "skip once (ECN marked)", [2] = "always skip", [3] = "reserved" }
local operations = { [0] = "Port Status Update", [1] = "EV Probe", [2] = "reserved", [3] = "reserved" }
local reasons = { -- table 7-3
	[0x01] = "TRIMMED", [0x02] = "TRIMMED_LASTHOP", [0x06] = "NO_BITMAP", [0x07] = "NO_PKT_BUFFER",
	[0x0a] = "NO_RESOURCE", [0x0b] = "PSN_OOR_WINDOW", [0x19] = "UNEXP_EVENT",
}

local f = {}
local function field(name, make, title, ...)
	f[name] = make("mrc." .. name, title, ...)
end

-- Base transport header, tables 6-3 and 6-4.
field("bth.opcode", ProtoField.uint8, "Opcode", base.HEX, opcodes)
field("bth.se", ProtoField.bool, "Solicited Event", 8, nil, 0x80)
field("bth.m", ProtoField.bool, "Migration Request", 8, nil, 0x40)
field("bth.pad", ProtoField.uint8, "Pad Count", base.DEC, nil, 0x30)
field("bth.tver", ProtoField.uint8, "Transport Version", base.DEC, nil, 0x0f)
field("bth.pkey", ProtoField.uint16, "Partition Key", base.HEX)
field("bth.qpn", ProtoField.uint24, "Destination QPN", base.HEX)
field("bth.a", ProtoField.bool, "Acknowledge Request", 8, nil, 0x80)
field("bth.rtx", ProtoField.bool, "Retransmission", 8, nil, 0x20)
field("bth.ts", ProtoField.bool, "Timestamp follows", 8, nil, 0x10)
field("bth.psn", ProtoField.uint24, "PSN", base.DEC)
-- Message extended transport header, tables 6-8 and 6-9.
field("meth.rqmsn", ProtoField.uint16, "RQMSN", base.DEC)
field("meth.msn", ProtoField.uint16, "MSN", base.DEC)
-- Requester timestamp extended header, tables 6-6 and 6-7.
field("tseth.timestamp", ProtoField.uint16, "Timestamp (128 ns)", base.DEC)
field("tseth.tsr", ProtoField.bool, "Unit of the requester's own", 8, nil, 0x80)
field("tseth.ftype", ProtoField.uint8, "Type", base.DEC, nil, 0x0f)
-- RDMA extended transport header: IBTA volume 1, 9.3.3.
field("reth.va", ProtoField.uint64, "Virtual Address", base.HEX)
field("reth.rkey", ProtoField.uint32, "R_Key", base.HEX)
field("reth.length", ProtoField.uint32, "DMA Length", base.DEC)
field("immdt", ProtoField.uint32, "Immediate Data", base.HEX)
field("aeth.syndrome", ProtoField.uint8, "Syndrome", base.HEX)
field("aeth.msn", ProtoField.uint24, "MSN", base.DEC)
-- Selective acknowledgement, tables 7-14 and 7-15.
field("seth.mark", ProtoField.uint8, "Mark", base.DEC, marks, 0x60)
field("seth.probe", ProtoField.bool, "Answers a probe", 8, nil, 0x02)
field("seth.ack_psn_offset", ProtoField.int16, "ACK PSN offset", base.DEC)
field("seth.ev", ProtoField.uint32, "Entropy Value", base.HEX)
field("seth.spdcid", ProtoField.uint16, "Source PDC ID", base.HEX)
field("seth.dpdcid", ProtoField.uint16, "Destination PDC ID", base.HEX)
field("seth.cack_psn", ProtoField.uint24, "Cumulative ACK PSN", base.DEC)
field("seth.cc_type", ProtoField.uint8, "CC type", base.DEC, nil, 0xf0)
field("seth.mpr", ProtoField.uint8, "Maximum PSN range (128 packets)", base.DEC)
field("seth.sack_offset", ProtoField.int16, "SACK offset", base.DEC)
field("seth.bitmap", ProtoField.uint64, "SACK bitmap", base.HEX)
-- Congestion control state of NSCC, tables 7-12 and 7-13.
field("nscc.timestamp", ProtoField.uint16, "Timestamp (128 ns)", base.DEC)
field("nscc.ooo_count", ProtoField.uint16, "Out-of-order count", base.DEC, nil, 0x7fff)
field("nscc.restore_cwnd", ProtoField.bool, "Restore window", 8, nil, 0x80)
field("nscc.rcv_cwnd_pen", ProtoField.uint8, "Receiver window penalty", base.DEC, nil, 0x7f)
field("nscc.rcvd_bytes", ProtoField.uint24, "Received octets (256)", base.DEC)
-- Negative acknowledgement, tables 7-16 and 7-17.
field("neth.reason", ProtoField.uint8, "Reason", base.HEX, reasons)
field("neth.vendor", ProtoField.uint8, "Vendor information", base.HEX)
field("neth.ev", ProtoField.uint32, "Entropy Value", base.HEX)
field("neth.spdcid", ProtoField.uint16, "Source PDC ID", base.HEX)
field("neth.dpdcid", ProtoField.uint16, "Destination PDC ID", base.HEX)
field("neth.psn", ProtoField.uint24, "PSN", base.DEC)
field("neth.cc_type", ProtoField.uint8, "CC type", base.DEC, nil, 0xf0)
field("neth.timestamp", ProtoField.uint16, "Timestamp (128 ns)", base.DEC)
-- Reliability probe, tables 7-18 and 7-19.
field("peth.vendor", ProtoField.uint8, "Vendor information", base.HEX)
field("peth.id", ProtoField.uint16, "Probe ID", base.HEX)
field("peth.spdcid", ProtoField.uint16, "Source PDC ID", base.HEX)
field("peth.dpdcid", ProtoField.uint16, "Destination PDC ID", base.HEX)
-- Endpoint request and response, tables 7-20 to 7-23.
field("erth.op", ProtoField.uint8, "Operation", base.DEC, operations, 0x03)
field("erth.vendor", ProtoField.uint8, "Vendor information", base.HEX)
field("erth.ports", ProtoField.uint32, "Ports that are up, bit n is port n", base.HEX)
field("eeth.op", ProtoField.uint8, "Operation", base.DEC, operations, 0x0c)
field("eeth.timestamp", ProtoField.uint16, "Timestamp (128 ns)", base.DEC)

field("ev", ProtoField.uint32, "Entropy Value of the packet", base.HEX)
field("trimmed", ProtoField.bool, "Trimmed by a switch")
field("payload", ProtoField.bytes, "Payload")
field("icrc", ProtoField.uint32, "Invariant CRC", base.HEX)

local x = {
	opcode = ProtoExpert.new("mrc.opcode.unassigned", "Opcode is not assigned (table 6-2)", expert.group.PROTOCOL, expert.severity.WARN),
	reason = ProtoExpert.new("mrc.reason.reserved", "Reason of the NACK is reserved (table 7-3)", expert.group.PROTOCOL, expert.severity.WARN),
	nack = ProtoExpert.new("mrc.nack", "The responder refused a packet", expert.group.SEQUENCE, expert.severity.NOTE),
	rtx = ProtoExpert.new("mrc.retransmission", "Sent again", expert.group.SEQUENCE, expert.severity.NOTE),
	mark = ProtoExpert.new("mrc.marked", "The path of the packet was marked", expert.group.SEQUENCE, expert.severity.CHAT),
	trimmed = ProtoExpert.new("mrc.packet.trimmed", "A switch trimmed the packet", expert.group.SEQUENCE, expert.severity.NOTE),
	short = ProtoExpert.new("mrc.short", "Header is cut off", expert.group.MALFORMED, expert.severity.WARN),
	port = ProtoExpert.new("mrc.port.zero", "Bit 0 of the ports is set: ports are numbered from 1", expert.group.PROTOCOL, expert.severity.WARN),
}

do
	local fields, experts = {}, {}
	for _, v in pairs(f) do fields[#fields + 1] = v end
	for _, v in pairs(x) do experts[#experts + 1] = v end
	mrc.fields, mrc.experts = fields, experts
end

local udp_srcport = Field.new("udp.srcport")
local ipv6_flow = Field.new("ipv6.flow")
local ipv6_dscp = Field.new("ipv6.tclass.dscp")

-- The last of several fields of a name: that of the innermost header.
local function last(extractor)
	local all = { extractor() }
	return all[#all]
end

local function psn_add(psn, offset)
	return (psn + offset) % 0x1000000
end

-- A header is a length and a function that adds its fields, and returns text for the Info column.
local headers = {}

headers.METH = { 4, function(t, b)
	t:add(f["meth.rqmsn"], b(0, 2)); t:add(f["meth.msn"], b(2, 2))
	return " MSN=" .. b(2, 2):uint()
end }

headers.TSETH = { 4, function(t, b)
	t:add(f["tseth.timestamp"], b(0, 2)); t:add(f["tseth.tsr"], b(2, 1)); t:add(f["tseth.ftype"], b(3, 1))
	return ""
end }

headers.RETH = { 16, function(t, b)
	t:add(f["reth.va"], b(0, 8)); t:add(f["reth.rkey"], b(8, 4)); t:add(f["reth.length"], b(12, 4))
	return ""
end }

headers.ImmDt = { 4, function(t, b)
	t:add(f["immdt"], b(0, 4))
	return string.format(" Imm=0x%08x", b(0, 4):uint())
end }

headers.AETH = { 4, function(t, b)
	t:add(f["aeth.syndrome"], b(0, 1)); t:add(f["aeth.msn"], b(1, 3))
	return ""
end }

headers.SETH = { 36, function(t, b)
	local mark = t:add(f["seth.mark"], b(1, 1))
	t:add(f["seth.probe"], b(1, 1))
	local cack, offset = b(13, 3):uint(), b(2, 2):int()
	local probe = bit.band(b(1, 1):uint(), 0x02) ~= 0
	local o = t:add(f["seth.ack_psn_offset"], b(2, 2))
	if probe then
		o:append_text(string.format(" (probe ID 0x%04x)", b(2, 2):uint()))
	else
		o:append_text(" (PSN " .. psn_add(cack, offset) .. ")")
	end
	t:add(f["seth.ev"], b(4, 4)); t:add(f["seth.spdcid"], b(8, 2)); t:add(f["seth.dpdcid"], b(10, 2))
	t:add(f["seth.cack_psn"], b(13, 3)); t:add(f["seth.cc_type"], b(16, 1)); t:add(f["seth.mpr"], b(17, 1))
	local base_psn = psn_add(cack, b(18, 2):int())
	t:add(f["seth.sack_offset"], b(18, 2)):append_text(" (PSN " .. base_psn .. ")")
	t:add(f["seth.bitmap"], b(20, 8))
	if bit.rshift(b(16, 1):uint(), 4) == 0 then
		local cc = t:add(b(28, 8), "Congestion control state of NSCC")
		cc:add(f["nscc.timestamp"], b(28, 2)); cc:add(f["nscc.ooo_count"], b(30, 2)); cc:add(f["nscc.restore_cwnd"], b(32, 1))
		cc:add(f["nscc.rcv_cwnd_pen"], b(32, 1)); cc:add(f["nscc.rcvd_bytes"], b(33, 3))
	end
	if bit.band(b(1, 1):uint(), 0x60) ~= 0 then mark:add_proto_expert_info(x.mark) end
	return " CACK=" .. cack .. (probe and string.format(" Probe=0x%04x", b(2, 2):uint()) or " ACK=" .. psn_add(cack, offset))
end }

headers.NETH = { 20, function(t, b)
	local code = b(2, 1):uint()
	local reason = t:add(f["neth.reason"], b(2, 1))
	reason:add_proto_expert_info(reasons[code] and x.nack or x.reason)
	t:add(f["neth.vendor"], b(3, 1)); t:add(f["neth.ev"], b(4, 4)); t:add(f["neth.spdcid"], b(8, 2)); t:add(f["neth.dpdcid"], b(10, 2))
	t:add(f["neth.psn"], b(13, 3)); t:add(f["neth.cc_type"], b(16, 1)); t:add(f["neth.timestamp"], b(18, 2))
	return " " .. (reasons[code] or string.format("reason 0x%02x", code)) .. " NPSN=" .. b(13, 3):uint()
end }

headers.PETH = { 16, function(t, b)
	t:add(f["peth.vendor"], b(3, 1)); t:add(f["peth.id"], b(4, 2)); t:add(f["peth.spdcid"], b(8, 2)); t:add(f["peth.dpdcid"], b(10, 2))
	headers.TSETH[2](t, b(12, 4))
	return string.format(" Probe=0x%04x", b(4, 2):uint())
end }

headers.ERTH = { 16, function(t, b)
	local op = bit.band(b(1, 1):uint(), 3)
	t:add(f["erth.op"], b(1, 1)); t:add(f["erth.vendor"], b(3, 1))
	if op == 0 then
		local ports = t:add(f["erth.ports"], b(4, 4))
		if bit.band(b(7, 1):uint(), 1) ~= 0 then ports:add_proto_expert_info(x.port) end
	end
	headers.TSETH[2](t, b(12, 4))
	return " " .. operations[op]
end }

headers.EETH = { 36, function(t, b)
	t:add(f["eeth.op"], b(1, 1)); t:add(f["eeth.timestamp"], b(28, 2))
	return " " .. operations[bit.band(bit.rshift(b(1, 1):uint(), 2), 3)]
end }

-- Headers that follow the base transport header (table 6-2). A request has a TSETH behind its METH if ts says so.
local function following(opcode, ts)
	if opcode >= 0xc6 and opcode <= 0xcb then
		local list = { "METH" }
		if ts then list[#list + 1] = "TSETH" end
		list[#list + 1] = "RETH"
		if opcode == 0xc9 or opcode == 0xcb then list[#list + 1] = "ImmDt" end
		return list, true
	end
	local one = { [0xd1] = "AETH", [0xd8] = "ERTH", [0xd9] = "EETH", [0xdc] = "SETH", [0xdd] = "NETH", [0xde] = "PETH" }
	return { one[opcode] }, false
end

local function dissect(buffer, pinfo, root)
	local opcode = buffer(0, 1):uint()
	local tree = root:add(mrc, buffer())
	local flags = buffer(8, 1):uint()
	local psn = buffer(9, 3):uint()
	pinfo.cols.protocol = "MRC"

	local source, flow = last(udp_srcport), last(ipv6_flow)
	if source and flow then -- table 9-1
		tree:add(f["ev"], source.value * 0x10000 + flow.value % 0x10000):set_generated()
	end
	local trimmed = false -- switches mark the outermost header
	for _, dscp in ipairs({ ipv6_dscp() }) do
		trimmed = trimmed or dscp.value == mrc.prefs.trimmed or dscp.value == mrc.prefs.lasthop
	end
	tree:add(f["trimmed"], trimmed):set_generated()
	if trimmed then tree:add_proto_expert_info(x.trimmed) end

	local bth = tree:add(buffer(0, 12), "Base transport header")
	local o = bth:add(f["bth.opcode"], buffer(0, 1))
	if not opcodes[opcode] then o:add_proto_expert_info(x.opcode) end
	bth:add(f["bth.se"], buffer(1, 1)); bth:add(f["bth.m"], buffer(1, 1)); bth:add(f["bth.pad"], buffer(1, 1)); bth:add(f["bth.tver"], buffer(1, 1))
	bth:add(f["bth.pkey"], buffer(2, 2)); bth:add(f["bth.qpn"], buffer(5, 3))
	bth:add(f["bth.a"], buffer(8, 1))
	local rtx = bth:add(f["bth.rtx"], buffer(8, 1))
	if bit.band(flags, 0x20) ~= 0 then rtx:add_proto_expert_info(x.rtx) end
	bth:add(f["bth.ts"], buffer(8, 1)); bth:add(f["bth.psn"], buffer(9, 3))

	local list, request = following(opcode, bit.band(flags, 0x10) ~= 0)
	local info = string.format("%s QPN=0x%06x PSN=%d", opcodes[opcode] or string.format("opcode 0x%02x", opcode), buffer(5, 3):uint(), psn)
	local at, whole = 12, true
	for _, name in ipairs(list) do
		local length, add = headers[name][1], headers[name][2]
		if at + length > buffer:len() then
			if not trimmed and buffer:len() == buffer:reported_len() then tree:add_proto_expert_info(x.short) end
			whole = false
			break
		end
		info = info .. add(tree:add(buffer(at, length), name), buffer(at, length))
		at = at + length
	end
	-- A trimmed packet has no ICRC; of a capture that is cut short it may be missing.
	if whole and not trimmed and buffer:len() == buffer:reported_len() and buffer:len() >= at + 4 then
		local pad = bit.rshift(bit.band(buffer(1, 1):uint(), 0x30), 4)
		local length = buffer:len() - 4 - at - pad
		if request and length > 0 then tree:add(f["payload"], buffer(at, length)) end
		tree:add_le(f["icrc"], buffer(buffer:len() - 4, 4))
	end
	if trimmed then info = info .. " [trimmed]" end
	pinfo.cols.info = info
end

local function is_mrc(buffer)
	return buffer:len() >= 12 and bit.rshift(buffer(0, 1):uint(), 5) == 6
end

local ports = DissectorTable.get("udp.port")
local other

-- A NACK and a trimmed packet keep the UDP length of the packet that they answer or come from (7.5.2
-- and 9.7): Wireshark notes the length, and hands over what is there.
function mrc.dissector(buffer, pinfo, root)
	if is_mrc(buffer) then
		dissect(buffer, pinfo, root)
	elseif other then
		return other:call(buffer, pinfo, root)
	end
	return buffer:len()
end

-- The source port is a part of the entropy value. Wireshark looks at the lower port first, and another
-- dissector may take the datagram for its own: then it is dissected here, too.
local late = Proto("mrc_late", "Multipath Reliable Connection, behind another dissector")
local udp_dstport = Field.new("udp.dstport")
local seen = Field.new("mrc.bth.opcode")

function late.dissector(buffer, pinfo, root)
	local port = last(udp_dstport)
	if not port or port.value ~= mrc.prefs.port or seen() then return end
	local at = port.offset + 6 -- behind length and checksum
	if at >= buffer:len() then return end
	local rest = buffer(at):tvb()
	if is_mrc(rest) then dissect(rest, pinfo, root) end
end

local function register()
	other = ports:get_dissector(mrc.prefs.port)
	ports:set(mrc.prefs.port, mrc)
end

local registered = mrc.prefs.port
function mrc.prefs_changed()
	if mrc.prefs.port == registered then return end
	if other then ports:set(registered, other) else ports:remove(registered, mrc) end
	registered = mrc.prefs.port
	register()
end

register()
register_postdissector(late)
