package p4rt_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"sync/atomic"
	"testing"
	"time"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/weft-sdn/weft/dataplane/p4rt"
	"github.com/weft-sdn/weft/p4"
)

// turns is an Executor that counts the calls, and lets a test come in between
// two of them.
type turns struct {
	p4rt.Executor
	n       atomic.Int64
	between atomic.Pointer[func()]
}

func (x *turns) Do(ctx context.Context, f func(time.Duration)) error {
	x.n.Add(1)
	if between := x.between.Load(); between != nil {
		(*between)()
	}
	return x.Executor.Do(ctx, f)
}

// count returns how many turns f takes.
func (x *turns) count(f func()) int64 {
	before := x.n.Load()
	f()
	return x.n.Load() - before
}

// A large Write or Read is done in many turns of the device's goroutine, and
// nothing comes in between that would show it half done. Only a batch that
// must be atomic to packets has one turn.
func TestPacketsPassBetweenSteps(t *testing.T) {
	const entries = 6000 // in more than one response
	var x *turns
	n := newNetworkWith(t, func(e p4rt.Executor) p4rt.Executor { x = &turns{Executor: e}; return x })
	client := n.client(t)
	c := newController(t, client)
	c.arbitrate(1, 1)
	c.wantStatus(codes.OK)
	id := &p4v1.Uint128{Low: 1}
	ctx := t.Context()
	if _, err := client.SetForwardingPipelineConfig(ctx, &p4v1.SetForwardingPipelineConfigRequest{
		DeviceId: 1, ElectionId: id, Config: roomyFabric(t, entries),
		Action: p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT,
	}); err != nil {
		t.Fatal(err)
	}
	request := func(typ p4v1.Update_Type, from, to int) *p4v1.WriteRequest {
		req := &p4v1.WriteRequest{DeviceId: 1, ElectionId: id}
		for i := from; i < to; i++ {
			req.Updates = append(req.Updates, branchUpdate(typ, i))
		}
		return req
	}
	write := func(req *p4v1.WriteRequest) {
		t.Helper()
		if _, err := client.Write(ctx, req); err != nil {
			t.Error(err)
		}
	}
	read := func() int {
		s, err := client.Read(ctx, &p4v1.ReadRequest{DeviceId: 1, Entities: []*p4v1.Entity{{
			Entity: &p4v1.Entity_TableEntry{TableEntry: &p4v1.TableEntry{TableId: p4.TableMtBranchID}},
		}}})
		if err != nil {
			t.Error(err)
			return -1
		}
		got := 0
		for {
			r, err := s.Recv()
			if errors.Is(err, io.EOF) {
				return got
			}
			if err != nil {
				t.Error(err)
				return -1
			}
			for _, e := range r.GetEntities() {
				source := e.GetTableEntry().GetMatch()[2].GetExact().GetValue()
				if want := branchUpdate(p4v1.Update_INSERT,
					int(binary.BigEndian.Uint32(source[12:]))).GetEntity(); !proto.Equal(e, want) {
					t.Errorf("read %v, want %v", e, want)
					return -1
				}
			}
			got += len(r.GetEntities())
		}
	}

	insert, remove := request(p4v1.Update_INSERT, 0, entries), request(p4v1.Update_DELETE, 0, entries)
	if n := x.count(func() { write(insert) }); n < entries/200 {
		t.Errorf("a Write of %d updates took %d turns", entries, n)
	}
	if n := x.count(func() {
		if got := read(); got != entries {
			t.Errorf("read %d entries", got)
		}
	}); n < entries/400 {
		t.Errorf("a Read of %d entries took %d turns", entries, n)
	}
	atomically := proto.Clone(remove).(*p4v1.WriteRequest)
	atomically.Atomicity = p4v1.WriteRequest_DATAPLANE_ATOMIC
	// One turn says whether its sender may write: a large batch is not decoded before.
	if n := x.count(func() { write(atomically) }); n != 2 {
		t.Errorf("a batch that must be atomic took %d turns, want one after that of its sender", n)
	}
	// A batch that fails at its end is taken back in turns, too.
	failing := request(p4v1.Update_INSERT, 0, entries-1)
	failing.Updates = append(failing.Updates, branchUpdate(p4v1.Update_INSERT, 0))
	failing.Atomicity = p4v1.WriteRequest_ROLLBACK_ON_ERROR
	if n := x.count(func() {
		if _, err := client.Write(ctx, failing); err == nil {
			t.Error("the batch did not fail")
		}
	}); n < 2*entries/200 {
		t.Errorf("a batch that was rolled back took %d turns", n)
	}

	// A request of another client during a batch sees either all of the batch or nothing.
	for _, c := range []struct {
		name             string
		first, meanwhile func()
	}{
		{"read during a write", func() { write(insert) }, func() {
			if got := read(); got != 0 && got != entries {
				t.Errorf("read %d of %d entries in the middle of a batch", got, entries)
			}
		}},
		{"write during a read", func() {
			if got := read(); got != entries && got != 0 {
				t.Errorf("read %d of %d entries while another removes all", got, entries)
			}
		}, func() { write(remove) }},
	} {
		started := make(chan struct{})
		var turn atomic.Int64
		between := func() {
			if turn.Add(1) == 3 {
				close(started)
			}
		}
		x.between.Store(&between)
		done := make(chan struct{})
		go func() {
			defer close(done)
			<-started
			c.meanwhile()
		}()
		c.first()
		<-done
		x.between.Store(nil)
		if t.Failed() {
			t.Fatal(c.name)
		}
	}
	if got := read(); got != 0 {
		t.Errorf("%d entries are left", got)
	}
}
