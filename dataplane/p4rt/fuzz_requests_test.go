package p4rt

import (
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	configv1 "github.com/p4lang/p4runtime/go/p4/config/v1"
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// filled is a device with what the writes of the scripts leave.
func filled(t testing.TB, cache *Cache) *checker {
	t.Helper()
	c := newChecker(t, cache)
	for _, req := range scriptWrites(t) {
		req.Atomicity = p4v1.WriteRequest_CONTINUE_ON_ERROR
		_ = c.dev.Write(time.Second, req) // much of it is meant to fail
	}
	return c
}

// read checks one Read: its error, that nothing changes, and that packets in between change nothing
// about the answer.
func (c *checker) read(req *p4v1.ReadRequest) {
	c.t.Helper()
	before := dump(c.dev)
	var whole []*p4v1.Entity
	err := c.dev.Read(time.Second, req, func(r *p4v1.ReadResponse) {
		whole = append(whole, r.GetEntities()...)
	})
	st := status.Convert(err)
	switch st.Code() {
	case codes.OK:
	case codes.Unknown:
		if len(st.Details()) != len(req.GetEntities()) {
			c.t.Fatalf("%d elements, %d details", len(req.GetEntities()), len(st.Details()))
		}
		for i, d := range st.Details() {
			e := d.(*p4v1.Error)
			switch code := codes.Code(e.GetCanonicalCode()); {
			case code == codes.Internal, code == codes.Unknown, (code == codes.OK) != (e.GetMessage() == ""):
				c.t.Fatalf("element %d: %v\n%v", i, e, req.GetEntities()[i])
			}
		}
	case codes.NotFound: // device id
	default:
		c.t.Fatalf("%v\n%v", err, req)
	}
	if after := dump(c.dev); !slices.Equal(before, after) {
		c.t.Fatalf("a Read changed something:\n%v\n%s", req, diff(before, after))
	}
	x, err := c.dev.startRead(req, nil)
	if err != nil {
		return
	}
	x.now, x.limit = time.Second, 1
	next, stop := iter.Pull(x.responses)
	defer stop()
	for r, ok := next(); ok; r, ok = next() {
		for _, e := range r.GetEntities() {
			if len(whole) == 0 || !proto.Equal(e, whole[0]) {
				c.t.Fatalf("in steps: %v", e)
			}
			whole = whole[1:]
		}
	}
	if len(whole) > 0 {
		c.t.Fatalf("in steps there is no %v", whole[0])
	}
}

func FuzzRead(f *testing.F) {
	var cache Cache
	c := filled(f, &cache)
	for _, s := range dump(c.dev) {
		e := &p4v1.Entity{}
		if err := proto.Unmarshal([]byte(s), e); err != nil {
			f.Fatal(err)
		}
		b, err := proto.Marshal(&p4v1.ReadRequest{DeviceId: 1, Entities: []*p4v1.Entity{e}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		req := &p4v1.ReadRequest{}
		if proto.Unmarshal(b, req) != nil {
			return
		}
		c.t = t
		c.read(req)
	})
}

// Mutated reads of existing and missing objects.
func TestMutatedReads(t *testing.T) {
	var cache Cache
	c := filled(t, &cache)
	var pool []*p4v1.Update
	for _, s := range dump(c.dev) {
		e := &p4v1.Entity{}
		if err := proto.Unmarshal([]byte(s), e); err != nil {
			t.Fatal(err)
		}
		pool = append(pool, &p4v1.Update{Entity: e})
	}
	for seed := range mutants(200) {
		rng := rand.New(rand.NewPCG(seed, 2))
		req := &p4v1.ReadRequest{DeviceId: 1}
		for range 1 + rng.IntN(4) {
			u := proto.Clone(pool[rng.IntN(len(pool))]).(*p4v1.Update)
			for range rng.IntN(4) {
				mutate(rng, u.ProtoReflect(), pool)
			}
			req.Entities = append(req.Entities, u.GetEntity())
		}
		c.read(req)
	}
}

// pipeline checks one SetForwardingPipelineConfig: a refused request changes nothing, an accepted
// configuration can be read.
func (c *checker) pipeline(req *p4v1.SetForwardingPipelineConfigRequest) error {
	c.t.Helper()
	before, p := dump(c.dev), c.dev.active.p
	err := c.dev.SetPipeline(time.Second, req)
	switch status.Code(err) {
	case codes.OK:
		if !slices.Contains([]p4v1.SetForwardingPipelineConfigRequest_Action{
			p4v1.SetForwardingPipelineConfigRequest_VERIFY,
			p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_SAVE,
		}, req.GetAction()) {
			return nil
		}
	case codes.InvalidArgument, codes.NotFound:
		if status.Convert(err).Message() == "" {
			c.t.Fatalf("refused without a word: %v", req)
		}
	default:
		c.t.Fatalf("%v\n%v", err, req.GetConfig().GetP4Info())
	}
	if after := dump(c.dev); !slices.Equal(before, after) || c.dev.active.p != p {
		c.t.Fatalf("%s, %v: something changed:\n%s", req.GetAction(), err, diff(before, after))
	}
	return err
}

// What is fuzzed is the P4Info, and an edit of the program: programs are large.
func FuzzSetPipeline(f *testing.F) {
	var cache Cache
	var programs [][]byte
	for i, stem := range []string{"entities", "evolve1", "evolve2", "initial", "translated"} {
		cfg := loadConfig(f, stem)
		info, err := proto.Marshal(cfg.GetP4Info())
		if err != nil {
			f.Fatal(err)
		}
		programs = append(programs, cfg.GetP4DeviceConfig())
		for action := range uint8(6) {
			f.Add(action, uint8(i), info, uint32(0), []byte{})
		}
		f.Add(uint8(3), uint8(i), info, uint32(1000), []byte("9"))
	}
	c := filled(f, &cache)
	f.Fuzz(func(t *testing.T, action, program uint8, info []byte, at uint32, edit []byte) {
		p4info := &configv1.P4Info{}
		if proto.Unmarshal(info, p4info) != nil {
			return
		}
		device := slices.Clone(programs[int(program)%len(programs)])
		copy(device[int(at)%len(device):], edit)
		c.t = t
		req := &p4v1.SetForwardingPipelineConfigRequest{
			DeviceId: 1, Action: p4v1.SetForwardingPipelineConfigRequest_Action(action),
			Config: &p4v1.ForwardingPipelineConfig{P4Info: p4info, P4DeviceConfig: device},
		}
		if c.pipeline(req) == nil {
			dump(c.dev)
			c = filled(t, &cache)
		}
	})
}

// TestMutatedPipelines: a P4Info with a changed field is refused, or describes a usable program.
func TestMutatedPipelines(t *testing.T) {
	var cache Cache
	cfg := loadConfig(t, "entities")
	refused := uint64(0)
	rounds := mutants(200)
	var c *checker
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(seed, 3))
		if c == nil {
			c = filled(t, &cache)
		}
		req := &p4v1.SetForwardingPipelineConfigRequest{
			DeviceId: 1, Action: p4v1.SetForwardingPipelineConfigRequest_Action(1 + rng.IntN(5)),
			Config: proto.Clone(cfg).(*p4v1.ForwardingPipelineConfig),
		}
		for range 1 + rng.IntN(3) {
			mutate(rng, req.GetConfig().GetP4Info().ProtoReflect(), nil)
		}
		if c.pipeline(req) != nil {
			refused++
			continue
		}
		for _, w := range scriptWrites(t)[:10] {
			_ = c.dev.Write(time.Second, w)
		}
		dump(c.dev)
		c = nil
	}
	if refused < rounds/4 || refused == rounds {
		t.Errorf("%d of %d are refused", refused, rounds)
	}
}

