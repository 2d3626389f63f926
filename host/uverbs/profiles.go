//go:build linux

package uverbs

import (
	"errors"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/nic"
)

// profiles holds the formats, EV profiles and CC profiles configured by mrc_ctl, by id, without
// objects in the state INIT. The objects belong to the NIC, not to the process that made the
// objects.
type profiles struct {
	server  *Server
	formats map[uint64]*format
	evs     map[uint64]*evProfile
	ccs     map[uint64]*ccProfile
}

// A format is an EV format profile.
type format struct {
	State uint32
	Is    hostapi.Format
}

// An evProfile is an EV profile. EVs, in mode EXP, has Count places; a place with the zero EV is
// unpopulated. Denied is sorted.
type evProfile struct {
	State, MinActive, EventMask uint32
	Mode                        hostapi.Mode
	Format                      uint64
	Count                       uint32
	Fields                      []hostapi.Field
	EVs, Denied                 []hostapi.EV
}

// A ccProfile is a CC profile; no Algorithm: queue pairs have no congestion control.
type ccProfile struct {
	State     uint32
	Algorithm string
	NSCC      hostapi.NSCC
	Set       bool // NSCC is
}

// Limits of what mrc_ctl may configure.
const (
	maxLocalFormats  = 1024
	maxLocalProfiles = 1024
	maxLocalCC       = hostapi.MaxCCProfiles / 2
)

// controllerIDs is the first id of objects configured by a controller, and maxID is the greatest
// id, because JSON documents hold no greater integers exactly.
const (
	controllerIDs = 1 << 52
	maxID         = 1<<53 - 1
)

// ControllerID returns the id of a profile set by the controller: a hash of its name (FNV-1a), so
// that applications know the id beforehand. Applications choose the profile, and mrc_ctl reads the
// profile, by this id.
func ControllerID(name string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return controllerIDs | h.Sum64()&(controllerIDs-1)
}

// formatID returns the id of a format set by the controller; formats have no names.
func formatID(f hostapi.Format) uint64 {
	return ControllerID(f.Mode.String() + string(f.Widths))
}

// localID reports whether mrc_ctl may give a profile of an id; 0 is the NIC's choice.
func localID(id uint64) bool { return id > 0 && id < controllerIDs }

func newProfiles(s *Server) *profiles {
	return &profiles{server: s, formats: make(map[uint64]*format), evs: make(map[uint64]*evProfile),
		ccs: make(map[uint64]*ccProfile)}
}

// given holds the profiles that the controller has configured.
func (c *profiles) given() *hostapi.State { return c.server.cfg.NIC.State() }

func (c *profiles) givenEVs(id uint64) *hostapi.Profile {
	for _, p := range c.given().Profiles {
		if ControllerID(p.Name) == id {
			return p
		}
	}
	return nil
}

func (c *profiles) givenCC(id uint64) *hostapi.CCProfile {
	for _, p := range c.given().CC {
		if ControllerID(p.Name) == id {
			return p
		}
	}
	return nil
}

func (c *profiles) givenFormat(id uint64) *hostapi.Format {
	for _, p := range c.given().Profiles {
		if p.Mode != hostapi.ModeAuto && formatID(p.Format) == id {
			return &p.Format
		}
	}
	return nil
}

// refuseGiven returns the reason why mrc_ctl must not change an object with an id outside its
// range.
func (c *profiles) refuseGiven(there bool) error {
	if there {
		return unix.EBUSY
	}
	return unix.EINVAL
}

// step reports whether a profile may go from one state to another.
func step(from, to uint32) bool {
	return to <= profileOnline && (to == from || to == from+1 || from == to+1)
}

// begin checks the common part of requests about all kinds of profiles, and returns the new state
// of the profile.
func begin(state, mask, cur, to uint32, vendor *[128]byte) (uint32, error) {
	switch {
	case mask&maskCurState != 0 && cur != state, mask&maskVendor != 0 && *vendor != [128]byte{}:
		return 0, unix.EINVAL
	case mask&maskState == 0:
		return state, nil
	case !step(state, to):
		return 0, unix.EINVAL
	}
	return to, nil
}

// errnoOf is what a program is told when the NIC refuses a state.
func errnoOf(err error) error {
	var field *hostapi.FieldError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &field) && field.Code == hostapi.CodeBusy:
		return unix.EBUSY
	}
	return unix.EINVAL
}

// hold gives the NIC what is ONLINE.
func (c *profiles) hold() error {
	var s hostapi.State
	for id, e := range c.evs {
		if e.State != profileOnline {
			continue
		}
		p, err := c.made(id, e)
		if err != nil {
			return err
		}
		s.Profiles = append(s.Profiles, p)
	}
	for id, cc := range c.ccs {
		if cc.State == profileOnline && cc.Algorithm != "" {
			s.CC = append(s.CC, &hostapi.CCProfile{Name: nic.LocalName(id), Algorithm: cc.Algorithm,
				NSCC: cc.NSCC})
		}
	}
	return errnoOf(c.server.cfg.NIC.ApplyLocal(&s))
}

