// Package sonicdb is the databases of a SONiC switch in memory, with the gNMI server in front of
// them: CONFIG_DB, that clients write, and APPL_DB, STATE_DB and COUNTERS_DB, that show what the
// switch does.
//
//	s := sonicdb.New(dbs, daemons)
//	s.Register(grpcServer)
//	s.Change(func(dbs sonicdb.Databases) { … }) // what the daemons have found
//
// Whoever brings what CONFIG_DB says about is its Daemons: a kernel, or the switch of a test.
//
// The server answers like sonic-gnmi of August 2026 (sonic_data_client/mixed_db_client.go,
// db_client.go): the elements of a Set form the pointer of a JSON Patch (RFC 6902) unchanged, a Set
// is applied whole or not at all, a table without rows is not found, TARGET_DEFINED is refused for
// the databases, and SAMPLE is at least 1 s. References between tables must lead to a row, as in
// the YANG models, and no table may be left without rows; nothing else is checked. The server also
// offers interfaces in OpenConfig, to the extent that sonic-mgmt-common translates them.
package sonicdb
