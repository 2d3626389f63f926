package hostapi

import (
	pb "github.com/weft-sdn/weft/api/hostapi/hostpb"
)

// maxParts bounds the parts of one update.
const maxParts = 1 << 16

// An Assembler puts the parts of updates together. The zero value is ready; a new stream needs a
// new one.
type Assembler struct {
	current *Update // nil between updates
	parts   uint32
	refused *FieldError // of a part that came, or nil
}

// Add takes the next part. It returns nil until the update is whole; then the update, and what was
// wrong with the first part that does not decode: such an update is to be refused. lost reports
// that the parts of another update went before, and were never completed: the stream breaks the
// rules, and is best begun anew.
func (a *Assembler) Add(m *pb.Update) (u *Update, lost bool, err error) {
	part := &Update{}
	problem := part.decode(m)
	if a.current == nil {
		if m.GetPart() != 0 {
			return nil, true, nil
		}
		a.current, a.parts, a.refused = &Update{Version: part.Version, Base: part.Base}, 0, nil
	}
	if part.Version != a.current.Version || part.Base != a.current.Base || m.GetPart() != a.parts ||
		a.parts >= maxParts {
		a.current = nil
		return nil, true, nil
	}
	a.parts++
	if a.refused == nil {
		a.refused = problem
	}
	if a.refused == nil {
		a.current.Delta.append(&part.Delta)
	}
	if !m.GetLast() {
		return nil, false, nil
	}
	u, a.current = a.current, nil
	if a.refused != nil {
		return u, false, a.refused
	}
	return u, false, nil
}

// append adds the lists of another part.
func (d *Delta) append(e *Delta) {
	d.SetProfiles = append(d.SetProfiles, e.SetProfiles...)
	d.RemoveProfiles = append(d.RemoveProfiles, e.RemoveProfiles...)
	d.Change = append(d.Change, e.Change...)
	d.SetCC = append(d.SetCC, e.SetCC...)
	d.RemoveCC = append(d.RemoveCC, e.RemoveCC...)
	if e.DeniedPorts != nil {
		d.DeniedPorts = e.DeniedPorts
	}
	if e.Wire != nil {
		d.Wire = e.Wire
	}
	if e.Hints != nil {
		d.Hints = e.Hints
	}
	d.SetPeers = append(d.SetPeers, e.SetPeers...)
	d.RemovePeers = append(d.RemovePeers, e.RemovePeers...)
}
