package p4rt

import (
	"fmt"
	"slices"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"

	"github.com/weft-sdn/weft/dataplane"
	"github.com/weft-sdn/weft/p4/wire"
)

// SetPipeline carries out a SetForwardingPipelineConfig request.
//
// A config that fails verification is INVALID_ARGUMENT and changes nothing.
// VERIFY_AND_SAVE makes reads and writes refer to the saved config, on a
// switch that no packet sees; COMMIT starts it on the device with what was
// written since the save. RECONCILE_AND_COMMIT carries the forwarding
// state over to the new program: table entries with their direct resources,
// default entries, action profiles, replication, value sets, digests and
// meters must all fit it, or the request is INVALID_ARGUMENT and changes
// nothing; counters and registers are carried over where the new program has
// them. A client that sends [p4.ReconcileKey] has what does not fit left out.
// With the config that is running it only changes the cookie.
func (d *Device) SetPipeline(now time.Duration,
	req *p4v1.SetForwardingPipelineConfigRequest) error {
	if err := d.checkID(req.GetDeviceId()); err != nil {
		return err
	}
	p, err := d.verify(req)
	if err == nil {
		_, err = d.setPipeline(now, req, p, false)
	}
	if err != nil {
		return err
	}
	return nil
}

// verify checks a request and loads the program in it; COMMIT carries no program. Any goroutine may
// call verify.
func (d *Device) verify(req *p4v1.SetForwardingPipelineConfigRequest) (*pipeline, *Error) {
	switch action := req.GetAction(); action {
	case p4v1.SetForwardingPipelineConfigRequest_VERIFY,
		p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_SAVE,
		p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
		p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT:
		return d.cache.load(req.GetConfig())
	case p4v1.SetForwardingPipelineConfigRequest_COMMIT:
		if req.GetConfig() != nil {
			return nil, invalid("COMMIT takes no config: it realizes the one saved by VERIFY_AND_SAVE")
		}
		return nil, nil
	default:
		return nil, invalid("action %s; want VERIFY, VERIFY_AND_SAVE, VERIFY_AND_COMMIT, COMMIT or "+
			"RECONCILE_AND_COMMIT", action)
	}
}

// setPipeline carries out a request whose config p has been verified. partial leaves out what does
// not fit a new program; lost counts that by the names of objects.
func (d *Device) setPipeline(now time.Duration, req *p4v1.SetForwardingPipelineConfigRequest,
	p *pipeline, partial bool) (lost map[string]int, bad *Error) {
	cookie := copyCookie(req.GetConfig().GetCookie())
	switch req.GetAction() {
	case p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_SAVE:
		d.saved, d.savedCookie = d.shadow(p, nil), cookie
	case p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT:
		d.start(p, nil, cookie)
	case p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT:
		return d.reconcile(now, p, cookie, partial)
	case p4v1.SetForwardingPipelineConfigRequest_COMMIT:
		return nil, d.commit(now)
	}
	return nil, nil
}

func copyCookie(c *p4v1.ForwardingPipelineConfig_Cookie) *p4v1.ForwardingPipelineConfig_Cookie {
	if c == nil {
		return nil
	}
	return &p4v1.ForwardingPipelineConfig_Cookie{Cookie: c.GetCookie()}
}

// shadow returns a realm with a switch of its own, for a new pipeline that follows another pipeline
// and does not forward yet.
func (d *Device) shadow(p *pipeline, before *realm) *realm {
	sw := dataplane.New(d.cfg.Switch, discard{})
	sw.SetProgram(p.program)
	return newRealm(p, sw, d.prePorts, d.watchPorts, before)
}

// start runs a pipeline from empty state and forgets a saved one.
func (d *Device) start(p *pipeline, before *realm, cookie *p4v1.ForwardingPipelineConfig_Cookie) {
	d.sw.SetProgram(p.program)
	d.active, d.cookie = newRealm(p, d.sw, d.prePorts, d.watchPorts, before), cookie
	d.saved, d.savedCookie = nil, nil
}

func (d *Device) commit(now time.Duration) *Error {
	if d.saved == nil {
		return notFound("no config has been saved; send VERIFY_AND_SAVE first")
	}
	hard, soft := d.saved.state(now)
	d.start(d.saved.p, d.saved, d.savedCookie)
	return d.restore(now, hard, soft)
}

