// Package audit keeps records of who changed what. Records form chains: each record holds the hash
// of the preceding record, so altered, removed or inserted records show ([Verify]). A chain has one
// writer at a time. A [Chain] hands the store writes of records to the code that makes the change,
// which commits both in one transaction. A [Log] writes records of requests that change nothing.
//
// Chains cannot reveal the loss or the complete rewriting of a chain. A [Notary] therefore notes
// the newest record of each chain in the cluster's record and in a file outside the store. The
// process log contains each hash too.
package audit
