package hostapi

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/proto"

	pb "github.com/weft-sdn/weft/api/hostapi/hostpb"
)

// keptMark begins a kept state, with the number of its form.
const keptMark = "weft host state 1\n"

// ErrKept is a kept state that cannot be read.
var ErrKept = errors.New("kept state")

// EncodeKept encodes a state and its version for storage by a device, so that the controller's
// configuration survives the device's end (OCP MRC 1.0, section 10.2.2). The encoding is the update
// from the empty state to the state, sealed.
func EncodeKept(v Version, s *State) ([]byte, error) {
	body, err := proto.Marshal(Parts(&Update{Version: v, Delta: Diff(&State{}, s, false)},
		math.MaxInt)[0])
	if err != nil {
		return nil, err
	}
	return Seal(keptMark, body), nil
}

// Seal is a mark, the SHA-256 of a body, and the body, for Unseal.
func Seal(mark string, body []byte) []byte {
	sum := sha256.Sum256(body)
	return bytes.Join([][]byte{[]byte(mark), sum[:], body}, nil)
}

// Unseal returns the body sealed by Seal with a mark, or an error if the mark differs or the body
// has changed since Seal.
func Unseal(mark string, b []byte) (body []byte, err error) {
	rest, ok := bytes.CutPrefix(b, []byte(mark))
	if !ok || len(rest) < sha256.Size {
		return nil, errors.New("it does not begin as one of this release")
	}
	body = rest[sha256.Size:]
	if sha256.Sum256(body) != [sha256.Size]byte(rest) {
		return nil, errors.New("it is damaged, or not whole")
	}
	return body, nil
}

// DecodeKept reads what EncodeKept wrote: the update that makes the state of nothing. Errors wrap
// ErrKept.
func DecodeKept(b []byte) (*Update, error) {
	body, err := Unseal(keptMark, b)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKept, err)
	}
	m := &pb.Update{}
	if err := proto.Unmarshal(body, m); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKept, err)
	}
	u, lost, err := new(Assembler).Add(m)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrKept, err)
	case lost || u == nil || u.Base != (Version{}):
		return nil, fmt.Errorf("%w: it is no whole state", ErrKept)
	}
	return u, nil
}
