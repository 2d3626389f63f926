// Package stf runs cases written in STF, the language of the packet tests that
// come with p4c, on an embedded switch.
//
// Parse reads a case. Run carries the case out and returns nil, an error that
// names the line, or a Difference: the first place where the switch deviates
// from the case.
//
// A statement is a line; # starts a comment. Numbers are decimal, 0x, 0o or 0b;
// names are qualified by dots, may be quoted, and may leave out leading parts
// while they stay unambiguous.
//
//	add TABLE [PRIORITY] KEY:VALUE... ACTION(PARAMETER:VALUE, ...) [= ID]
//	setdefault TABLE ACTION(...)
//	remove all
//	packet PORT OCTETS
//	expect PORT [OCTETS [$]]
//	no_packet
//	wait
//	check_counter COUNTER(INDEX or $ID) [packets|bytes == != < <= > >= NUMBER]
//	mc_mgrp_create GROUP, mc_node_create RID PORT..., mc_node_update NODE PORT..., mc_node_associate GROUP NODE
//	mirroring_add SESSION PORT, mirroring_add_mc SESSION GROUP, mirroring_delete SESSION, mirroring_get SESSION
//	register_read REGISTER INDEX, register_write REGISTER INDEX VALUE, register_reset REGISTER
//	counter_read COUNTER INDEX, counter_write COUNTER INDEX PACKETS BYTES
//	meter_get_rates METER INDEX, meter_set_rates METER INDEX RATE:BURST..., meter_array_set_rates METER RATE:BURST...
//	pvs_add SET VALUE
//	act_prof_create_member PROFILE ACTION(...), act_prof_create_group PROFILE, act_prof_add_member_to_group PROFILE MEMBER GROUP
//	table_indirect_add TABLE [PRIORITY] KEY:VALUE... => MEMBER, table_indirect_add_with_group TABLE [PRIORITY] KEY:VALUE... => GROUP
//
// In a table with priorities the largest wins. A key without a value is don't
// care, or 0 for an exact match. * stands for any digit, in the value of a
// ternary or lpm key and in expected octets; VALUE&&&MASK, PREFIX/LENGTH and
// LOW->HIGH say the same with numbers. "valid" names the validity of a header.
//
// Expected packets are compared per port and in order, once the case is over. More octets may
// follow the expected octets, unless these end in $; without octets any packet matches. An
// unexpected packet is a difference on a port named by a packet or expect statement. Packets to any
// other port are lost: as in p4c's driver of BMv2, the port lacks an interface. no_packet reports
// that nothing has left since the last packet came in. Rates of meters are units a microsecond.
// Octets in a counter may include or omit a frame check sequence of 4 for each packet, as in p4c's
// own cases. Statements that read, and wait, check nothing.
//
// Time is virtual: a second passes at a wait, and between a packet and
// statements that change the switch.
package stf