// streams hands messages to three sessions in turn, and checks arbitration after each. A session
// that ends is opened again.
func streams(t testing.TB, cache *Cache, messages []*p4v1.StreamMessageRequest) {
	t.Helper()
	c := newChecker(t, cache)
	s := NewSessions(c.dev)
	written := func() int { // packets change only counters and registers
		hard, _ := c.dev.active.state(0)
		return len(hard)
	}
	before := written()
	told := 0
	open := func() *Session {
		return s.Open(func(m *p4v1.StreamMessageResponse) {
			if m.GetUpdate() == nil {
				t.Fatal("an empty message")
			}
			told++
		})
	}
	sessions := []*Session{open(), open(), open()}
	for i, m := range messages {
		x := sessions[i%len(sessions)]
		n := told
		err := x.Receive(time.Duration(i)*time.Millisecond, m)
		switch code := status.Code(err); {
		case err == nil && m.GetArbitration() != nil && told == n:
			t.Fatalf("nobody is told of %v", m)
		case err != nil && (code == codes.Internal || code == codes.Unknown || err.Error() == ""):
			t.Fatalf("%v: %v", m, err)
		case err != nil:
			x.Close()
			sessions[i%len(sessions)] = open()
		}
		c.dev.Advance(time.Duration(i) * time.Millisecond)
		for _, r := range s.roles {
			elections := make(map[electionID]bool)
			for _, x := range r.live {
				if x.closed || x.role != r {
					t.Fatalf("role %q has a session that is not its own", r.name)
				}
				if x.election != nil && elections[*x.election] {
					t.Fatalf("role %q: election id %s twice", r.name, x.election)
				} else if x.election != nil {
					elections[*x.election] = true
				}
			}
			if p := r.primary; p != nil && (!slices.Contains(r.live, p) ||
				p.election.compare(r.highest) != 0) {
				t.Fatalf("role %q: the primary has election id %s of %s", r.name, p.election, r.highest)
			}
		}
	}
	if after := written(); after != before {
		t.Fatalf("stream messages changed forwarding state: %d objects, then %d", before, after)
	}
}

