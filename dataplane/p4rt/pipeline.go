package p4rt

import (
	"bytes"
	"compress/flate"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"slices"
	"sync"
	"weak"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/dataplane/engine"
	"github.com/weft-sdn/weft/dataplane/translated"
)

// pipeline is a verified forwarding pipeline configuration: the loaded
// program, and the P4Info bound to it. It is immutable and shared.
type pipeline struct {
	*schema
	marshaled []byte // the P4Info, to compare
	program   *engine.Program
	info      *configv1.P4Info // as it came; no one changes it
	// packed is the device configuration as received, for GetForwardingPipelineConfig. It is deflated:
	// the JSON takes about the memory of everything made from the JSON, and a twentieth when deflated.
	packed []byte
	digest uint64 // of the device configuration, to compare; see digestOf
	octets int    // of it
}

var digestSeed = maphash.MakeSeed()

// digestOf distinguishes device configurations within this process. All switches of a fabric get
// the same megabytes one after the other: a cryptographic hash took longer than the rest of a
// switch's start.
func digestOf(device []byte) uint64 { return maphash.Bytes(digestSeed, device) }

func pack(device []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(device); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return bytes.Clone(b.Bytes()), nil
}

// device returns the device configuration as it came.
func (p *pipeline) device() ([]byte, error) {
	return io.ReadAll(flate.NewReader(bytes.NewReader(p.packed)))
}

// Cache shares loaded pipelines between devices: devices with the same configuration bytes get the
// same engine.Program. It keeps a pipeline as long as some device uses the pipeline, and also the
// pipeline last asked for. A Cache is safe for concurrent use; the zero value is ready.
type Cache struct {
	mu        sync.Mutex
	pipelines []weak.Pointer[pipeline] // guarded by mu; few, as programs are
	// last is the one that was asked for last, guarded by mu. Who asked for it may have given up
	// meanwhile, and asks again: were it loaded anew every time, on a machine that takes longer for
	// it than clients wait, no switch would ever have a program.
	last *pipeline
}

// load verifies a configuration: the device configuration is a program this
// switch can run, and the P4Info describes that program. Failures are
// INVALID_ARGUMENT.
func (c *Cache) load(cfg *p4v1.ForwardingPipelineConfig) (*pipeline, *Error) {
	if cfg == nil {
		return nil, invalid("config is not set; want the P4Info and the BMv2 JSON of the program")
	}
	if cfg.GetP4Info() == nil {
		return nil, invalid("config.p4info is not set; want the P4Info of the program")
	}
	if len(cfg.GetP4DeviceConfig()) == 0 {
		return nil, invalid("config.p4_device_config is empty; want the BMv2 JSON of the program (as " +
			"p4c-bm2-ss writes it)")
	}
	info, err := proto.MarshalOptions{Deterministic: true}.Marshal(cfg.GetP4Info())
	if err != nil {
		return nil, invalid("config.p4info: %v", err)
	}
	digest, octets := digestOf(cfg.GetP4DeviceConfig()), len(cfg.GetP4DeviceConfig())
	c.mu.Lock()
	defer c.mu.Unlock()
	live := c.pipelines[:0]
	var found *pipeline
	for _, w := range c.pipelines {
		p := w.Value()
		if p == nil {
			continue // no one uses it any more
		}
		live = append(live, w)
		if p.digest == digest && p.octets == octets && bytes.Equal(p.marshaled, info) {
			found = p
		}
	}
	c.pipelines = live
	if found != nil {
		c.last = found
		return found, nil
	}
	p, e := newPipeline(cfg.GetP4Info(), cfg.GetP4DeviceConfig())
	if e != nil {
		return nil, e
	}
	p.marshaled, p.digest, p.octets = info, digest, octets
	c.pipelines, c.last = append(c.pipelines, weak.Make(p)), p
	return p, nil
}

func newPipeline(info *configv1.P4Info, device []byte) (*pipeline, *Error) {
	info = proto.Clone(info).(*configv1.P4Info)
	s, e := newSchema(info)
	if e != nil {
		return nil, e
	}
	const field = "config.p4_device_config"
	json, wrapped := programOf(device)
	if wrapped && len(json) == 0 {
		return nil, invalid("%s is a p4.tmp.P4DeviceConfig without device_data; want the BMv2 JSON of "+
			"the program there", field)
	}
	prog, err := engine.Load(json, translated.Fabric)
	if err != nil && wrapped {
		return nil, invalid("%s, a p4.tmp.P4DeviceConfig: device_data: %v", field, err)
	} else if err != nil {
		return nil, invalid("%s: %v", field, err)
	}
	if e := s.bind(prog); e != nil {
		return nil, e
	}
	packed, err := pack(device)
	if err != nil {
		return nil, errorf(codes.Internal, "config.p4_device_config: %v", err)
	}
	return &pipeline{schema: s, program: prog, info: info, packed: packed}, nil
}

