package hostapi

import (
	"cmp"

	pb "github.com/weft-sdn/weft/api/hostapi/hostpb"
)

// PortErrors holds the nonzero counters of errors and losses at a host's ports: in place of what
// was said before.
type PortErrors struct {
	Errors  []PortError
	LeftOut int // counters that Errors leaves out
}

// PortError is a counter of a port: of its interface, or as "mlx5_0/1" of a port of an RDMA device.
type PortError struct {
	Port            uint8
	Source, Counter string
	Count           uint64 // since the device or the driver started
}

func encodePortErrors(m *PortErrors) *pb.PortErrors {
	out := &pb.PortErrors{LeftOut: uint32(m.LeftOut)}
	for _, e := range m.Errors {
		out.Errors = append(out.Errors, &pb.PortError{Port: uint32(e.Port), Source: e.Source,
			Counter: e.Counter, Count: e.Count})
	}
	return out
}

func decodePortErrors(m *pb.PortErrors) (*PortErrors, *FieldError) {
	out := &PortErrors{LeftOut: int(m.GetLeftOut())}
	seen := make(map[PortError]bool)
	for i, p := range m.GetErrors() {
		e := PortError{uint8(min(p.GetPort(), MaxPort+1)), p.GetSource(), p.GetCounter(), p.GetCount()}
		key := e
		key.Count = 0
		err := e.validate()
		if err == nil && seen[key] {
			err = invalid("counter", "%.80q of %.80q is there twice", e.Counter, e.Source)
		}
		if err != nil {
			return nil, err.within("errors[%d]", i)
		}
		seen[key] = true
		out.Errors = append(out.Errors, e)
	}
	return out, nil
}

// Validate names the first wrong field; the error is a *FieldError.
func (e *PortError) Validate() error {
	if err := e.validate(); err != nil {
		return err
	}
	return nil
}

func (e *PortError) validate() *FieldError {
	switch {
	case e.Port == 0 || e.Port > MaxPort:
		return invalid("port", "%d, want 1 to %d", e.Port, MaxPort)
	case e.Count == 0:
		return invalid("count", "0, want more")
	}
	return cmp.Or(checkName("source", e.Source), checkName("counter", e.Counter))
}