// put replaces a profile in a map, and applies the change to the NIC; after an error everything
// stays unchanged. nil removes the profile.
func put[P any](c *profiles, in map[uint64]*P, id uint64, p *P) error {
	was, there := in[id]
	if p == nil {
		delete(in, id)
	} else {
		in[id] = p
	}
	err := c.hold()
	if err != nil && there {
		in[id] = was
	} else if err != nil {
		delete(in, id)
	}
	return err
}

// made is an EV profile as the NIC takes it.
func (c *profiles) made(id uint64, e *evProfile) (*hostapi.Profile, error) {
	p := &hostapi.Profile{Name: "local", Mode: e.Mode, Count: int(e.Count), EVs: e.EVs,
		Denied: e.Denied, MinActive: int(e.MinActive), Events: e.EventMask != 0}
	if e.Mode != hostapi.ModeAuto {
		f := c.formats[e.Format]
		if f == nil || f.State != profileOnline {
			return nil, unix.EINVAL
		}
		p.Format, p.Fields = f.Is, e.Fields
	}
	if err := p.Validate(); err != nil {
		return nil, unix.EINVAL
	}
	p.Name = nic.LocalName(id)
	return p, nil
}

// users is how many queue pairs have chosen a profile.
func (s *Server) users(of func(*qpAttr) uint64, id uint64) (n int) {
	for p := range s.processes {
		for _, q := range p.qps {
			if of(&q.attr) == id {
				n++
			}
		}
	}
	return n
}

func evChoice(a *qpAttr) uint64 { return a.EVProfile }
func ccChoice(a *qpAttr) uint64 { return a.CCProfile }

// choice is the profiles that a queue pair asks for: EINVAL unless they are ONLINE. 0 is the NIC's
// choice.
func (s *Server) choice(a *qpAttr) (out nic.Choice, err error) {
	c := s.profiles
	if id := a.EVProfile; id != 0 {
		if e, given := c.evs[id], c.givenEVs(id); e != nil && e.State == profileOnline {
			out.EV = nic.LocalName(id)
		} else if given != nil {
			out.EV = given.Name
		} else {
			return out, unix.EINVAL
		}
	}
	if id := a.CCProfile; id != 0 {
		switch cc, given := c.ccs[id], c.givenCC(id); {
		case cc != nil && cc.State == profileOnline && cc.Algorithm == "":
			out.CC = nic.NoCC
		case cc != nil && cc.State == profileOnline:
			out.CC = nic.LocalName(id)
		case given != nil:
			out.CC = given.Name
		default:
			return out, unix.EINVAL
		}
	}
	return out, nil
}

// modifyFormat carries out mrc_ctl_modify_ev_fmt_profile.
func (c *profiles) modifyFormat(m *ctlFormat) error {
	if !localID(m.ID) {
		return c.refuseGiven(c.givenFormat(m.ID) != nil)
	}
	next := &format{}
	if was := c.formats[m.ID]; was != nil {
		*next = *was
	}
	to, err := begin(next.State, m.Mask, m.CurState, m.State, &m.Vendor)
	if err != nil {
		return err
	}
	attributes := m.Mask & (formatMode | formatFields)
	if m.Mask&^(formatMode|formatFields|maskAll) != 0 {
		return unix.EINVAL
	}
	switch from := next.State; {
	case attributes != 0 && (from == profileOnline || to == profileInit),
		from == profileInit && to == profileOffline && attributes&formatMode == 0:
		return unix.EINVAL
	case from == profileInit && to == profileOffline && len(c.formats) >= maxLocalFormats:
		return unix.ENOMEM
	case from == profileOnline && to == profileOffline && c.usesFormat(m.ID):
		return unix.EBUSY
	case to == profileInit:
		delete(c.formats, m.ID)
		return nil
	}
	if attributes&formatMode != 0 {
		if next.Is.Mode = modeOf[hostapi.FormatMode](m.Mode); next.Is.Mode == 0 {
			return unix.EINVAL
		}
	}
	if attributes&formatFields != 0 {
		if m.Op != opModifyFields {
			return unix.EINVAL
		}
		if m.Count > hostapi.MaxFields {
			return unix.E2BIG
		}
		next.Is.Widths = slices.Clone(m.Width[:m.Count])
	}
	if next.Is.Bits() > next.Is.Mode.MaxBits() {
		return unix.E2BIG
	}
	if slices.Contains(next.Is.Widths, 0) || to == profileOnline && len(next.Is.Widths) == 0 {
		return unix.EINVAL
	}
	next.State = to
	c.formats[m.ID] = next
	return nil
}

// usesFormat reports whether an EV profile that is ONLINE has a format.
func (c *profiles) usesFormat(id uint64) bool {
	for _, e := range c.evs {
		if e.State == profileOnline && e.Mode != hostapi.ModeAuto && e.Format == id {
			return true
		}
	}
	return false
}

