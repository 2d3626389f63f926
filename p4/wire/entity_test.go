package wire

import (
	"testing"

	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
)

// TestEntity: Entity wraps messages for every field of an entity, and panics for an action.
func TestEntity(t *testing.T) {
	kinds := new(p4v1.Entity).ProtoReflect().Descriptor().Oneofs().ByName("entity").Fields()
	for i := range kinds.Len() {
		field := kinds.Get(i)
		m := new(p4v1.Entity).ProtoReflect().NewField(field).Message()
		got := Entity(m.Interface()).ProtoReflect()
		if !got.Has(field) || got.Get(field).Message().Interface() != m.Interface() {
			t.Errorf("%v: %v", field.Name(), got)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("an action is taken for an entity")
		}
	}()
	Entity(&p4v1.Action{})
}
