package target

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"

	"github.com/weft-sdn/weft/api"
)

// Hardware is a chip or a switch model with a known fault or limit.
type Hardware string

// quirk is a deviation of hardware from the settings.
type quirk struct {
	// paddedTransit: a packet is dropped in transit when the uSID behind the active one is 0.
	paddedTransit bool
	// What is left of a trimmed packet, in octets; 0 for both: it does not trim.
	leastTrim, mostTrim int
	// trimQueue: the queue of trimmed packets is fixed.
	trimQueue bool
	// noSRv6: no test shows that it forwards by local SIDs.
	noSRv6 bool
	// failsSRv6 and trimNeeds come from users of SONiC: an issue about the SRv6 test, and the extra
	// setting that trimming needs.
	failsSRv6, trimNeeds string
	source               string
}

// quirks lists known faults and limits of hardware, and of the software that replaces hardware in
// virtual switches. Sources: Arista's release note 1294522, the tables of sonic-mgmt's tests of
// trimming and SRv6 (August 2026), and issues of SONiC.
var quirks = map[Hardware]*quirk{
	"arista-7060x6": {paddedTransit: true, leastTrim: 206, mostTrim: 206, trimQueue: true,
		failsSRv6: "sonic-mgmt#26216", source: "Arista's release note 1294522"},
	"tomahawk-5": {leastTrim: 206, mostTrim: 206, trimQueue: true},
	"spectrum-4": {leastTrim: 256, mostTrim: 4084},
	"spectrum-5": {leastTrim: 256, mostTrim: 4084},
	"sn5600": {leastTrim: 256, mostTrim: 4084,
		trimNeeds: "SAI_ADAPTIVE_ROUTING_CIRCULATION_PORT=257 in sai.profile (sonic-buildimage#22275)"},
	"spectrum-1": {noSRv6: true},
	"spectrum-2": {noSRv6: true},
	"spectrum-3": {noSRv6: true},
	"trident-3":  {noSRv6: true},
	"tomahawk-1": {noSRv6: true},
	"tomahawk-2": {noSRv6: true},
	"cisco-8000": {noSRv6: true},
	"sonic-vs":   {noSRv6: true},
	"sonic-vpp":  {},
}

// AllHardware returns the hardware of which something is known, in order.
func AllHardware() []Hardware { return slices.Sorted(maps.Keys(quirks)) }

// TrimSize returns the least size, of least octets or more, that all of some hardware trims packets
// to; ok is false when there is none. Hardware of which nothing is known, or that does not trim,
// takes any.
func TrimSize(all []Hardware, least uint16) (size uint16, ok bool) {
	fit, most := int(least), math.MaxUint16
	for _, h := range all {
		if q := quirks[h]; q != nil && q.mostTrim > 0 {
			fit, most = max(fit, q.leastTrim), min(most, q.mostTrim)
		}
	}
	return uint16(fit), fit <= most
}

// Severity is how bad a finding is.
type Severity string

// Severities.
const (
	// Cannot: the device lacks the feature, and its configuration leaves the feature out.
	Cannot Severity = "cannot"
	// Wrong: the configuration has it, and the device does something else.
	Wrong Severity = "wrong"
	// Doubtful: nobody is known to have seen it work.
	Doubtful Severity = "doubtful"
)

// A Finding is a part of a model that a device cannot do, or does wrong.
type Finding struct {
	Severity Severity
	Feature  Feature
	Text     string
}

// Whole reports whether findings leave a configuration that does all that the model says.
func Whole(all []Finding) bool {
	return !slices.ContainsFunc(all, func(f Finding) bool { return f.Severity != Doubtful })
}

// Lint returns the parts of a model that a device cannot do or does wrong: first the limits of the
// system, then the faults of the hardware.
func (d *Device) Lint(m *api.SwitchModel) []Finding {
	l := lint{d: d, m: m}
	for _, f := range Needs(m) {
		if ok, reason := d.Can(f); !ok {
			l.find(Cannot, f, reason+l.whose(f))
		}
	}
	if d.System == Cumulus && m.Locator != nil && m.Locator.BlockBits == 32 {
		if l.has(api.BehaviorUA) {
			l.find(Doubtful, UA, "uA: the manual of Cumulus Linux 5.14 names blocks of 16 bits only, "+
				"and the fabric has one of 32")
		}
	}
	if d.System == Cumulus && l.parallel() != "" {
		l.find(Wrong, Routes, "static IPv6 route: Cumulus Linux has a next hop once, and "+l.parallel()+
			" has one over several ports: only the last counts")
	}
	switch d.System {
	case SONiC:
		l.sonic()
	case Linux:
		l.linux()
	}
	l.hardware()
	return l.out
}