// queryFormat carries out mrc_ctl_query_ev_fmt_profile.
func (c *profiles) queryFormat(id uint64) (*ctlFormat, error) {
	m := &ctlFormat{ID: id}
	var f hostapi.Format
	if given := c.givenFormat(id); given != nil {
		m.State, f = profileOnline, *given
	} else if !localID(id) {
		return nil, unix.EINVAL
	} else if own := c.formats[id]; own != nil {
		m.State, f = own.State, own.Is
	}
	if f.Mode != 0 {
		m.Mode = modeNumber(f.Mode)
	}
	m.Count = uint32(copy(m.Width[:], f.Widths))
	return m, nil
}

// modifyCC carries out mrc_ctl_modify_cc_profile.
func (c *profiles) modifyCC(m *ctlCC) error {
	if !localID(m.ID) {
		return c.refuseGiven(c.givenCC(m.ID) != nil)
	}
	next := &ccProfile{}
	if was := c.ccs[m.ID]; was != nil {
		*next = *was
	}
	to, err := begin(next.State, m.Mask, m.CurState, m.State, &m.Vendor)
	if err != nil {
		return err
	}
	attributes := m.Mask & (ccAlgorithm | ccConfig)
	if m.Mask&^(ccAlgorithm|ccConfig|maskAll) != 0 {
		return unix.EINVAL
	}
	switch from := next.State; {
	case attributes != 0 && to == profileInit, attributes&ccAlgorithm != 0 && from == profileOnline,
		attributes != 0 && from == profileOnline && to == profileOffline,
		from == profileInit && to == profileOffline && attributes&ccAlgorithm == 0:
		return unix.EINVAL
	case from == profileInit && to == profileOffline && len(c.ccs) >= maxLocalCC:
		return unix.ENOMEM
	case from == profileOnline && to == profileOffline && c.server.users(ccChoice, m.ID) > 0:
		return unix.EBUSY
	case to == profileInit:
		return put(c, c.ccs, m.ID, nil)
	}
	if attributes&ccAlgorithm != 0 {
		next.Algorithm = strings.TrimRight(string(m.Algorithm[:]), "\x00")
		if next.Algorithm != "" && next.Algorithm != hostapi.AlgorithmNSCC {
			return unix.EINVAL
		}
	}
	if attributes&ccConfig != 0 {
		next.NSCC, next.Set = m.nscc(), true
	}
	if next.Algorithm != "" && (next.Set || to == profileOnline) {
		if made := (hostapi.CCProfile{Name: "local", Algorithm: next.Algorithm,
			NSCC: next.NSCC}); made.Validate() != nil || !next.Set {
			return unix.EINVAL
		}
	}
	next.State = to
	return put(c, c.ccs, m.ID, next)
}

// queryCC carries out mrc_ctl_query_cc_profile.
func (c *profiles) queryCC(id uint64) (*ctlCC, error) {
	m := &ctlCC{ID: id}
	if given := c.givenCC(id); given != nil {
		m.State = profileOnline
		copy(m.Algorithm[:], given.Algorithm)
		m.put(&given.NSCC)
		return m, nil
	}
	if !localID(id) {
		return nil, unix.EINVAL
	}
	if own := c.ccs[id]; own != nil {
		m.State = own.State
		copy(m.Algorithm[:], own.Algorithm)
		m.put(&own.NSCC)
	}
	return m, nil
}

// device is what mrc_ctl may configure.
func (c *profiles) device(d *ctlDevice) {
	is := c.server.cfg.NIC.Capabilities()
	d.MaxFormats, d.MaxProfiles = maxLocalFormats, maxLocalProfiles
	d.MaxCount, d.FreeCount = uint32(is.EVMaxCount), uint32(max(0, c.free()))
	d.MaxCountProfile, d.CountAlign = uint32(is.EVMaxCountProfile), uint32(is.EVCountAlign)
	d.MaxWidth, d.Formats, d.Modes = uint32(is.EVMaxWidth), uint32(is.EVFormatModes),
		uint32(is.EVModes)
	d.MaxCC, d.Options = maxLocalCC, is.OptAttr
}

// free is the EVs that no profile has.
func (c *profiles) free() int {
	n := c.server.cfg.NIC.Capabilities().EVMaxCount - c.given().EVCount()
	for _, e := range c.evs {
		n -= int(e.Count)
	}
	return n
}

// idOf is the id of a profile of a name.
func idOf(name string) uint64 {
	if digits, local := strings.CutPrefix(name, hostapi.LocalMark); local {
		id, _ := strconv.ParseUint(digits, 10, 64) // it is one of ours
		return id
	}
	return ControllerID(name)
}

// sorted are the ids of a map in order.
func sorted[P any](m map[uint64]*P) []uint64 { return slices.Sorted(maps.Keys(m)) }
