package hostrun

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/host/verbs"
)

// Write is a file, or as many pseudo-random octets, that are sent by RDMA WRITE.
type Write struct {
	QPN     uint32       `yaml:"qpn" doc:"queue pair that sends" default:"the only one"`
	File    string       `yaml:"file" doc:"file to send by RDMA WRITE; writes of a queue pair run in order" default:"required without random"`
	Random  int          `yaml:"random" doc:"number of octets to send without a file: pseudo-random ones, the same in every process" default:"0"`
	RKey    uint32       `yaml:"rkey" doc:"destination in the peer's memory" default:"0"`
	VA      uint64       `yaml:"va" doc:"destination in the peer's memory" default:"0"`
	Message int          `yaml:"message" doc:"longest single WRITE in octets" default:"1048576"`
	Every   api.Duration `yaml:"every" doc:"time between the end of the write and the start of the next one of the same file; 0: the file is written once. Such a host does not end by itself" default:"0"`
}

const (
	defaultMessage = 1 << 20
	maxMessage     = 1 << 30
)

// Complete fills in defaults and checks the write with an index of a host that has these queue
// pairs. Its error is a *FieldError.
func (w *Write) Complete(i int, qpns []uint32) error {
	var faults []error
	at := fmt.Sprintf("writes[%d]", i)
	if w.QPN == 0 && len(qpns) == 1 {
		w.QPN = qpns[0]
	}
	if !slices.Contains(qpns, w.QPN) {
		faults = append(faults, Fault(at+".qpn", "%d is not one of queuePairs", w.QPN))
	}
	switch {
	case w.Random < 0 || w.Random > maxMessage:
		faults = append(faults, Fault(at+".random", "is %d: want 1 to %d octets", w.Random, maxMessage))
	case w.File == "" && w.Random == 0:
		faults = append(faults, Fault(at+".file",
			"is missing: want a file, or random with a number of octets"))
	case w.File != "" && w.Random != 0:
		faults = append(faults, Fault(at+".random", "is %d, and there is a file: want one of them",
			w.Random))
	}
	if w.Message == 0 {
		w.Message = defaultMessage
	}
	if w.Message < 1 || w.Message > maxMessage {
		faults = append(faults, Fault(at+".message", "is %d: want 1 to %d octets", w.Message, maxMessage))
	}
	if w.Every < 0 {
		faults = append(faults, Fault(at+".every", "is %v: want 0 or more", w.Every))
	}
	return errors.Join(faults...)
}

// octets returns what is sent.
func (w *Write) octets() ([]byte, error) {
	if w.Random == 0 {
		return os.ReadFile(w.File)
	}
	data := make([]byte, w.Random)
	_, err := rand.NewChaCha8([32]byte{}).Read(data)
	return data, err
}

// writing is a Write under way.
type writing struct {
	Write
	immediate        *uint32 // that goes with its last WRITE
	data             []byte
	posted, complete int           // octets of the present round
	rounds           int           // that are complete
	next             time.Duration // start of the next round; 0: one is under way, or none follows
	began, ended     time.Duration
	status           verbs.Status
}

func (w *writing) done() bool { return w.complete == len(w.data) && w.posted == len(w.data) }

// again begins the next round.
func (w *writing) again() { w.posted, w.complete, w.next, w.ended = 0, 0, 0, 0 }

// octets returns how many octets of all rounds were acknowledged.
func (w *writing) octets() uint64 {
	n := uint64(w.rounds) * uint64(len(w.data))
	if !w.done() {
		n += uint64(w.complete)
	}
	return n
}

// WriteReport has the outcome of a write.
type WriteReport struct {
	File    string  `json:"file"`   // empty: pseudo-random octets
	Octets  uint64  `json:"octets"` // acknowledged
	Rounds  int     `json:"rounds"` // complete writes of the file
	Seconds float64 `json:"seconds"`
	Status  string  `json:"status"` // "ok", "unfinished", or why it failed
	SHA256  string  `json:"sha256"` // of what was sent
}

// Writes reports the writes.
func (r *Runner) Writes(n Counts) (out []WriteReport) {
	for _, w := range r.writes {
		ended, status := w.ended, w.status.String()
		if ended == 0 {
			ended, status = n.SinceStart, "unfinished"
		}
		out = append(out, WriteReport{
			File: w.File, Octets: w.octets(), Rounds: w.rounds, Seconds: Seconds(ended - w.began),
			Status: status, SHA256: digest(w.data),
		})
	}
	return out
}
