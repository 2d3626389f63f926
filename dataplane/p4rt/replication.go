package p4rt

import (
	"math"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/p4/wire"
)

// Limits of the packet replication engine.
const (
	maxMulticastGroup = math.MaxUint16
	maxCloneSession   = math.MaxInt16
	maxInstance       = math.MaxUint16
	maxClassOfService = math.MaxUint8
)

func (r *realm) writeReplication(typ p4v1.Update_Type, e *p4v1.PacketReplicationEngineEntry,
	undo *undoLog) *Error {
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
	return invalid("the packet replication engine entry is empty; want a multicast group or a clone " +
		"session")
}

func (r *realm) writeMulticastGroup(typ p4v1.Update_Type, e *p4v1.MulticastGroupEntry,
	undo *undoLog) *Error {
	switch id := e.GetMulticastGroupId(); {
	case id == 0:
		return invalid("multicast_group_id 0; want 1 to %d", maxMulticastGroup)
	case id > maxMulticastGroup:
		return outOfRange("multicast_group_id %d; want 1 to %d", id, maxMulticastGroup)
	}
	return writeReplication(r, typ, &replicationEntry[dataplane.MulticastGroup]{
		name: "group", id: uint16(e.GetMulticastGroupId()), key: preKey{id: e.GetMulticastGroupId()},
		read: r.sw.MulticastGroup, insert: r.sw.InsertMulticastGroup, modify: r.sw.ModifyMulticastGroup,
		remove: r.sw.DeleteMulticastGroup,
		convert: func(id uint16) (g dataplane.MulticastGroup, egressPort bool, err *Error) {
			g.ID, g.Metadata = id, e.GetMetadata()
			g.Replicas, egressPort, err = r.replicas(e.GetReplicas(), true)
			return g, egressPort, err
		},
	}, undo)
}

func (r *realm) writeCloneSession(typ p4v1.Update_Type, e *p4v1.CloneSessionEntry,
	undo *undoLog) *Error {
	if id := e.GetSessionId(); id == 0 || id > maxCloneSession {
		return invalid("session_id %d; want 1 to %d", id, maxCloneSession)
	}
	return writeReplication(r, typ, &replicationEntry[dataplane.CloneSession]{
		name: "session", id: uint16(e.GetSessionId()), key: preKey{clone: true, id: e.GetSessionId()},
		read: r.sw.CloneSession, insert: r.sw.InsertCloneSession, modify: r.sw.ModifyCloneSession,
		remove: r.sw.DeleteCloneSession,
		convert: func(id uint16) (c dataplane.CloneSession, egressPort bool, err *Error) {
			if class := e.GetClassOfService(); class > maxClassOfService {
				return c, false, invalid("class_of_service %d; want 0 to %d", class, maxClassOfService)
			}
			if n := e.GetPacketLengthBytes(); n < 0 {
				return c, false, invalid("packet_length_bytes %d; want 0 (no cut) or more", n)
			}
			c = dataplane.CloneSession{ID: id, ClassOfService: uint8(e.GetClassOfService()),
				PacketLength: int(e.GetPacketLengthBytes())}
			c.Replicas, egressPort, err = r.replicas(e.GetReplicas(), false)
			return c, egressPort, err
		},
	}, undo)
}

// replicationEntry is a multicast group or clone session that an update names: how the switch holds
// it, and its value by the update.
type replicationEntry[T any] struct {
	name           string // for errors
	id             uint16
	key            preKey
	read           func(uint16) (T, error)
	insert, modify func(T) error
	remove         func(uint16) error
	convert        func(id uint16) (value T, egressPort bool, err *Error)
}

// writeReplication carries out an update of a multicast group or clone session.
func writeReplication[T any](r *realm, typ p4v1.Update_Type, e *replicationEntry[T],
	undo *undoLog) *Error {
	old, missing := e.read(e.id)
	_, oldPorts := r.egressPort[e.key]
	restore := func() {
		_ = e.remove(e.id)
		if missing == nil {
			_ = e.insert(old)
		}
		r.markEgressPort(e.key, oldPorts)
	}
	if typ == p4v1.Update_DELETE {
		if err := updateError(e.remove(e.id), typ, e.name); err != nil {
			return err
		}
		delete(r.egressPort, e.key)
		undo.add(restore)
		return nil
	}
	write := e.modify
	switch {
	case typ == p4v1.Update_INSERT && missing == nil:
		return errorf(codes.AlreadyExists, "the %s exists; MODIFY it", e.name)
	case typ == p4v1.Update_INSERT:
		write = e.insert
	case missing != nil:
		return updateError(missing, typ, e.name)
	}
	value, egressPort, err := e.convert(e.id)
	if err != nil {
		return err
	}
	if err := engineError(write(value)); err != nil {
		return err
	}
	r.markEgressPort(e.key, egressPort)
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
func (r *realm) replicas(in []*p4v1.Replica, unique bool) (out []dataplane.Replica, egressPort bool,
	err *Error) {
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
				return nil, false, invalid(
					"replica %d names its port by port, others by the deprecated egress_port; use port for all", i)
			}
			port, err = r.pre.number(k.Port)
		case *p4v1.Replica_EgressPort:
			if i > 0 && !egressPort {
				return nil, false, invalid(
					"replica %d names its port by the deprecated egress_port, others by port; use port for all", i)
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
			return nil, false, invalid("replica %d: instance %d; want 0 to %d", i, x.GetInstance(),
				maxInstance)
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
				return nil, false, invalid("replica %d: backup %d has port %d, the port of the replica itself",
					i, j, bp)
			}
			if b.GetInstance() > maxInstance {
				return nil, false, invalid("replica %d: backup %d: instance %d; want 0 to %d", i, j,
					b.GetInstance(), maxInstance)
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
	return invalid("the packet replication engine entry is empty; want a multicast group or a clone " +
		"session")
}

func (r *realm) multicastGroup(g dataplane.MulticastGroup) *p4v1.Entity {
	out := &p4v1.MulticastGroupEntry{MulticastGroupId: uint32(g.ID),
		Replicas: r.protoReplicas(preKey{id: uint32(g.ID)}, g.Replicas)}
	if len(g.Metadata) > 0 {
		out.Metadata = g.Metadata
	}
	return wire.Entity(&p4v1.PacketReplicationEngineEntry{
		Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{MulticastGroupEntry: out},
	})
}

func (r *realm) cloneSession(c dataplane.CloneSession) *p4v1.Entity {
	return wire.Entity(&p4v1.PacketReplicationEngineEntry{
		Type: &p4v1.PacketReplicationEngineEntry_CloneSessionEntry{
			CloneSessionEntry: &p4v1.CloneSessionEntry{
				SessionId:         uint32(c.ID),
				Replicas:          r.protoReplicas(preKey{clone: true, id: uint32(c.ID)}, c.Replicas),
				ClassOfService:    uint32(c.ClassOfService),
				PacketLengthBytes: int32(c.PacketLength),
			}},
	})
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
			p.BackupReplicas = append(p.BackupReplicas, &p4v1.BackupReplica{Port: portBytes(b.Port),
				Instance: uint32(b.Instance)})
		}
		out[i] = p
	}
	return out
}
