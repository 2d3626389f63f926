//lint:file-ignore SA1019 this file is where the deprecated fields of P4Runtime are dealt with

package p4rt

import p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

// Fields that P4Runtime 1.4 deprecates but that clients still use: kept for
// read-write symmetry where that is possible, refused where not.

func controllerMetadata(e *p4v1.TableEntry) uint64 { return e.GetControllerMetadata() }

func setControllerMetadata(e *p4v1.TableEntry, v uint64) { e.ControllerMetadata = v }

// egressPortOf returns the port of a replica that uses egress_port.
func egressPortOf(k *p4v1.Replica_EgressPort) uint32 { return k.EgressPort }

func newEgressPort(n uint32) *p4v1.Replica_EgressPort {
	return &p4v1.Replica_EgressPort{EgressPort: n}
}

// numericRole returns the numeric id of a role, which names have replaced.
func numericRole(r *p4v1.Role) uint64 { return r.GetId() }

func numericWriteRole(r *p4v1.WriteRequest) uint64 { return r.GetRoleId() }

func numericPipelineRole(r *p4v1.SetForwardingPipelineConfigRequest) uint64 { return r.GetRoleId() }