// streamPool are messages to mutate.
func streamPool(t testing.TB) []*p4v1.StreamMessageRequest {
	t.Helper()
	e := newScriptEnv(t, "entities")
	var pool []*p4v1.StreamMessageRequest
	for _, text := range []string{
		`arbitration { device_id: 1 election_id { low: 1 } }`,
		`arbitration { device_id: 1 election_id { low: 2 } }`,
		`arbitration { device_id: 1 election_id { high: 1 } role { name: "a" } }`,
		`arbitration { device_id: 1 role { name: "b" config {
			[type.googleapis.com/google.protobuf.Struct] { fields { key: "packetIn" value {
			bool_value: false } } } } } election_id { low: 5 } }`,
		`packet { payload: "0123456789abcdef" metadata { metadata_id: 1 value: "\x01" } metadata {
			metadata_id: 2 value: "\x00" } }`,
		`digest_ack { digest_id: @learn_t list_id: 1 }`,
		`other { type_url: "x" }`,
	} {
		m := &p4v1.StreamMessageRequest{}
		e.parse(t, text, m)
		pool = append(pool, m)
	}
	return pool
}

func FuzzStream(f *testing.F) {
	var cache Cache
	keep := newChecker(f, &cache)
	list := func(ms []*p4v1.StreamMessageRequest) []byte {
		var b []byte
		for _, m := range ms {
			one, err := proto.Marshal(m)
			if err != nil || len(one) > 255 {
				f.Fatal(len(one), err)
			}
			b = append(append(b, byte(len(one))), one...)
		}
		return b
	}
	pool := streamPool(f)
	f.Add(list(pool))
	slices.Reverse(pool)
	f.Add(list(pool))
	f.Fuzz(func(t *testing.T, b []byte) {
		var ms []*p4v1.StreamMessageRequest
		for len(b) > 0 && len(ms) < 64 {
			n := min(int(b[0]), len(b)-1)
			m := &p4v1.StreamMessageRequest{}
			if proto.Unmarshal(b[1:1+n], m) != nil {
				return
			}
			ms, b = append(ms, m), b[1+n:]
		}
		streams(t, &cache, ms)
		_ = keep
	})
}

func TestMutatedStreams(t *testing.T) {
	var cache Cache
	keep := newChecker(t, &cache)
	pool := streamPool(t)
	for seed := range mutants(100) {
		rng := rand.New(rand.NewPCG(seed, 4))
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			var ms []*p4v1.StreamMessageRequest
			for range 40 {
				m := proto.Clone(pool[rng.IntN(len(pool))]).(*p4v1.StreamMessageRequest)
				if rng.IntN(2) == 0 {
					mutate(rng, m.ProtoReflect(), nil)
				}
				ms = append(ms, m)
			}
			streams(t, &cache, ms)
		})
	}
	_ = keep
}
