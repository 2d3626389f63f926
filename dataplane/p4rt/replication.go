package p4rt

import (
	"math"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/dataplane"
)

// Limits of the packet replication engine.
const (
	maxMulticastGroup = math.MaxUint16
	maxCloneSession   = math.MaxInt16
	maxInstance       = math.MaxUint16
	maxClassOfService = math.MaxUint8
)

func (r *realm) writeReplication(typ p4v1.Update_Type, e *p4v1.PacketReplicationEngineEntry, undo *undoLog) *Error {
	switch x := e.GetType().(type) {
	case *p4v1.PacketReplicationEngineEntry_MulticastGroupEntry:
		if err := r.writeMulticastGroup(typ, x.MulticastGroupEntry, undo); err != nil {
			return err.in("multicast group %d", x.MulticastGroupEntry.GetMulticastGroupId())
		}
		return nil
	case *p4v1.PacketReplicationEngineEntry_CloneSessionEntry:
		if err := r.writeCloneSession(typ, x.CloneSessionEntry, undo); err != nil {
			return err.in("clone session %d", x.CloneSessionEntry.GetSessionId())
		}
		return nil
	}
	return invalid("the packet replication engine entry is empty; want a multicast group or a clone session")
}

func (r *realm) writeMulticastGroup(typ p4v1.Update_Type, e *p4v1.MulticastGroupEntry, undo *undoLog) *Error {
	switch id := e.GetMulticastGroupId(); {
	case id == 0:
		return invalid("multicast_group_id 0; want 1 to %d", maxMulticastGroup)
	case id > maxMulticastGroup:
		return outOfRange("multicast_group_id %d; want 1 to %d", id, maxMulticastGroup)
	}
	id := uint16(e.GetMulticastGroupId())
	key := preKey{id: e.GetMulticastGroupId()}
	old, gerr := r.sw.MulticastGroup(id)
	_, oldPorts := r.egressPort[key]
	restore := func() {
		_ = r.sw.DeleteMulticastGroup(id)
		if gerr == nil {
			_ = r.sw.InsertMulticastGroup(old)
		}
		r.markEgressPort(key, oldPorts)
	}
	if typ == p4v1.Update_DELETE {
		if err := updateError(r.sw.DeleteMulticastGroup(id), typ, "group"); err != nil {
			return err
		}
		delete(r.egressPort, key)
		undo.add(restore)
		return nil
	}
	if typ == p4v1.Update_INSERT && gerr == nil {
		return errorf(codes.AlreadyExists, "the group exists; MODIFY it")
	}
	if typ == p4v1.Update_MODIFY && gerr != nil {
		return updateError(gerr, typ, "group")
	}
	replicas, egressPort, err := r.replicas(e.GetReplicas(), true)
	if err != nil {
		return err
	}
	g := dataplane.MulticastGroup{ID: id, Replicas: replicas, Metadata: e.GetMetadata()}
	if typ == p4v1.Update_INSERT {
		err = engineError(r.sw.InsertMulticastGroup(g))
	} else {
		err = engineError(r.sw.ModifyMulticastGroup(g))
	}
	if err != nil {
		return err
	}
	r.markEgressPort(key, egressPort)
	undo.add(restore)
	return nil
}

