package device

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"syscall"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/clib"
)

// Caller calls functions of the vendor's library, as a *clib.Library does.
type Caller interface {
	Call(name string, arguments ...any) (int64, syscall.Errno, error)
	Read(address uint64, octets int) ([]byte, error)
}

// Structures of mrc.h and mrc_ctl.h, API 1.0.1, on machines with 64 bits. Blank fields are padding.
type (
	deviceAttr struct {
		Protocol uint32
		EV       struct {
			MaxFormats, MaxProfiles, MaxCount, FreeCount, MaxCountProfile, CountAlign, MaxWidth,
			FormatModes, Modes, OpMaxEntries uint32
		}
		_  uint32
		CC struct {
			MaxProfiles uint32
			_           uint32
			Algorithms  uint64
		}
		Ports, Options uint32
	}
	mrcAttr struct {
		Protocol             uint32
		MaxWIMM, MaxWIMMDest uint16
		MaxMPR, Resolution   uint8
		_                    [2]byte
		MaxHints, Cap        uint32
	}
	// operation is the array of an attribute.
	operation struct {
		Op    uint32
		_     uint32
		Array uint64
		Count int32
		_     uint32
	}
	formatAttr struct {
		State, CurState, Mode uint32
		_                     uint32
		Fields                operation
		Vendor                [128]byte
	}
	evAttr struct {
		State, CurState, Mode uint32
		_                     uint32
		Format                uint64
		Count, MinActive      uint32
		EventMask             int32
		_                     uint32
		EVs, Fields           operation
		Vendor                [128]byte
	}
	evEntry struct {
		EV, New      hostapi.EV
		_            [2]byte
		State, Flags uint32
	}
	evField struct{ Width, Init, Min, Max, Mask uint32 }
	ccAttr  struct {
		State, CurState   uint32
		Algorithm, Config uint64
		Vendor            [128]byte
	}
	nsccConfig struct {
		DisableQA                                            uint8
		_                                                    [3]byte
		AdjustBytesThreshold, AdjustPeriodThreshold, BaseRTT uint32
		Eta, FI, FIScale, Gamma, MaxMDJump                   float32
		MaxCwnd                                              uint32
		QAGate                                               uint8
		_                                                    [3]byte
		QAThreshold, TargetDelay                             uint32
	}
	evEvent struct {
		Profile uint64
		EV      hostapi.EV
		_       [3]byte
		Dropped uint32
		State   uint32
		_       uint32
	}
	endpointRequest struct {
		ID         uint16
		_          [6]byte
		From, To   [16]byte
		Mode       uint32
		EV         hostapi.EV
		_          [3]byte
		PortStatus uint32
		_          uint32
	}
	endpointAnswer struct {
		ID       uint16
		Port     uint8
		_        uint8
		RTT      uint32
		Adjusted uint8
		_        [3]byte
	}
)

// Numbers of mrc_ctl.h.
const (
	stateInit    = 0
	stateOffline = 1
	stateOnline  = 2

	maskState     = 1 << 0
	formatMode    = 1 << 2
	formatOp      = 1 << 3
	evMode        = 1 << 2
	evFormat      = 1 << 3
	evCount       = 1 << 4
	evMinActive   = 1 << 5
	evEventMask   = 1 << 6
	evOp          = 1 << 7
	evFieldsOp    = 1 << 8
	evAll         = maskState | evMode | evFormat | evCount | evMinActive | evEventMask
	ccAlgorithm   = 1 << 2
	ccConfig      = 1 << 3
	portState     = 1 << 0
	opFields      = 0 // MODIFY_FIELDS of formats and EV profiles
	opReplace     = 0
	opModifyState = 1
	opQueryArray  = 3
	opQueryFields = 1
	allCopies     = 1 << 0

	apiVersion = 1<<24 | 0<<16 | 1 // 1.0.1
)

// memory is a structure, or a slice of structures, as C has it.
func memory(v any) *clib.Memory {
	b, err := binary.Append(nil, binary.NativeEndian, v)
	if err != nil {
		panic(err) // a type of this file without a fixed size
	}
	return &clib.Memory{Octets: b}
}

// into reads a structure back.
func into(m *clib.Memory, v any) {
	if _, err := binary.Decode(m.Octets, binary.NativeEndian, v); err != nil {
		panic(err)
	}
}

// offsets of the pointers of formatAttr, evAttr and ccAttr.
const (
	formatFieldsAt = 24
	evEVsAt        = 48
	evFieldsAt     = 72
	ccAlgorithmAt  = 8
	ccConfigAt     = 16
)