// bind finds every object of the P4Info in the program, by name, and checks
// that both describe the same thing. The program may hold more than the
// P4Info tells.
func (s *schema) bind(prog *engine.Program) *Error {
	if e := s.bindTables(prog); e != nil {
		return e
	}
	for _, p := range s.profileList {
		if e := find(&p.engine, prog.Profiles(), "action profile", p.name,
			func(x engine.ProfileInfo) bool { return x.Name == p.name }); e != nil {
			return e
		}
		if got := prog.Profiles()[p.engine].Selector; got != p.selector {
			return invalid("action profile %q: with_selector is %t in the P4Info and %t in the program",
				p.name, p.selector, got)
		}
	}
	for _, t := range s.tableList {
		have := prog.Tables()[t.engine].Profile
		switch {
		case t.profile == nil && have >= 0:
			return invalid("table %q: the program implements it with action profile %q, the P4Info with none", t.name, prog.Profiles()[have].Name)
		case t.profile != nil && have != t.profile.engine:
			return invalid("table %q: the program does not implement it with action profile %q as the "+
				"P4Info says", t.name, t.profile.name)
		}
		if t.counter != nil && prog.Tables()[t.engine].DirectCounter < 0 {
			return invalid("direct counter %q: table %q has none in the program", t.counter.name, t.name)
		}
		if t.meter != nil && prog.Tables()[t.engine].DirectMeter < 0 {
			return invalid("direct meter %q: table %q has none in the program", t.meter.name, t.name)
		}
	}
	if e := s.bindExterns(prog); e != nil {
		return e
	}
	for _, p := range []*packetSchema{s.packetIn, s.packetOut} {
		if p == nil {
			continue
		}
		if e := p.bindPacket(prog.Headers()); e != nil {
			return e
		}
		for _, f := range p.fields {
			p.bits += f.device
		}
		if p.bits%8 != 0 {
			return invalid("P4Info: the %q header has %d bits; want a multiple of 8", p.name, p.bits)
		}
	}
	return s.types.checkGiven()
}

func missing(kind, name string) *Error {
	return invalid("%s %q of the P4Info is not in the program; compile both from the same source",
		kind, name)
}

// find looks up an object of the P4Info in the program, and sets its index.
func find[T any](engine *int, list []T, kind, name string, is func(T) bool) *Error {
	if *engine = slices.IndexFunc(list, is); *engine < 0 {
		return missing(kind, name)
	}
	return nil
}

func (s *schema) bindTables(prog *engine.Program) *Error {
	byName := make(map[string]int, len(prog.Tables()))
	for i, t := range prog.Tables() {
		byName[t.Name] = i
	}
	for _, t := range s.tableList {
		i, ok := byName[t.name]
		if !ok {
			return missing("table", t.name)
		}
		t.engine = i
		pt := &prog.Tables()[i]
		if pt.ConstEntries && t.initialEntries && !t.constEntries {
			prog.ReleaseEntries(i, int(min(t.size, math.MaxInt32)))
		}
		t.constEntries = t.constEntries || pt.ConstEntries
		if t.idleTimeout && !pt.IdleTimeout {
			return invalid("table %q: the P4Info has idle timeouts, the program has not", t.name)
		}
		if len(t.key.fields) != len(pt.Keys) {
			return invalid("table %q: %d match fields in the P4Info, %d in the program", t.name,
				len(t.key.fields), len(pt.Keys))
		}
		for j := range t.key.fields {
			f, k := &t.key.fields[j], pt.Keys[j]
			want := [...]engine.MatchKind{engine.Exact, engine.LPM, engine.Ternary, engine.Range,
				engine.Ternary}[f.kind]
			if k.Match != want {
				return invalid("table %q: match field %q is %s in the P4Info and %s in the program", t.name,
					f.name, f.kind, k.Match)
			}
			if ok, err := f.bind(k.Width, fmt.Sprintf("table %q: match field %q", t.name,
				f.name)); err != nil {
				return err
			} else if !ok {
				return invalid("table %q: match field %q has %d bits in the P4Info and %d in the program",
					t.name, f.name, f.width, k.Width)
			}
		}
		for _, a := range t.actions {
			a.engine = -1
			for _, x := range pt.Actions {
				if prog.Actions()[x].Name == a.name {
					a.engine = x
				}
			}
			if a.engine < 0 {
				return invalid("table %q: action %q of the P4Info is not one of its actions in the program",
					t.name, a.name)
			}
			if e := a.checkParams(prog.Actions()[a.engine].Params); e != nil {
				return e
			}
			t.byEngine[a.engine] = a
		}
	}
	return nil
}