func (r *realm) writeCloneSession(typ p4v1.Update_Type, e *p4v1.CloneSessionEntry, undo *undoLog) *Error {
	if id := e.GetSessionId(); id == 0 || id > maxCloneSession {
		return invalid("session_id %d; want 1 to %d", id, maxCloneSession)
	}
	id := uint16(e.GetSessionId())
	key := preKey{clone: true, id: e.GetSessionId()}
	old, gerr := r.sw.CloneSession(id)
	_, oldPorts := r.egressPort[key]
	restore := func() {
		_ = r.sw.DeleteCloneSession(id)
		if gerr == nil {
			_ = r.sw.InsertCloneSession(old)
		}
		r.markEgressPort(key, oldPorts)
	}
	if typ == p4v1.Update_DELETE {
		if err := updateError(r.sw.DeleteCloneSession(id), typ, "session"); err != nil {
			return err
		}
		delete(r.egressPort, key)
		undo.add(restore)
		return nil
	}
	if typ == p4v1.Update_INSERT && gerr == nil {
		return errorf(codes.AlreadyExists, "the session exists; MODIFY it")
	}
	if typ == p4v1.Update_MODIFY && gerr != nil {
		return updateError(gerr, typ, "session")
	}
	if c := e.GetClassOfService(); c > maxClassOfService {
		return invalid("class_of_service %d; want 0 to %d", c, maxClassOfService)
	}
	if n := e.GetPacketLengthBytes(); n < 0 {
		return invalid("packet_length_bytes %d; want 0 (no cut) or more", n)
	}
	replicas, egressPort, err := r.replicas(e.GetReplicas(), false)
	if err != nil {
		return err
	}
	c := dataplane.CloneSession{ID: id, Replicas: replicas, ClassOfService: uint8(e.GetClassOfService()), PacketLength: int(e.GetPacketLengthBytes())}
	if typ == p4v1.Update_INSERT {
		err = engineError(r.sw.InsertCloneSession(c))
	} else {
		err = engineError(r.sw.ModifyCloneSession(c))
	}
	if err != nil {
		return err
	}
	r.markEgressPort(key, egressPort)
	undo.add(restore)
	return nil
}

func (r *realm) markEgressPort(key preKey, used bool) {
	if used {
		r.egressPort[key] = struct{}{}
	} else {
		delete(r.egressPort, key)
	}
}

// replicas converts the replicas of a multicast group or a clone session.
// Every (port, instance) pair, backups included, must be unique.
func (r *realm) replicas(in []*p4v1.Replica, unique bool) (out []dataplane.Replica, egressPort bool, err *Error) {
	type pair struct{ port, instance uint32 }
	seen := make(map[pair]struct{}, len(in))
	claim := func(p pair) *Error {
		if _, dup := seen[p]; dup && unique {
			return invalid("port %d with instance %d is given twice", p.port, p.instance)
		}
		seen[p] = struct{}{}
		return nil
	}
	for i, x := range in {
		var port uint32
		switch k := x.GetPortKind().(type) {
		case *p4v1.Replica_Port:
			if egressPort {
				return nil, false, invalid("replica %d names its port by port, others by the deprecated egress_port; use port for all", i)
			}
			port, err = r.pre.number(k.Port)
		case *p4v1.Replica_EgressPort:
			if i > 0 && !egressPort {
				return nil, false, invalid("replica %d names its port by the deprecated egress_port, others by port; use port for all", i)
			}
			egressPort = true
			port = egressPortOf(k)
			err = r.pre.valid(port)
		default:
			return nil, false, invalid("replica %d has no port", i)
		}
		if err != nil {
			return nil, false, err.in("replica %d", i)
		}
		if x.GetInstance() > maxInstance {
			return nil, false, invalid("replica %d: instance %d; want 0 to %d", i, x.GetInstance(), maxInstance)
		}
		if err := claim(pair{port, x.GetInstance()}); err != nil {
			return nil, false, err.in("replica %d", i)
		}
		rep := dataplane.Replica{Port: port, Instance: uint16(x.GetInstance())}
		for j, b := range x.GetBackupReplicas() {
			bp, err := r.pre.number(b.GetPort())
			if err != nil {
				return nil, false, err.in("replica %d: backup %d", i, j)
			}
			if bp == port {
				return nil, false, invalid("replica %d: backup %d has port %d, the port of the replica itself", i, j, bp)
			}
			if b.GetInstance() > maxInstance {
				return nil, false, invalid("replica %d: backup %d: instance %d; want 0 to %d", i, j, b.GetInstance(), maxInstance)
			}
			if err := claim(pair{bp, b.GetInstance()}); err != nil {
				return nil, false, err.in("replica %d: backup %d", i, j)
			}
			rep.Backups = append(rep.Backups, dataplane.Backup{Port: bp, Instance: uint16(b.GetInstance())})
		}
		out = append(out, rep)
	}
	return out, egressPort, nil
}

