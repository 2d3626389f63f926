// Package lease is the ledger of paths that clients lease: which lease holds how much of which
// link, and until when.
//
// [Ledger.Request] grants a lease, or says which link is full and when it is free. A lease ends
// when its client completes it, at the end of its duration, or when the client is silent for longer
// than its heartbeat allows. A lease whose path a failure breaks moves: [Ledger.Settle] reserves
// another one before it gives the former up, which it does when the client has followed
// ([Ledger.Moved]). A lease that cannot move holds nothing, says why, and is tried again whenever
// something has changed.
//
// What always holds: a link with an exclusive lease has no other lease, and no link has more
// bandwidth reserved than its capacity.
//
// Time is passed in and only grows; there is no goroutine and no clock. A [Lease] is a record: a
// ledger is made again of them ([Ledger.Restore]).
package lease
