package neighbor

import "testing"

// TestRecordOfUnbound: an address that is no longer bound has no record, also while a host asks for
// it anew.
func TestRecordOfUnbound(t *testing.T) {
	s := newStreet(t, nil)
	a := addr("2001:db8:0:8::9")
	s.bind(common, decent, a)
	s.pass(2 * Lifetime) // the host does not answer: the binding ends
	s.says(common, decent, a, Detects)
	if b, ok := s.table(0).Binding(a); !ok || b.Sure {
		t.Fatalf("%+v, %v: want a host that waits for objections", b, ok)
	}
	ops := s.Changes()
	if len(ops) != 1 || ops[0].Key != (bound{address: a}).key() || ops[0].Value != nil {
		t.Errorf("%+v, want the record of %v deleted", ops, a)
	}
}