// readReplication selects multicast groups or clone sessions; id 0 is all of
// the kind.
func (r *realm) readReplication(q *p4v1.PacketReplicationEngineEntry, out *reading) *Error {
	switch x := q.GetType().(type) {
	case *p4v1.PacketReplicationEngineEntry_MulticastGroupEntry:
		id := x.MulticastGroupEntry.GetMulticastGroupId()
		if id == 0 {
			for g := range r.sw.MulticastGroups() {
				if !out.more() {
					return nil
				}
				out.emit(r.multicastGroup(g))
			}
			return nil
		}
		if id <= maxMulticastGroup {
			if g, err := r.sw.MulticastGroup(uint16(id)); err == nil {
				out.emit(r.multicastGroup(g))
				return nil
			}
		}
		return notFound("multicast group %d does not exist", id)
	case *p4v1.PacketReplicationEngineEntry_CloneSessionEntry:
		id := x.CloneSessionEntry.GetSessionId()
		if id == 0 {
			for c := range r.sw.CloneSessions() {
				if !out.more() {
					return nil
				}
				out.emit(r.cloneSession(c))
			}
			return nil
		}
		if id <= maxCloneSession {
			if c, err := r.sw.CloneSession(uint16(id)); err == nil {
				out.emit(r.cloneSession(c))
				return nil
			}
		}
		return notFound("clone session %d does not exist", id)
	}
	return invalid("the packet replication engine entry is empty; want a multicast group or a clone session")
}

func (r *realm) multicastGroup(g dataplane.MulticastGroup) *p4v1.Entity {
	out := &p4v1.MulticastGroupEntry{MulticastGroupId: uint32(g.ID), Replicas: r.protoReplicas(preKey{id: uint32(g.ID)}, g.Replicas)}
	if len(g.Metadata) > 0 {
		out.Metadata = g.Metadata
	}
	return &p4v1.Entity{Entity: &p4v1.Entity_PacketReplicationEngineEntry{PacketReplicationEngineEntry: &p4v1.PacketReplicationEngineEntry{
		Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{MulticastGroupEntry: out},
	}}}
}

func (r *realm) cloneSession(c dataplane.CloneSession) *p4v1.Entity {
	return &p4v1.Entity{Entity: &p4v1.Entity_PacketReplicationEngineEntry{PacketReplicationEngineEntry: &p4v1.PacketReplicationEngineEntry{
		Type: &p4v1.PacketReplicationEngineEntry_CloneSessionEntry{CloneSessionEntry: &p4v1.CloneSessionEntry{
			SessionId:         uint32(c.ID),
			Replicas:          r.protoReplicas(preKey{clone: true, id: uint32(c.ID)}, c.Replicas),
			ClassOfService:    uint32(c.ClassOfService),
			PacketLengthBytes: int32(c.PacketLength),
		}},
	}}}
}

func (r *realm) protoReplicas(key preKey, in []dataplane.Replica) []*p4v1.Replica {
	_, egressPort := r.egressPort[key]
	out := make([]*p4v1.Replica, len(in))
	for i, x := range in {
		p := &p4v1.Replica{Instance: uint32(x.Instance)}
		if egressPort {
			p.PortKind = newEgressPort(x.Port)
		} else {
			p.PortKind = &p4v1.Replica_Port{Port: portBytes(x.Port)}
		}
		for _, b := range x.Backups {
			p.BackupReplicas = append(p.BackupReplicas, &p4v1.BackupReplica{Port: portBytes(b.Port), Instance: uint32(b.Instance)})
		}
		out[i] = p
	}
	return out
}
