// Package lease is the ledger of paths that clients lease: which lease holds how much of which
// link, and until when.
//
// [Ledger.Request] grants a lease, or says which link is full and when it becomes free. A lease
// ends when its client completes it, at the end of its duration, or when the client is silent for
// longer than the heartbeat allows. A lease whose path breaks by a failure moves: [Ledger.Settle]
// reserves a new path before it gives up the former path, which it does when the client has
// followed ([Ledger.Moved]). A lease that cannot move holds nothing, says why, and is retried after
// every change.
//
// What always holds: a link with an exclusive lease has no other lease, and no link has more
// bandwidth reserved than its capacity.
//
// Time is passed in and only grows; there is no goroutine and no clock. A [Lease] is a record:
// [Ledger.Restore] rebuilds a ledger from its leases.
package lease