// between reports whether the version of the device is known, at least from, and before to.
func (l *lint) between(from, to string) bool {
	v := versionOf(l.d.Version)
	return !newest(l.d.Version) && slices.Compare(v, versionOf(from)) >= 0 &&
		slices.Compare(v, versionOf(to)) < 0
}

// sonic finds faults of SONiC releases. Sources: the named issues of sonic-buildimage, bgpcfgd
// (managers_srv6.py), and the tests of sonic-mgmt (August 2026).
func (l *lint) sonic() {
	sids := l.d.SIDs(l.m)
	if len(sids) > 0 && l.between("202505", "202511") {
		l.find(Wrong, UN, "uN: SONiC 202505 leaves local SIDs alone until somebody makes a device sr0 "+
			"(ip link add sr0 type dummy; sonic-buildimage#23585)")
	}
	if len(sids) > 1 && l.between("202511", "202605") {
		l.find(Doubtful, UN, "uN: SONiC 202511 was seen to bring one of several local SIDs to APPL_DB "+
			"only (sonic-buildimage#24938)")
	}
	if stray := l.stray(sids); stray != "" {
		l.find(Wrong, UN, "uN: "+stray+": bgpcfgd leaves it out, and tells its log only")
	}
	q := quirks[l.d.Chip]
	if q == nil {
		return
	}
	if ok, _ := l.d.Can(UA); ok && l.has(api.BehaviorUA) {
		l.find(Doubtful, UA, "uA: SONiC has no test of it on any hardware")
	}
	if l.has(api.BehaviorUDT6) {
		l.find(Doubtful, UDT6, "uDT6: SONiC tests it on virtual switches alone")
	}
	can, _ := l.d.Can(Trimming)
	if l.m.Trimming != nil && can && q.mostTrim > 0 {
		if l.between("202505", "202511") {
			l.find(Doubtful, Trimming, "packet trimming: SONiC tests it from 202511 on")
		}
		if l.has(api.BehaviorUDT6) {
			l.find(Doubtful, Trimming, "packet trimming: SONiC's test plan leaves out packets whose tunnel "+
				"ends at the switch, as at the last hop")
		}
	}
}

// stray returns a local SID outside the block of the locator, or a uN outside the locator; "" if
// there is none.
func (l *lint) stray(sids []api.ModelSID) string {
	loc := l.m.Locator
	if loc == nil {
		return ""
	}
	block := netip.PrefixFrom(loc.Prefix.Addr(), loc.BlockBits).Masked()
	for _, s := range sids {
		switch {
		case !block.Contains(s.Prefix.Addr()):
			return fmt.Sprintf("SID %v is outside of the block %v", s.Prefix, block)
		case s.Behavior == api.BehaviorUN && !loc.Prefix.Contains(s.Prefix.Addr()):
			return fmt.Sprintf("SID %v is outside of the locator %v", s.Prefix, loc.Prefix)
		}
	}
	return ""
}

// linux finds what older kernels do not take: the agent then lacks the SID.
func (l *lint) linux() {
	if !l.between("6.6", "6.17") {
		return
	}
	for _, s := range l.m.SIDs {
		if s.Hop != nil && s.Hop.Address.IsLinkLocalUnicast() {
			l.find(Wrong, UA, fmt.Sprintf("uA over a link-local address needs Linux 6.17 or later; "+
				"%s runs %s", l.d.Name, l.d.Version))
			return
		}
	}
}

// parallel returns a route with one next hop over several ports; "": there is none.
func (l *lint) parallel() string {
	for _, r := range l.m.Routes {
		for i, h := range r.Hops {
			if h.Address.IsValid() && slices.ContainsFunc(r.Hops[:i], func(o api.ModelHop) bool {
				return o.Address == h.Address
			}) {
				return "the route to " + r.Prefix.String()
			}
		}
	}
	return ""
}