// call calls a function that returns 0, or -1 with errno.
func call(lib Caller, name string, arguments ...any) error {
	value, errno, err := lib.Call(name, arguments...)
	if err == nil && int32(value) != 0 {
		err = errno
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// address calls a function that returns the address of an object, or NULL with errno.
func address(lib Caller, name string, arguments ...any) (uint64, error) {
	value, errno, err := lib.Call(name, arguments...)
	if err == nil && value == 0 {
		err = errno
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return uint64(value), nil
}

// opened is a device of the library.
type opened struct {
	verbs, context uint64 // struct ibv_context and mrc_context
	gid            netip.Addr
	is             hostapi.Capabilities
}

// openDevice opens the RDMA device of a name, or the first that has MRC. The error names the
// missing abilities of the present devices.
func openDevice(lib Caller, name string) (*opened, error) {
	var version [4]byte
	current := memory(version)
	if _, _, err := lib.Call("mrc_ctl_query_version", current, 0, 0, 0); err != nil {
		return nil, err
	}
	if v := binary.NativeEndian.Uint32(current.Octets); v < apiVersion {
		return nil, fmt.Errorf("the library has version %d.%d.%d of mrc_ctl, want 1.0.1 or newer",
			v>>24, v>>16&0xff, v&0xffff)
	}
	count := memory(int32(0))
	list, err := address(lib, "ibv_get_device_list", count)
	if err != nil {
		return nil, err
	}
	pointers, err := lib.Read(list, 8*int(binary.NativeEndian.Uint32(count.Octets))+8)
	if err != nil {
		return nil, err
	}
	var seen []string
	for ; len(pointers) > 8; pointers = pointers[8:] {
		device := binary.NativeEndian.Uint64(pointers)
		at, err := address(lib, "ibv_get_device_name", device)
		if err != nil {
			return nil, err
		}
		text, err := lib.Read(at, 0)
		if err != nil {
			return nil, err
		}
		if name != "" && name != string(text) {
			seen = append(seen, string(text))
			continue
		}
		d, err := openOne(lib, device)
		if err == nil {
			return d, nil
		}
		seen = append(seen, fmt.Sprintf("%s (%v)", text, err))
	}
	if name != "" {
		return nil, fmt.Errorf("no RDMA device %q with MRC among %v", name, seen)
	}
	return nil, fmt.Errorf("no RDMA device with MRC among %v", seen)
}

// openOne opens a device, and asks what it can.
func openOne(lib Caller, device uint64) (d *opened, err error) {
	d = new(opened)
	if d.verbs, err = address(lib, "ibv_open_device", device); err != nil {
		return nil, err
	}
	attr, ctl, supported := memory(mrcAttr{}), memory(deviceAttr{}), memory(int32(0))
	if err := call(lib, "mrc_query_device", d.verbs, attr, supported); err != nil {
		return nil, err
	}
	if binary.NativeEndian.Uint32(supported.Octets) == 0 {
		return nil, fmt.Errorf("mrc_query_device: no MRC")
	}
	if err := call(lib, "mrc_ctl_query_device", d.verbs, ctl); err != nil {
		return nil, err
	}
	version := memory([2]uint32{apiVersion, 0})
	if d.context, err = address(lib, "mrc_create_context", d.verbs, version); err != nil {
		return nil, err
	}
	var a deviceAttr
	var m mrcAttr
	into(ctl, &a)
	into(attr, &m)
	d.is = hostapi.Capabilities{ProtocolVersions: a.Protocol, EVMaxFormats: int(a.EV.MaxFormats),
		EVMaxProfiles: min(int(a.EV.MaxProfiles), hostapi.MaxProfiles), EVMaxCount: int(a.EV.MaxCount),
		EVFreeCount: int(a.EV.FreeCount), EVMaxCountProfile: int(a.EV.MaxCountProfile),
		EVCountAlign: int(a.EV.CountAlign), EVMaxWidth: int(a.EV.MaxWidth),
		EVFormatModes: a.EV.FormatModes, EVModes: a.EV.Modes, EVOpMaxEntries: int(a.EV.OpMaxEntries),
		CCMaxProfiles: min(int(a.CC.MaxProfiles), hostapi.MaxCCProfiles),
		Ports:         hostapi.PortMask(a.Ports), OptAttr: a.Options, DeviceCap: m.Cap,
		MaxMPR: int(m.MaxMPR), MaxWIMM: int(m.MaxWIMM), MaxWIMMDest: int(m.MaxWIMMDest), QPHints: true}
	for at := a.CC.Algorithms; at != 0 && len(d.is.CCAlgorithms) < hostapi.MaxAlgorithms; at += 8 {
		p, err := lib.Read(at, 8)
		if err != nil {
			return nil, err
		}
		if binary.NativeEndian.Uint64(p) == 0 {
			break
		}
		text, err := lib.Read(binary.NativeEndian.Uint64(p), 0)
		if err != nil {
			return nil, err
		}
		d.is.CCAlgorithms = append(d.is.CCAlgorithms, string(text))
	}
	return d, d.findGID(lib)
}

// findGID reads the first GID of the device that is a global address.
func (d *opened) findGID(lib Caller) error {
	for i := range 16 {
		gid := memory([16]byte{})
		if err := call(lib, "ibv_query_gid", d.verbs, 1, i, gid); err != nil {
			break // that was the last
		}
		if a := netip.AddrFrom16([16]byte(gid.Octets)).Unmap(); a.IsGlobalUnicast() {
			d.gid = a
			return nil
		}
	}
	return fmt.Errorf("no GID of port 1 is a global address")
}

// stateOf is the number of a state of an EV.
func stateOf(s hostapi.EVState) uint32 { return 1 << (s - 1) }

// fields are the fields of a profile as the device has them.
func fields(p *hostapi.Profile) (out []evField) {
	for _, f := range p.Fields {
		out = append(out, evField{uint32(f.Width), f.InitVal, f.MinVal, f.MaxVal, f.Mask})
	}
	return out
}

// modifyEVs is mrc_ctl_modify_ev_profile, with entries or fields behind the attributes as the mask
// says.
func (d *Control) modifyEVs(id uint64, mask int, a evAttr, entries []evEntry,
	fields []evField) error {
	a.EVs.Count, a.Fields.Count = int32(len(entries)), int32(len(fields))
	m := memory(a)
	m.Points = map[int]*clib.Memory{}
	if len(entries) > 0 {
		m.Points[evEVsAt] = memory(entries)
	}
	if len(fields) > 0 {
		m.Points[evFieldsAt] = memory(fields)
	}
	return call(d.lib, evProfiles.modify, d.at.context, id, m, mask)
}

// toState is a request that only changes the state of a profile.
func (d *Control) toState(k kind, id uint64, state uint32) error {
	m := memory(evAttr{State: state}) // the first member of all kinds; the others are shorter
	return call(d.lib, k.modify, d.at.context, id, m, maskState)
}

// stateOfProfile asks for the state of a profile of any kind.
func (d *Control) stateOfProfile(k kind, id uint64) (uint32, error) {
	m := memory(evAttr{})
	if err := call(d.lib, k.query, d.at.context, id, m, maskState); err != nil {
		return 0, err
	}
	return binary.NativeEndian.Uint32(m.Octets), nil
}

// queryEVs reads an EV profile of the device, as far as it can be compared: the name and what the
// device does not know are those of want.
func (d *Control) queryEVs(id uint64, want *hostapi.Profile) (is *hostapi.Profile,
	bad []hostapi.EV, err error) {
	m := memory(evAttr{})
	if err := call(d.lib, evProfiles.query, d.at.context, id, m, evAll); err != nil {
		return nil, nil, err
	}
	var a evAttr
	into(m, &a)
	if a.State != stateOnline {
		return nil, nil, nil
	}
	p := *want
	p.Mode, p.Count, p.MinActive = hostapi.Mode(0), int(a.Count), int(a.MinActive)
	p.Events, p.EVs, p.Denied = a.EventMask != 0, nil, nil
	if format := d.formats[formatName(want)]; a.Mode == modeNumber(want.Mode) &&
		(want.Mode == hostapi.ModeAuto || format != nil && format.id == a.Format) {
		p.Mode = want.Mode
	}
	if p.Mode != want.Mode || p.Mode == hostapi.ModeAuto {
		return &p, nil, nil
	}
	held := make([]evField, hostapi.MaxFields)
	a = evAttr{Fields: operation{Op: opQueryFields, Count: int32(len(held))}}
	m, array := memory(a), memory(held)
	m.Points = map[int]*clib.Memory{evFieldsAt: array}
	if err := call(d.lib, evProfiles.query, d.at.context, id, m, evFieldsOp); err != nil {
		return nil, nil, err
	}
	into(m, &a)
	into(array, held)
	if !slices.Equal(held[:a.Fields.Count], fields(want)) {
		p.Mode = 0
		return &p, nil, nil
	}
	evs := make([]evEntry, p.Count)
	a = evAttr{EVs: operation{Op: opQueryArray, Count: int32(len(evs))}}
	m, array = memory(a), memory(evs)
	m.Points = map[int]*clib.Memory{evEVsAt: array}
	if err := call(d.lib, evProfiles.query, d.at.context, id, m, evOp); err != nil {
		return nil, nil, err
	}
	into(array, evs)
	var denied []hostapi.EV
	for _, e := range evs {
		v := e.EV
		switch e.State {
		case stateOf(hostapi.EVDenied):
			denied = append(denied, v)
		case stateOf(hostapi.EVAssumedBad):
			bad = append(bad, v)
		}
		if p.Mode == hostapi.ModeExplicit {
			p.EVs = append(p.EVs, v)
		}
	}
	q := p.WithDenied(denied)
	q.Denied = slices.Compact(q.Denied)
	return q, bad, nil
}

// modeNumber is the number of a mode of profiles or formats.
func modeNumber[M ~uint8](m M) uint32 { return 1 << (m - 1) }

// formatName names a format of the device.
func formatName(p *hostapi.Profile) string { return fmt.Sprint(p.Format.Mode, p.Format.Widths) }