// restore gives the running pipeline, which is fresh, the state of another.
func (d *Device) restore(now time.Duration, hard, soft []*p4v1.Update) *Error {
	d.active.clearInitial()
	for _, u := range hard {
		if err := d.active.update(now, u, nil); err != nil {
			return errorf(codes.Internal, "restoring the forwarding state: %s", err.Message)
		}
	}
	for _, u := range soft {
		_ = d.active.update(now, u, nil)
	}
	return nil
}

// reconcile starts a pipeline with the forwarding state of the current one.
func (d *Device) reconcile(now time.Duration, p *pipeline,
	cookie *p4v1.ForwardingPipelineConfig_Cookie, partial bool) (lost map[string]int, bad *Error) {
	if d.active == nil {
		d.start(p, nil, cookie)
		return nil, nil
	}
	if d.active.p == p {
		d.cookie = cookie
		d.saved, d.savedCookie = nil, nil
		return nil, nil
	}
	state, soft := d.active.state(now)
	try := d.shadow(p, d.active)
	try.clearInitial()
	fits := state[:0]
	for _, u := range state {
		err := try.update(now, u, nil)
		if err == nil {
			fits = append(fits, u)
			continue
		}
		kind, id := entityObject(u.GetEntity())
		name := d.active.p.nameOf(kind, id)
		if !partial {
			return nil, invalid("the forwarding state of %s does not fit the new config: %s", name,
				err.Message)
		}
		if lost == nil {
			lost = make(map[string]int)
		}
		lost[name]++
	}
	d.start(p, try, cookie)
	return lost, d.restore(now, fits, soft)
}

// state lists the updates that carry the forwarding state of a realm to another realm: hard updates
// must succeed, in an order that respects references; soft updates, of counters and registers, may
// fail.
func (r *realm) state(now time.Duration) (hard, soft []*p4v1.Update) {
	collect := func(list *[]*p4v1.Update, typ p4v1.Update_Type, q *p4v1.Entity,
		keep func(*p4v1.Entity) bool) {
		for _, e := range r.entities(now, q) {
			if keep == nil || keep(e) {
				*list = append(*list, &p4v1.Update{Type: typ, Entity: e})
			}
		}
	}
	collect(&hard, p4v1.Update_INSERT,
		wire.Entity(&p4v1.ActionProfileMember{}), nil)
	collect(&hard, p4v1.Update_INSERT,
		wire.Entity(&p4v1.ActionProfileGroup{}), nil)
	for _, t := range r.p.tableList {
		q := &p4v1.TableEntry{TableId: t.id}
		if t.counter != nil {
			q.CounterData = &p4v1.CounterData{}
		}
		if t.meter != nil {
			q.MeterConfig = &p4v1.MeterConfig{}
		}
		if !t.constEntries {
			collect(&hard, p4v1.Update_INSERT, wire.Entity(q),
				nil)
		}
		if _, changed, err := r.sw.DefaultEntry(t.engine); err == nil && changed {
			dq := &p4v1.TableEntry{TableId: t.id, IsDefaultAction: true}
			collect(&hard, p4v1.Update_MODIFY, wire.Entity(dq),
				nil)
		}
		direct := []*p4v1.TableEntry{{TableId: t.id, IsDefaultAction: true}}
		if t.constEntries {
			direct = append(direct, &p4v1.TableEntry{TableId: t.id})
		}
		for _, q := range direct {
			if t.meter != nil {
				collect(&hard, p4v1.Update_MODIFY,
					wire.Entity(&p4v1.DirectMeterEntry{TableEntry: q}),
					func(e *p4v1.Entity) bool { return e.GetDirectMeterEntry().GetConfig() != nil })
			}
			if t.counter != nil {
				collect(&soft, p4v1.Update_MODIFY,
					wire.Entity(&p4v1.DirectCounterEntry{TableEntry: q}),
					func(e *p4v1.Entity) bool { return counted(e.GetDirectCounterEntry().GetData()) })
			}
		}
	}
	collect(&hard, p4v1.Update_INSERT,
		preWildcard(&p4v1.PacketReplicationEngineEntry{Type: &p4v1.PacketReplicationEngineEntry_MulticastGroupEntry{MulticastGroupEntry: &p4v1.MulticastGroupEntry{}}}), nil)
	collect(&hard, p4v1.Update_INSERT,
		preWildcard(&p4v1.PacketReplicationEngineEntry{Type: &p4v1.PacketReplicationEngineEntry_CloneSessionEntry{CloneSessionEntry: &p4v1.CloneSessionEntry{}}}), nil)
	collect(&hard, p4v1.Update_MODIFY,
		wire.Entity(&p4v1.ValueSetEntry{}),
		func(e *p4v1.Entity) bool { return len(e.GetValueSetEntry().GetMembers()) > 0 })
	collect(&hard, p4v1.Update_INSERT,
		wire.Entity(&p4v1.DigestEntry{}), nil)
	collect(&hard, p4v1.Update_MODIFY,
		wire.Entity(&p4v1.MeterEntry{}),
		func(e *p4v1.Entity) bool { return e.GetMeterEntry().GetConfig() != nil })
	collect(&soft, p4v1.Update_MODIFY,
		wire.Entity(&p4v1.CounterEntry{}),
		func(e *p4v1.Entity) bool { return counted(e.GetCounterEntry().GetData()) })
	collect(&soft, p4v1.Update_MODIFY,
		wire.Entity(&p4v1.RegisterEntry{}),
		func(e *p4v1.Entity) bool {
			bits, ok := e.GetRegisterEntry().GetData().GetData().(*p4v1.P4Data_Bitstring)
			return !ok || !allZero(bits.Bitstring) // registers start as zeroes
		})
	return hard, soft
}