// Needs returns the features that a model asks of a system, each once.
func Needs(m *api.SwitchModel) (out []Feature) {
	need := func(f Feature, needed bool) {
		if needed && !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	for _, s := range m.SIDs {
		need(behaviors[s.Behavior], true)
	}
	need(Block16, m.Locator != nil && m.Locator.BlockBits == 16)
	need(SRH, m.Mode == modeSRH)
	need(StructuredEV, m.Mode == modeStructuredEV)
	need(FlowHash, len(m.Hash) > 0)
	need(Routes, len(m.Routes) > 0)
	need(QoS, len(m.Classes) > 0)
	need(ECN, slices.ContainsFunc(m.Queues, func(q api.ModelQueue) bool { return q.ECN != nil }))
	need(Trimming, m.Trimming != nil)
	need(TrimLastHop, m.Trimming != nil && m.Trimming.DSCP != m.Trimming.DSCPLastHop)
	for _, x := range m.Extras {
		f, ok := extras[x.Feature]
		need(f, ok)
	}
	return out
}

// Modes of an MRC fabric that matter here.
const (
	modeSRH          = "usid-srh"
	modeStructuredEV = "stev"
)

type lint struct {
	d   *Device
	m   *api.SwitchModel
	out []Finding
}

func (l *lint) find(s Severity, f Feature, text string) {
	if s == Cannot && f == TrimLastHop {
		if ok, _ := l.d.Can(Trimming); !ok {
			return // said already
		}
	}
	l.out = append(l.out, Finding{s, f, text})
}

var extras = map[string]Feature{
	api.ExtraMulticast: Multicast, api.ExtraPFC: PFCOverSRv6,
}

// whose returns the objects that need a feature, where the model names them.
func (l *lint) whose(f Feature) string {
	var objects []string
	for _, x := range l.m.Extras {
		if extras[x.Feature] == f {
			objects = append(objects, x.Object)
		}
	}
	if len(objects) == 0 {
		return ""
	}
	return " (" + strings.Join(objects, ", ") + ")"
}

func (l *lint) has(behavior string) bool {
	return slices.ContainsFunc(l.m.SIDs, func(s api.ModelSID) bool { return s.Behavior == behavior })
}

const dropsPadded = "%s drops a packet in transit whose uSID behind the active one is 0 (%s), and "

// hardware finds what the chip does wrong.
func (l *lint) hardware() {
	q := quirks[l.d.Chip]
	if q == nil {
		return
	}
	chip := string(l.d.Chip)
	if q.noSRv6 && len(l.m.SIDs) > 0 {
		l.find(Wrong, UN, fmt.Sprintf("uN: no test shows that %s forwards by uSIDs", chip))
	}
	if q.failsSRv6 != "" && l.d.System == SONiC && len(l.m.SIDs) > 0 {
		l.find(Doubtful, UN, fmt.Sprintf("uN: SONiC's test of SRv6 was seen to fail on %s (%s)", chip,
			q.failsSRv6))
	}
	if q.paddedTransit && l.m.Mode == modeSRH {
		l.find(Wrong, SRH, fmt.Sprintf(dropsPadded, chip, q.source)+
			"in mode usid-srh the last uSID of the first container is followed by zeros")
	}
	if q.paddedTransit && l.padded() != "" {
		l.find(Wrong, UN, fmt.Sprintf(dropsPadded, chip, q.source)+l.padded())
	}
	t := l.m.Trimming
	if t == nil {
		return
	}
	if can, _ := l.d.Can(Trimming); !can {
		return
	}
	switch size := int(t.Octets); {
	case q.mostTrim == 0:
		l.find(Wrong, Trimming,
			fmt.Sprintf("packet trimming: %s accepts the setting and does nothing", chip))
	case q.leastTrim == q.mostTrim && size != q.leastTrim:
		l.find(Wrong, Trimming, fmt.Sprintf("packet trimming: %s trims to %d octets only, "+
			"and the fabric to %d (mrc.classes.trimSize)", chip, q.leastTrim, size))
	case size < q.leastTrim || size > q.mostTrim:
		l.find(Wrong, Trimming, fmt.Sprintf("packet trimming: %s trims to %d to %d octets, "+
			"and the fabric to %d (mrc.classes.trimSize)", chip, q.leastTrim, q.mostTrim, size))
	}
	if q.trimNeeds != "" && l.d.System == SONiC {
		l.find(Doubtful, Trimming, fmt.Sprintf("packet trimming: %s needs %s", chip, q.trimNeeds))
	}
	if q.trimQueue {
		l.find(Doubtful, Trimming, fmt.Sprintf("packet trimming: the queue of trimmed packets "+
			"is fixed on %s, which refuses another in its log only", chip))
	}
}

// padded returns which local SID of a model is 0 behind the block, or behind the switch's own uSID;
// "": none is.
func (l *lint) padded() string {
	loc := l.m.Locator
	if loc == nil {
		return ""
	}
	for _, s := range l.m.SIDs {
		octets := s.Prefix.Addr().As16()
		for bit := loc.BlockBits; bit+16 <= s.Prefix.Bits(); bit += 16 {
			if octets[bit/8] == 0 && octets[bit/8+1] == 0 {
				return fmt.Sprintf("SID %v has a uSID of 0", s.Prefix)
			}
		}
	}
	return ""
}

// Lines returns findings as lines for people.
func Lines(all []Finding) string {
	var b strings.Builder
	for _, f := range all {
		fmt.Fprintf(&b, "%s: %s\n", f.Severity, f.Text)
	}
	return b.String()
}
