package p4rt

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// scriptWrites returns the requests of all write commands of the scripts for
// the program "entities".
func scriptWrites(t testing.TB) []*p4v1.WriteRequest {
	t.Helper()
	out := scriptWritesOf(t, "entities")
	if len(out) < 20 {
		t.Fatalf("%d writes in the scripts", len(out))
	}
	return out
}

func scriptWritesOf(t testing.TB, stem string) []*p4v1.WriteRequest {
	t.Helper()
	files, err := filepath.Glob("testdata/*.script")
	if err != nil {
		t.Fatal(err)
	}
	e := newScriptEnv(t, stem)
	var out []*p4v1.WriteRequest
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		of := "entities"
		if name, ok := strings.CutPrefix(string(data), "#names "); ok {
			of, _, _ = strings.Cut(name, "\n")
		}
		if of != stem {
			continue
		}
		for _, block := range strings.Split(string(data), "\n\n") {
			cmd, rest, _ := strings.Cut(block, "\n")
			for strings.HasPrefix(cmd, "#") {
				cmd, rest, _ = strings.Cut(rest, "\n")
			}
			if !strings.HasPrefix(cmd, "write") {
				continue
			}
			input, _, _ := strings.Cut(rest, "----")
			req := &p4v1.WriteRequest{}
			e.parse(t, input, req)
			req.DeviceId = 1
			out = append(out, req)
		}
	}
	return out
}

// checker holds a device to what must be true of every write.
type checker struct {
	t   testing.TB
	cfg *p4v1.ForwardingPipelineConfig
	dev *Device
}

func newChecker(t testing.TB, cache *Cache) *checker { return newCheckerOf(t, "entities", cache) }

func newCheckerOf(t testing.TB, stem string, cache *Cache) *checker {
	c := &checker{t: t, cfg: loadConfig(t, stem)}
	c.dev = c.fresh(cache)
	return c
}

func (c *checker) fresh(cache *Cache) *Device {
	d := newTestDevice(c.t, Config{Ports: []uint32{1, 2, 3, 4}, Cache: cache})
	if err := d.SetPipeline(0, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: 1, Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT, Config: c.cfg,
	}); err != nil {
		c.t.Fatal(err)
	}
	return d
}

// dump is everything a client can read, as a set.
func dump(d *Device) []string {
	hard, soft := d.active.state(0)
	var out []string
	for _, u := range slices.Concat(hard, soft) {
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(u.GetEntity())
		if err != nil {
			panic(err)
		}
		out = append(out, string(b))
	}
	slices.Sort(out)
	return out
}

// steps is Write with room for packets between a few updates.
func (c *checker) steps(req *p4v1.WriteRequest) error {
	w, err := c.dev.startWrite(0, req, nil)
	if err != nil {
		return err
	}
	for !w.step(time.Second, 1+len(req.GetUpdates())%3) {
		c.dev.Advance(time.Second)
	}
	return w.result()
}

func (c *checker) write(req *p4v1.WriteRequest) {
	c.t.Helper()
	before := dump(c.dev)
	err := c.steps(req)
	st := status.Convert(err)
	switch st.Code() {
	case codes.OK:
	case codes.Unknown:
		if len(st.Details()) != len(req.GetUpdates()) {
			c.t.Fatalf("%d updates, %d details", len(req.GetUpdates()), len(st.Details()))
		}
		failed := 0
		for i, d := range st.Details() {
			e := d.(*p4v1.Error)
			code := codes.Code(e.GetCanonicalCode())
			switch {
			case code == codes.OK && e.GetMessage() != "":
				c.t.Fatalf("update %d: OK, but %q", i, e.GetMessage())
			case code == codes.OK:
			case code == codes.Internal || code == codes.Unknown || e.GetMessage() == "":
				c.t.Fatalf("update %d: %v\n%v", i, e, req.GetUpdates()[i])
			default:
				failed++
			}
		}
		if failed == 0 {
			c.t.Fatalf("no update failed: %v", err)
		}
		if req.GetAtomicity() != p4v1.WriteRequest_CONTINUE_ON_ERROR {
			if after := dump(c.dev); !slices.Equal(before, after) {
				c.t.Fatalf("a rolled back batch left something:\n%v\n%s", req, diff(before, after))
			}
		}
	case codes.NotFound, codes.InvalidArgument: // device id, atomicity
		if after := dump(c.dev); !slices.Equal(before, after) {
			c.t.Fatalf("a refused request left something: %v", req)
		}
	default:
		c.t.Fatalf("%v\n%v", err, req)
	}
}

// symmetric writes everything read from the device to a new device, and checks that both then read
// alike.
func (c *checker) symmetric(cache *Cache) {
	c.t.Helper()
	d := c.fresh(cache)
	hard, soft := c.dev.active.state(0)
	for _, u := range slices.Concat(hard, soft) {
		if err := d.active.update(0, u, nil); err != nil {
			c.t.Fatalf("what was read cannot be written: %s\n%v", err.Message, u)
		}
	}
	if a, b := dump(c.dev), dump(d); !slices.Equal(a, b) {
		c.t.Fatalf("what was written reads otherwise:\n%s", diff(a, b))
	}
}

