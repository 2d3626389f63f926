package northbound

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// Values of the parameter consistency.
const (
	consistencyParam        = "consistency"
	consistencyLinearizable = "linearizable"
	consistencyStale        = "stale"
)

// staleNote is the document's text about stale reads.
const staleNote = "With consistency=stale, any controller answers by itself with what it has " +
	"read of the store, also while no controller decides: " +
	"version, spec and time of creation, and an empty status, which the store does not have. " +
	"Weft-Consistency labels such an answer, and Age says how old it is at most."

// Consistency defines what a reading may be. It is exported because huma passes over other embedded
// types.
type Consistency struct {
	Consistency string `query:"consistency" enum:"linearizable,stale" default:"linearizable" doc:"linearizable: the answer has every change that was acknowledged before. stale: it may lack some, and any controller gives it."`
}

// unlabelled refuses a stale reading where there is no view of the store.
func (c Consistency) unlabelled() error {
	if c.Consistency == consistencyStale {
		return newProblem(codeNoSection, "this server has no view of the store of its own")
	}
	return nil
}

// StaleLabel defines the header fields of a stale answer. The type is exported because huma skips
// unexported embedded types.
type StaleLabel struct {
	Consistency string `header:"Weft-Consistency" doc:"stale, in an answer to consistency=stale."`
	Age         string `header:"Age" doc:"Of a stale answer: how old it is at most, in seconds. It has every change that was acknowledged before."`
	Revision    string `header:"Weft-Store-Revision" doc:"Of a stale answer: the revision of the store that it is of."`
}

// label returns the label of a reading at a revision of the store. at is the time of the question
// to the store; zero: the store was not read yet.
func (s *Server) label(revision int64, at time.Time) (StaleLabel, error) {
	if at.IsZero() {
		return StaleLabel{}, newProblem(codeStore,
			"this controller has not read the store since it started")
	}
	age := max(0, math.Ceil(s.cfg.Now().Sub(at).Seconds()))
	return StaleLabel{consistencyStale, strconv.FormatFloat(age, 'f', 0, 64),
		strconv.FormatInt(revision, 10)}, nil
}

// Reading is the resources of a kind as the store had them.
type Reading struct {
	// Items are in any order, and must not be changed.
	Items    []any
	Revision int64
	// At is when the controller asked the store: Items has all changes acknowledged before. Zero: the
	// controller has not read the store yet.
	At time.Time
}

// Kept has the last reading of each kind of resources that clients create. Its functions are called
// from many goroutines.
type Kept struct {
	Kinds []KeptKind
	// Members holds the projects with their members, from the same reading as the projects.
	Members func() *access.Projects
}

// KeptKind is a kind with its last reading.
type KeptKind struct {
	*kind.Kind
	Last func() Reading
}

// NewStale makes the server for requests with consistency=stale. Answers depend only on this
// controller's reading of the store. The server admits the principals that other servers admit, as
// far as this controller knows the users, tokens and projects.
func NewStale(cfg Config, kept Kept) (*Server, error) {
	cfg.Current = nil
	s, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	s.members = kept.Members
	s.engine.missing, s.engine.other = s.noStale, s.noStale
	for _, k := range kept.Kinds {
		(&collection{Kind: k.Kind, server: s, last: k.Last}).registerKept()
		s.stale = append(s.stale, k.Nouns)
	}
	return s, nil
}

// noStale refuses stale reads of data outside of the store, and all operations other than reads.
func (s *Server) noStale(c *exchange) {
	last := len(s.stale) - 1
	want := "linearizable, or none: a stale reading is a GET of one of, or of the list of, " +
		strings.Join(s.stale[:last], ", ") + " or " + s.stale[last]
	if !isRead(c.Request) {
		want = "none: a change is made by the controller that decides"
	}
	f := api.FieldError{Field: "query." + consistencyParam, Code: api.CodeInvalid,
		Value: clip(c.Query(consistencyParam), maxValueText), Want: want}
	c.refuse(newProblem(string(api.CodeInvalid), fmt.Sprintf("%s %s: %s", c.Request.Method,
		clip(c.Request.URL.Path, maxFieldText), f.Error()), f))
}

// asksOtherwise reports whether a request asks for another consistency than the one that only the
// controller that decides can give: a stale answer, or what there is not.
func asksOtherwise(r *http.Request) bool {
	return strings.Contains(r.URL.RawQuery, consistencyParam) &&
		slices.ContainsFunc(r.URL.Query()[consistencyParam], func(v string) bool {
			return v != "" && v != consistencyLinearizable
		})
}
