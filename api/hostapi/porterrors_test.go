package hostapi_test

import (
	"slices"
	"testing"

	"github.com/weft-sdn/weft/api/hostapi"
)

// TestPortErrors: counters that cannot be are refused with the field.
func TestPortErrors(t *testing.T) {
	ok := hostapi.PortError{Port: 1, Source: "eth0", Counter: "rx_crc_errors", Count: 3}
	for field, edit := range map[string]func(*hostapi.PortError){
		"port_errors.errors[1].port":    func(e *hostapi.PortError) { e.Port = 32 },
		"port_errors.errors[1].source":  func(e *hostapi.PortError) { e.Source = "eth 0" },
		"port_errors.errors[1].count":   func(e *hostapi.PortError) { e.Count = 0 },
		"port_errors.errors[1].counter": func(e *hostapi.PortError) { *e = ok; e.Count++ },
	} {
		bad := ok
		bad.Counter = "rx_errors"
		edit(&bad)
		_, err := hostapi.DecodeUp(hostapi.EncodeUp(&hostapi.PortErrors{
			Errors: []hostapi.PortError{ok, bad}}))
		if at, is := err.(*hostapi.FieldError); !is || at.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	m, err := hostapi.DecodeUp(hostapi.EncodeUp(&hostapi.PortErrors{Errors: []hostapi.PortError{ok},
		LeftOut: 3}))
	if e, is := m.(*hostapi.PortErrors); err != nil || !is || e.LeftOut != 3 ||
		!slices.Equal(e.Errors, []hostapi.PortError{ok}) {
		t.Errorf("%+v, %v", m, err)
	}
}
