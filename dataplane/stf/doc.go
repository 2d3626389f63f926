// Package stf runs cases written in STF, the language of the packet tests that
// come with p4c, on an embedded switch.
//
// Parse reads a case, Run carries it out and returns nil, an error that names
// the line, or a Difference: the first place where the switch did something else
// than the case expects.
//
// A statement is a line; # starts a comment. Numbers are decimal, 0x, 0o or 0b;
// names are qualified by dots, may be quoted, and may leave out what is in front
// as long as they stay unambiguous.
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
// In a table with priorities the largest wins. A key that is not named is
// don't care, or 0 where the match is exact. * is a digit that does not matter,
// in the value of a ternary or lpm key and in what is expected; VALUE&&&MASK,
// PREFIX/LENGTH and LOW->HIGH say the same with numbers. "valid" names the
// validity of a header.
//
// Expected packets are compared per port and in order, once the case is over;
// more octets may follow those expected, unless they end in $; without octets any
// packet will do. A packet that is not expected is a difference, on a port that some packet or
// expect statement names; another port has no interface, as in p4c's driver of BMv2, and its
// packets are gone. no_packet reports that nothing has left since the last packet came in. Rates of
// meters are units a microsecond. Octets in a counter may be given with or without a frame check
// sequence of 4 for each packet, as p4c's own cases have it. Statements that read, and wait, check
// nothing.
//
// Time is virtual: a second passes at a wait, and between a packet and
// statements that change the switch.
package stf
