// Package etcd is a [store.Shared] on etcd: either this process runs an etcd server, with its data
// in a directory ([Open]), or others run the etcd ([Connect]).
//
// The server runs within the process or, with [Config.Apart], in a separate process. The server has
// no listener for clients: only this process reaches the server, so no credentials are needed. A
// single server has no listener at all; a member of several [Peers] has a listener for the other
// members. A write returns when etcd has synced it to disk, on more than half of the members. One
// process at a time uses a data directory.
//
// Layout of a data directory:
//
//	LOCK      locked by the process that uses the directory; holds its process id
//	FORMAT    what wrote the directory: JSON, see [Format]
//	DISK      written again and again, to see whether the disk takes it
//	UNCLEAN   there while a server runs, and after one that has not ended in order
//	etcd/     the data of the etcd server
package etcd
