//lint:file-ignore SA1019 the clients of p4lang/tutorials send deprecated fields

package p4rt_test

import p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

// tutorReplica names the port by egress_port, which P4Runtime 1.4 deprecates.
func tutorReplica(port, instance uint32) *p4v1.Replica {
	return &p4v1.Replica{PortKind: &p4v1.Replica_EgressPort{EgressPort: port}, Instance: instance}
}
