// Package sonic programs a SONiC switch over its gNMI server: CONFIG_DB is what it should do, and
// APPL_DB, behind the daemons that read CONFIG_DB, is what it does.
//
//	s, err := sonic.Open(ctx, sonic.Config{Config: cfg}, handler)
//	contents, err := s.Read(ctx)            // rows, as entry.Row
//	refused, err := s.Write(ctx, updates)   // one Set: a JSON Patch, applied whole or not at all
//	without, err := s.Confirm(ctx, updates) // what has not got to APPL_DB
//
// Nothing comes back to the writer of CONFIG_DB when a daemon does not take a row: a wrong SID is a
// line in the switch's log. So a local SID or a route counts as held only while APPL_DB has it, and
// one that CONFIG_DB has and APPL_DB has lost is taken away and written again: FRR loses SIDs that
// come while it starts.
//
// Sources: github.com/sonic-net/sonic-gnmi of August 2026 (sonic_data_client/mixed_db_client.go,
// json_client.go) for paths, patches and subscriptions, sonic-buildimage's bgpcfgd and
// sonic-swss's srv6orch for what becomes of rows.
package sonic
