// Package sonic programs a SONiC switch over its gNMI server: CONFIG_DB holds the wanted state, and
// APPL_DB the actual state, which the daemons derive from CONFIG_DB.
//
//	s, err := sonic.Open(ctx, sonic.Config{Config: cfg}, handler)
//	contents, err := s.Read(ctx)            // rows, as entry.Row
//	refused, err := s.Write(ctx, updates)   // one Set: a JSON Patch, applied whole or not at all
//	without, err := s.Confirm(ctx, updates) // what has not got to APPL_DB
//
// The writer of CONFIG_DB gets no answer when a daemon does not accept a row: a wrong SID only
// causes a line in the switch's log. So a local SID or a route counts as held only while APPL_DB
// has it. If APPL_DB has lost a row that CONFIG_DB still has, Weft removes the row and writes it
// again: FRR loses SIDs that arrive while FRR starts.
//
// Sources: github.com/sonic-net/sonic-gnmi of August 2026 (sonic_data_client/mixed_db_client.go,
// json_client.go) for paths, patches and subscriptions, sonic-buildimage's bgpcfgd and
// sonic-swss's srv6orch for what becomes of rows.
package sonic