func (a *actionSchema) checkParams(have []engine.ParamInfo) *Error {
	if len(a.params) != len(have) {
		return invalid("action %q: %d parameters in the P4Info, %d in the program", a.name, len(a.params),
			len(have))
	}
	for i := range a.params {
		p := &a.params[i]
		if ok, err := p.bind(have[i].Width, fmt.Sprintf("action %q: parameter %q", a.name,
			p.name)); err != nil {
			return err
		} else if !ok {
			return invalid("action %q: parameter %q has %d bits in the P4Info and %d in the program", a.name,
				p.name, p.width, have[i].Width)
		}
	}
	return nil
}

func (s *schema) bindExterns(prog *engine.Program) *Error {
	for _, c := range s.counterList {
		if e := find(&c.engine, prog.Counters(), "counter", c.name, func(x engine.CounterInfo) bool {
			return x.Name == c.name && x.Table < 0
		}); e != nil {
			return e
		}
		if got := prog.Counters()[c.engine].Size; int64(got) != c.size {
			return invalid("counter %q: size %d in the P4Info and %d in the program", c.name, c.size, got)
		}
	}
	for _, m := range s.meterList {
		if e := find(&m.engine, prog.Meters(), "meter", m.name, func(x engine.MeterInfo) bool {
			return x.Name == m.name && x.Table < 0
		}); e != nil {
			return e
		}
		if got := prog.Meters()[m.engine].Size; int64(got) != m.size {
			return invalid("meter %q: size %d in the P4Info and %d in the program", m.name, m.size, got)
		}
	}
	for _, r := range s.registerList {
		if e := find(&r.engine, prog.Registers(), "register", r.name, func(x engine.RegisterInfo) bool {
			return x.Name == r.name
		}); e != nil {
			return e
		}
		x := prog.Registers()[r.engine]
		if int64(x.Size) != r.size {
			return invalid("register %q: size %d in the P4Info and %d in the program", r.name, r.size,
				x.Size)
		}
		leaves, e := s.types.leaves(nil, r.spec, fmt.Sprintf("register %q", r.name), 0)
		if e != nil {
			return e
		}
		if len(leaves) != 1 {
			return invalid("register %q: its type has %d fields in the P4Info; registers of BMv2 JSON "+
				"hold one", r.name, len(leaves))
		}
		if ok, err := leaves[0].bind(x.Width, fmt.Sprintf("register %q", r.name)); err != nil {
			return err
		} else if !ok {
			return invalid("register %q: its type has %d bits in the P4Info and %d in the program", r.name,
				leaves[0].width, x.Width)
		}
		r.strings = leaves[0].tr.strings()
	}
	for _, v := range s.valueSetList {
		if e := find(&v.engine, prog.ValueSets(), "value set", v.name, func(x engine.ValueSetInfo) bool {
			return x.Name == v.name
		}); e != nil {
			return e
		}
		if e := v.bind(prog.ValueSets()[v.engine].Width); e != nil {
			return e
		}
	}
	for _, d := range s.digestList {
		if e := find(&d.engine, prog.Digests(), "digest", d.name, func(x engine.DigestInfo) bool {
			return x.Name == d.name
		}); e != nil {
			return e
		}
		leaves, e := s.types.leaves(nil, d.spec, fmt.Sprintf("digest %q", d.name), 0)
		if e != nil {
			return e
		}
		fields := prog.Digests()[d.engine].Fields
		if len(leaves) != len(fields) {
			return invalid("digest %q: %d fields in the P4Info and %d in the program", d.name, len(leaves),
				len(fields))
		}
		for i := range leaves {
			if ok, err := leaves[i].bind(fields[i].Width, fmt.Sprintf("digest %q: field %d", d.name,
				i)); err != nil {
				return err
			} else if !ok {
				return invalid("digest %q: field %d has %d bits in the P4Info and %d in the program", d.name, i,
					leaves[i].width, fields[i].Width)
			}
		}
	}
	return nil
}
