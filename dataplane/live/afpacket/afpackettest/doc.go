// Package afpackettest makes network namespaces with veth pairs, for tests and
// benchmarks of what works on interfaces.
package afpackettest