func diff(a, b []string) string {
	var out strings.Builder
	show := func(sign string, s string) {
		e := &p4v1.Entity{}
		if proto.Unmarshal([]byte(s), e) == nil {
			fmt.Fprintf(&out, "%s %v\n", sign, e)
		}
	}
	for _, s := range a {
		if !slices.Contains(b, s) {
			show("-", s)
		}
	}
	for _, s := range b {
		if !slices.Contains(a, s) {
			show("+", s)
		}
	}
	return out.String()
}

func FuzzWrite(f *testing.F) {
	for _, req := range scriptWrites(f) {
		b, err := proto.Marshal(req)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	var cache Cache
	keep := newChecker(f, &cache) // so that the program stays in the cache
	f.Fuzz(func(t *testing.T, b []byte) {
		req := &p4v1.WriteRequest{}
		if proto.Unmarshal(b, req) != nil {
			return
		}
		c := newChecker(t, &cache)
		c.write(req)
		c.symmetric(&cache)
		_ = keep
	})
}

// mutants is how many mutants of what is good a test tries.
func mutants(n int) uint64 {
	if testing.Short() {
		n /= 10
	}
	return uint64(n)
}

// Mutated requests, one after another on the same device.
func TestMutatedWrites(t *testing.T) {
	mutatedWrites(t, "entities", mutants(150))
}

// The same with translated values: clients must read the values that they wrote.
func TestMutatedTranslatedWrites(t *testing.T) { mutatedWrites(t, "translated", mutants(40)) }

func mutatedWrites(t *testing.T, stem string, rounds uint64) {
	seeds := scriptWritesOf(t, stem)
	var pool []*p4v1.Update
	for _, req := range seeds {
		pool = append(pool, req.GetUpdates()...)
	}
	var cache Cache
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(seed, 1))
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			c := newCheckerOf(t, stem, &cache)
			for range 8 {
				req := &p4v1.WriteRequest{DeviceId: 1, Atomicity: p4v1.WriteRequest_Atomicity(rng.IntN(3))}
				for range 1 + rng.IntN(12) {
					u := proto.Clone(pool[rng.IntN(len(pool))]).(*p4v1.Update)
					if rng.IntN(2) == 0 {
						mutate(rng, u.ProtoReflect(), pool)
					}
					if rng.IntN(3) == 0 {
						u.Type = p4v1.Update_Type(1 + rng.IntN(3))
					}
					req.Updates = append(req.Updates, u)
				}
				c.write(req)
			}
			c.symmetric(&cache)
		})
	}
}

// mutate changes one field somewhere inside a message.
func mutate(rng *rand.Rand, m protoreflect.Message, pool []*p4v1.Update) {
	var set []protoreflect.FieldDescriptor
	m.Range(func(fd protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		set = append(set, fd)
		return true
	})
	slices.SortFunc(set, func(a, b protoreflect.FieldDescriptor) int {
		return int(a.Number()) - int(b.Number())
	})
	if len(set) == 0 || rng.IntN(8) == 0 {
		fields := m.Descriptor().Fields()
		if fields.Len() == 0 {
			return
		}
		fd := fields.Get(rng.IntN(fields.Len()))
		switch {
		case fd.IsMap():
		case fd.IsList() && fd.Message() != nil:
			m.Mutable(fd).List().AppendMutable()
		case fd.Message() != nil:
			m.Mutable(fd)
		case !fd.IsList():
			m.Set(fd, randomValue(rng, fd))
		}
		return
	}
	fd := set[rng.IntN(len(set))]
	switch {
	case fd.IsMap():
	case fd.IsList():
		l := m.Mutable(fd).List()
		i := rng.IntN(l.Len())
		switch {
		case fd.Message() == nil:
		case rng.IntN(6) == 0:
			l.Append(l.Get(i)) // twice
		case rng.IntN(6) == 0:
			l.Truncate(i)
		default:
			mutate(rng, l.Get(i).Message(), pool)
		}
	case rng.IntN(10) == 0:
		m.Clear(fd)
	case fd.Message() != nil:
		mutate(rng, m.Mutable(fd).Message(), pool)
	default:
		m.Set(fd, randomValue(rng, fd))
	}
}

func randomValue(rng *rand.Rand, fd protoreflect.FieldDescriptor) protoreflect.Value {
	n := []uint64{0, 1, 2, 3, 5, 255, 256, 511, 65535, 65536, 1 << 31, 1<<63 - 1}[rng.IntN(12)]
	switch fd.Kind() {
	case protoreflect.BytesKind:
		b := make([]byte, []int{0, 1, 1, 2, 2, 6, 7, 16, 17}[rng.IntN(9)])
		for i := range b {
			if rng.IntN(2) == 0 {
				b[i] = byte(rng.Uint32())
			}
		}
		return protoreflect.ValueOfBytes(b)
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("x")
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(rng.IntN(2) == 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rng.IntN(4)))
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(n) - int32(rng.IntN(2)))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(n) - int64(rng.IntN(2)))
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	default:
		return protoreflect.ValueOfUint64(n)
	}
}
