package cluster

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/inventory"
	"github.com/weft-sdn/weft/southbound/entry"
	"github.com/weft-sdn/weft/southbound/gnmi"
)

// Every method on reached panics, so the test sees each call; the methods with an effect count
// their calls.
type reached struct {
	controller.P4Switch
	plain bool // it runs no P4 program
	calls []string
	bound bool // the last call's context ends
}

func (r *reached) note(ctx context.Context, name string) {
	r.calls = append(r.calls, name)
	_, r.bound = ctx.Deadline()
}

func (r *reached) Write(ctx context.Context, _ []entry.Update) ([]entry.Refusal, error) {
	r.note(ctx, "Write")
	return nil, nil
}

func (r *reached) PacketOut(ctx context.Context, _ entry.PacketOut) error {
	r.note(ctx, "PacketOut")
	return nil
}

func (r *reached) SetPort(ctx context.Context, _ string, _ *gnmi.Settings) ([]gnmi.Refusal, error) {
	r.note(ctx, "SetPort")
	return nil, nil
}

// Open implements [controller.Southbound].
func (r *reached) Open(context.Context, inventory.Switch,
	func(controller.SwitchEvent)) (controller.Switch, error) {
	if r.plain {
		return struct{ controller.Switch }{r}, nil
	}
	return r, nil
}

// TestFence: without the lease the fence refuses every effective method of a switch, and a running
// method ends with the lease, on any kind of switch. A method of [controller.P4Switch] that is in
// neither list fails the test: decide which it is.
func TestFence(t *testing.T) {
	effects := map[string]bool{"Write": true, "PacketOut": true, "SetPort": true}
	reads := map[string]bool{
		"Confirm": true, "Read": true, "Tables": true, "CounterNames": true, "Inspect": true,
		"Counters": true, "PortCounts": true,
		"Close": true, // it takes this controller's session away, and nothing else
	}
	for _, c := range []struct {
		seam        reflect.Type
		plain, over bool
	}{
		{reflect.TypeFor[controller.P4Switch](), false, true},
		{reflect.TypeFor[controller.P4Switch](), false, false},
		{reflect.TypeFor[controller.Switch](), true, true},
		{reflect.TypeFor[controller.Switch](), true, false},
	} {
		seam, over := c.seam, c.over
		left := time.Hour
		if over {
			left = -time.Hour
		}
		r := &reached{plain: c.plain}
		sw, err := Fence(r, &Tenure{lease: until{at: time.Now().Add(left)}, margin: time.Minute}).Open(
			t.Context(), inventory.Switch{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range seam.NumMethod() {
			m := seam.Method(i)
			if effects[m.Name] == reads[m.Name] {
				t.Errorf("whether %s has an effect on a switch is not said here", m.Name)
			}
			if !effects[m.Name] {
				continue
			}
			args := []reflect.Value{reflect.ValueOf(t.Context())}
			for j := 1; j < m.Type.NumIn(); j++ {
				args = append(args, reflect.Zero(m.Type.In(j)))
			}
			r.calls, r.bound = nil, false
			out := reflect.ValueOf(sw).MethodByName(m.Name).Call(args)
			err, _ := out[len(out)-1].Interface().(error)
			switch {
			case over && (!errors.Is(err, ErrMandate) || len(r.calls) > 0):
				t.Errorf("%s without the lease: %v, the switch got %v", m.Name, err, r.calls)
			case !over && (err != nil || len(r.calls) != 1 || !r.bound):
				t.Errorf("%s with the lease: %v, the switch got %v, bound by the lease: %v", m.Name, err,
					r.calls, r.bound)
			}
		}
	}
}
