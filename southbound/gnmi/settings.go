package gnmi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	gpb "github.com/openconfig/gnmi/proto/gnmi"
	"github.com/openconfig/gnmi/proto/gnmi_ext"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Settings holds the configuration of a port. A nil field means that the switch does not report the
// setting, or that a write leaves the setting unchanged.
type Settings struct {
	Enabled *bool
	// Speed in bit/s.
	Speed *uint64
	// MTU in octets.
	MTU         *uint32
	Description *string
}

// Setting names a field of Settings, as in dialects.yaml and in the API.
type Setting string

// The settings of a port.
const (
	SettingEnabled     Setting = "enabled"
	SettingSpeed       Setting = "speed"
	SettingMTU         Setting = "mtu"
	SettingDescription Setting = "description"
)

var allSettings = []Setting{SettingEnabled, SettingSpeed, SettingMTU, SettingDescription}

// Differ returns the settings that want has and s does not have with the same value.
func (s *Settings) Differ(want *Settings) (out []Setting) {
	for _, x := range allSettings {
		if w, ok := want.value(x); ok {
			if has, known := s.value(x); !known || has != w {
				out = append(out, x)
			}
		}
	}
	return out
}

// Only returns the settings of some names.
func (s *Settings) Only(names []Setting) (out Settings) {
	for _, x := range names {
		out.Take(x, s)
	}
	return out
}

// Value returns a setting as text; ok is false when there is none.
func (s *Settings) Value(x Setting) (text string, ok bool) {
	v, ok := s.value(x)
	return fmt.Sprint(v), ok
}

func (s *Settings) value(x Setting) (v any, ok bool) {
	switch {
	case x == SettingEnabled && s.Enabled != nil:
		return *s.Enabled, true
	case x == SettingSpeed && s.Speed != nil:
		return *s.Speed, true
	case x == SettingMTU && s.MTU != nil:
		return *s.MTU, true
	case x == SettingDescription && s.Description != nil:
		return *s.Description, true
	}
	return nil, false
}

// Refusal is a setting that a switch does not take.
type Refusal struct {
	Setting Setting
	Err     error
}

// Election is the controller's place among those that write to a switch.
type Election struct {
	Role      string
	High, Low uint64
}

// set writes settings of an interface with one Set, which a switch carries out as a whole or not
// at all. A switch that refuses it is asked for each setting alone.
func (d *Dialect) set(ctx context.Context, client gpb.GNMIClient, e gpb.Encoding, by Election,
	iface string, want *Settings) ([]Refusal, error) {
	var names []Setting
	var refused []Refusal
	for _, x := range allSettings {
		if _, ok := want.value(x); !ok {
			continue
		}
		if d.setPaths[x] == nil {
			refused = append(refused, Refusal{x, fmt.Errorf("%w: dialect %s has no path for it",
				ErrUnsupported, d.Name)})
			continue
		}
		names = append(names, x)
	}
	if len(names) == 0 {
		return refused, nil
	}
	err := d.setOnce(ctx, client, e, by, iface, want, names)
	switch {
	case err == nil:
		return refused, nil
	case !isRefusal(err):
		return refused, err
	case len(names) == 1:
		return append(refused, Refusal{names[0], err}), nil
	}
	for _, x := range names {
		if err := d.setOnce(ctx, client, e, by, iface, want, []Setting{x}); err != nil {
			if !isRefusal(err) {
				return refused, err
			}
			refused = append(refused, Refusal{x, err})
		}
	}
	return refused, nil
}

func (d *Dialect) setOnce(ctx context.Context, client gpb.GNMIClient, e gpb.Encoding, by Election,
	iface string, want *Settings, names []Setting) error {
	req := &gpb.SetRequest{Extension: []*gnmi_ext.Extension{
		{Ext: &gnmi_ext.Extension_MasterArbitration{MasterArbitration: &gnmi_ext.MasterArbitration{
			ElectionId: &gnmi_ext.Uint128{High: by.High, Low: by.Low},
		}}}}}
	if by.Role != "" {
		req.Extension[0].GetMasterArbitration().Role = &gnmi_ext.Role{Id: by.Role}
	}
	if target := d.stream(statesStream).Target; target != "" {
		req.Prefix = &gpb.Path{Target: target}
	}
	for _, x := range names {
		v, err := want.typed(x, e)
		if err != nil {
			return err
		}
		path := d.setPaths[x].path(vars{iface: iface})
		path.Origin = d.Origin
		req.Update = append(req.Update, &gpb.Update{Path: path, Val: v})
	}
	_, err := client.Set(ctx, req)
	return err
}

// isRefusal reports whether a switch said that it does not take a request, in contrast to one that
// it could not answer.
func isRefusal(err error) bool {
	if errors.Is(err, ErrUnsupported) {
		return true
	}
	switch status.Code(err) {
	case codes.Unimplemented, codes.InvalidArgument, codes.NotFound, codes.OutOfRange,
		codes.FailedPrecondition, codes.PermissionDenied, codes.Unauthenticated:
		return true
	}
	return false
}

// typed returns the value of a setting in an encoding.
func (s *Settings) typed(x Setting, e gpb.Encoding) (*gpb.TypedValue, error) {
	var text string // JSON
	var v *gpb.TypedValue
	switch x {
	case SettingEnabled:
		text, v = strconv.FormatBool(*s.Enabled),
			&gpb.TypedValue{Value: &gpb.TypedValue_BoolVal{BoolVal: *s.Enabled}}
	case SettingMTU:
		text, v = strconv.FormatUint(uint64(*s.MTU), 10),
			&gpb.TypedValue{Value: &gpb.TypedValue_UintVal{UintVal: uint64(*s.MTU)}}
	case SettingDescription:
		quoted, err := json.Marshal(*s.Description)
		if err != nil {
			return nil, err
		}
		text, v = string(quoted),
			&gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: *s.Description}}
	case SettingSpeed:
		name, err := speedName(*s.Speed)
		if err != nil {
			return nil, err
		}
		text, v = `"openconfig-if-ethernet:`+name+`"`,
			&gpb.TypedValue{Value: &gpb.TypedValue_StringVal{StringVal: name}}
	}
	if e == gpb.Encoding_PROTO {
		return v, nil
	}
	return &gpb.TypedValue{Value: &gpb.TypedValue_JsonIetfVal{JsonIetfVal: []byte(text)}}, nil
}

// Present returns the settings with values.
func (s *Settings) Present() (out []Setting) {
	for _, x := range allSettings {
		if _, ok := s.value(x); ok {
			out = append(out, x)
		}
	}
	return out
}

// Missing returns the settings that are nil.
func (s *Settings) Missing() (out []Setting) {
	for _, x := range allSettings {
		if _, ok := s.value(x); !ok {
			out = append(out, x)
		}
	}
	return out
}

// Take takes a setting of others.
func (s *Settings) Take(x Setting, from *Settings) {
	switch x {
	case SettingEnabled:
		s.Enabled = from.Enabled
	case SettingSpeed:
		s.Speed = from.Speed
	case SettingMTU:
		s.MTU = from.MTU
	case SettingDescription:
		s.Description = from.Description
	}
}