func counted(c *p4v1.CounterData) bool { return c.GetPacketCount() != 0 || c.GetByteCount() != 0 }

func preWildcard(e *p4v1.PacketReplicationEngineEntry) *p4v1.Entity {
	return wire.Entity(e)
}

// clearInitial removes the entries that the program brings along and a client
// may have removed.
func (r *realm) clearInitial() {
	for _, t := range r.p.tableList {
		if !t.initialEntries || t.constEntries {
			continue
		}
		for _, x := range slices.Collect(r.sw.Entries(t.engine)) {
			_ = r.sw.DeleteEntry(t.engine, x.Match, x.Priority)
		}
	}
}

// GetPipeline answers a GetForwardingPipelineConfig request. Without a pipeline the config is
// unset. If a pipeline is saved but not committed yet, reads and writes refer to the saved
// pipeline, so GetPipeline returns it.
func (d *Device) GetPipeline(req *p4v1.GetForwardingPipelineConfigRequest) (
	*p4v1.GetForwardingPipelineConfigResponse, error) {
	if err := d.checkID(req.GetDeviceId()); err != nil {
		return nil, err
	}
	r, cookie := d.active, d.cookie
	if d.saved != nil {
		r, cookie = d.saved, d.savedCookie
	}
	if r == nil {
		return &p4v1.GetForwardingPipelineConfigResponse{}, nil
	}
	out := &p4v1.ForwardingPipelineConfig{Cookie: copyCookie(cookie)}
	var err error
	switch t := req.GetResponseType(); t {
	case p4v1.GetForwardingPipelineConfigRequest_ALL:
		out.P4Info = r.p.info
		out.P4DeviceConfig, err = r.p.device()
	case p4v1.GetForwardingPipelineConfigRequest_COOKIE_ONLY:
	case p4v1.GetForwardingPipelineConfigRequest_P4INFO_AND_COOKIE:
		out.P4Info = r.p.info
	case p4v1.GetForwardingPipelineConfigRequest_DEVICE_CONFIG_AND_COOKIE:
		out.P4DeviceConfig, err = r.p.device()
	default:
		return nil, invalid("response_type %s; want ALL, COOKIE_ONLY, P4INFO_AND_COOKIE or "+
			"DEVICE_CONFIG_AND_COOKIE", fmt.Sprint(t))
	}
	if err != nil {
		return nil, errorf(codes.Internal, "the device configuration cannot be unpacked: %v", err)
	}
	return &p4v1.GetForwardingPipelineConfigResponse{Config: out}, nil
}
