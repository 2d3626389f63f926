package p4rt

import (
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"

	"github.com/weft-sdn/weft/p4/wire"
)

// BenchmarkWrite writes and reads batches of exact-match entries; an operation
// is one entry.
func BenchmarkWrite(b *testing.B) {
	const batch = 1000
	var cache Cache
	c := newChecker(b, &cache)
	env := newScriptEnv(b, "entities")
	build := func(typ p4v1.Update_Type) *p4v1.WriteRequest {
		req := &p4v1.WriteRequest{DeviceId: 1}
		for i := range batch {
			req.Updates = append(req.Updates,
				&p4v1.Update{Type: typ,
					Entity: wire.Entity(&p4v1.TableEntry{
						TableId: env.ids["source"],
						Match: []*p4v1.FieldMatch{{FieldId: 1, FieldMatchType: &p4v1.FieldMatch_Exact_{
							Exact: &p4v1.FieldMatch_Exact{Value: []byte{2, 0, 0, 0, byte(i >> 8), byte(i)}},
						}}},
						Action: &p4v1.TableAction{
							Type: &p4v1.TableAction_Action{Action: &p4v1.Action{ActionId: env.ids["NoAction"]}}},
					})})
		}
		return req
	}
	insert, remove := build(p4v1.Update_INSERT), build(p4v1.Update_DELETE)
	b.Run("insert+delete", func(b *testing.B) {
		b.ReportAllocs()
		for n := 0; n < b.N; n += 2 * batch {
			for _, req := range []*p4v1.WriteRequest{insert, remove} {
				if err := c.dev.Write(0, req); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
	})
	if err := c.dev.Write(0, insert); err != nil {
		b.Fatal(err)
	}
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		q := &p4v1.ReadRequest{DeviceId: 1,
			Entities: []*p4v1.Entity{{Entity: &p4v1.Entity_TableEntry{
				TableEntry: &p4v1.TableEntry{TableId: env.ids["source"]}}}}}
		for n := 0; n < b.N; n += batch {
			got := 0
			if err := c.dev.Read(0, q,
				func(r *p4v1.ReadResponse) { got += len(r.GetEntities()) }); err != nil || got != batch {
				b.Fatal(got, err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
	})
}
