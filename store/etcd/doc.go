// Package etcd is a [store.Store] on etcd: an etcd server inside the process, with its data in a
// directory.
//
// The server has no listener: nothing but this process reaches it, so it needs neither a port nor
// credentials. A write returns when etcd has synced it to disk. One process at a time uses a data
// directory.
//
// Layout of a data directory:
//
//	LOCK      locked by the process that uses the directory; holds its process id
//	FORMAT    what wrote the directory: JSON, see [Format]
//	etcd/     the data of the etcd server
package etcd
