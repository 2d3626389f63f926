// Package etcd is a [store.Shared] on etcd: an etcd server of this process, with its data in a
// directory ([Open]), or one that others run ([Connect]).
//
// The server runs within the process or, with [Config.Apart], in one of its own. It has no listener
// for clients: nothing but this process reaches it, so it needs no credentials. Alone it has no
// listener at all; as one of several [Peers] it has one for the others. A write returns when etcd
// has synced it to disk, on more than half of the members. One process at a time uses a data
// directory.
//
// Layout of a data directory:
//
//	LOCK      locked by the process that uses the directory; holds its process id
//	FORMAT    what wrote the directory: JSON, see [Format]
//	DISK      written again and again, to see whether the disk takes it
//	etcd/     the data of the etcd server
package etcd
