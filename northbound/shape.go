package northbound

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/weft-sdn/weft/api"
)

// Bounds of bodies, whatever a schema allows: a client makes the server do no more than they say.
const (
	// maxOpenBody is the greatest body of an operation that asks for no credentials, in octets.
	maxOpenBody = 64 << 10
	// maxItems bounds an array, and maxLength a string in characters, of which the schema bounds
	// neither.
	maxItems  = 32 << 10
	maxLength = 4096
	// maxNumber bounds the octets of a number: a float64 has 24 at most.
	maxNumber = 64
	// maxParameters bounds the parameters of a query.
	maxParameters = 64
	// maxShapeFaults ends the search for faults: an answer lists no more faults.
	maxShapeFaults = maxFieldErrors + 1
	// bodyTime is how long a body may take to come.
	bodyTime = 5 * time.Second
	// contextEvery is the number of steps between checks whether the client is still connected.
	contextEvery = 1024
)

// fits reads the body of a request, checks the body against the schema of the operation, and
// answers faulty requests. huma would decode a body into maps and collect every fault with the
// whole object around the fault: here neither memory nor faults grow with a client's inventions.
// The body of a PATCH is no document of the operation: [patched] checks patches.
func (s *Server) fits(c *exchange, op *huma.Operation) bool {
	if n := strings.Count(c.Request.URL.RawQuery, "&") + 1; n > maxParameters {
		c.refuse(newProblem(string(api.CodeMalformed),
			fmt.Sprintf("the query has %d parameters: want at most %d", n, maxParameters)))
		return false
	}
	if op.RequestBody == nil {
		return true
	}
	// A deadline that stays behind a body would end the context of the connection, and of all its
	// requests, once the handler takes longer.
	_ = huma.SetReadDeadline(c.Writer, time.Now().Add(bodyTime)) // where the connection has one
	b, p := readBody(c.Request, op.MaxBodyBytes)
	if p == nil {
		_ = huma.SetReadDeadline(c.Writer, time.Time{})
	}
	if schema := bodySchema(op); schema != nil && p == nil && len(b) > 0 {
		p = s.shapeOf(c.Request, schema, b)
	}
	if p != nil {
		c.refuse(p)
		return false
	}
	c.Request.Body = io.NopCloser(bytes.NewReader(b))
	return true
}

// readBody reads a body of fewer octets than most.
func readBody(r *http.Request, most int64) ([]byte, *api.Problem) {
	if r.ContentLength >= most {
		return nil, shapeProblem(http.StatusRequestEntityTooLarge, "", most, nil)
	}
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(r.ContentLength) + bytes.MinRead) // with room for the read that finds the end
	}
	n, err := buf.ReadFrom(io.LimitReader(r.Body, most))
	var timeout interface{ Timeout() bool }
	switch {
	case n == most:
		return nil, shapeProblem(http.StatusRequestEntityTooLarge, "", most, nil)
	case errors.As(err, &timeout) && timeout.Timeout():
		return nil, shapeProblem(http.StatusRequestTimeout, "the body did not come in time", 0, nil)
	case err != nil:
		return nil, newProblem(string(api.CodeMalformed), "the body ended early: "+err.Error())
	}
	return buf.Bytes(), nil
}

// bodySchema returns the schema of an operation's body; nil: it has none.
func bodySchema(op *huma.Operation) *huma.Schema {
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return nil
	}
	return op.RequestBody.Content["application/json"].Schema
}

// shapeOf returns what is wrong with the body of a request.
func (s *Server) shapeOf(r *http.Request, schema *huma.Schema, b []byte) *api.Problem {
	var none struct{}
	if err := s.api.Unmarshal(r.Header.Get("Content-Type"), []byte("{}"), &none); err != nil {
		return shapeProblem(http.StatusUnsupportedMediaType, "", 0, nil)
	}
	return s.shaped(r.Context(), schema, b, false)
}

// shaped returns why b is not JSON that matches a schema, or a merge patch for a schema; nil: b
// matches. shaped blanks values in b that the schema ignores.
func (s *Server) shaped(
	ctx context.Context, schema *huma.Schema, b []byte, partial bool,
) *api.Problem {
	if !utf8.Valid(b) {
		return newProblem(string(api.CodeMalformed), "the body is not UTF-8 (RFC 8259, section 8.1)")
	}
	if !json.Valid(b) {
		var none json.RawMessage
		err := json.Unmarshal(b, &none)
		if partial {
			return newProblem(string(api.CodeMalformed), fmt.Sprintf("the patch is not JSON: %v", err))
		}
		return shapeProblem(http.StatusBadRequest, "", 0,
			[]error{&huma.ErrorDetail{Location: "body", Message: fmt.Sprint(err)}})
	}
	w := walked(ctx, s.api.OpenAPI().Components.Schemas, schema, b, partial)
	switch {
	case ctx.Err() != nil:
		return newProblem(codeTimeout, "the client has left, or the request took too long")
	case len(w.result.Errors) > 0:
		return shapeProblem(http.StatusUnprocessableEntity, "", 0, w.result.Errors)
	}
	return nil
}

// walked walks a valid JSON text along a schema.
func walked(
	ctx context.Context, schemas huma.Registry, schema *huma.Schema, b []byte, partial bool,
) *bodyWalk {
	w := &bodyWalk{ctx: ctx, schemas: schemas, partial: partial, b: b,
		path: append(make([]byte, 0, 128), "body"...)}
	w.space()
	w.value(schema)
	return w
}

// msgTwice is the fault of a field that an object has twice: readers differ on which one counts
// (RFC 8259, section 4).
const msgTwice = "the field is there twice"

// typeFaults has huma's words for a value of another type.
var typeFaults = map[string]string{
	huma.TypeBoolean: validation.MsgExpectedBoolean, huma.TypeNumber: validation.MsgExpectedNumber,
	huma.TypeInteger: validation.MsgExpectedInteger,
	huma.TypeString:  validation.MsgExpectedString, huma.TypeArray: validation.MsgExpectedArray,
	huma.TypeObject: validation.MsgExpectedObject,
}

// bodyWalk walks a valid JSON text along a schema. It decodes scalars and names alone, and leaves
// the rules of scalars to huma.
type bodyWalk struct {
	ctx     context.Context
	schemas huma.Registry
	// partial: the value is a merge patch (RFC 7396), which has any fields, and null for every one.
	partial bool
	b       []byte
	at      int
	path    []byte
	empty   huma.PathBuffer
	result  huma.ValidateResult
	steps   int // values and names so far
	ended   bool
}

// step counts a step. It reports whether the walk goes on: it ends with enough faults, and when its
// client has left.
func (w *bodyWalk) step() bool {
	w.steps++
	if len(w.result.Errors) >= maxShapeFaults || w.steps%contextEvery == 0 && w.ctx.Err() != nil {
		w.ended = true
	}
	return !w.ended
}

// fault adds a fault with an optional value, given by its octets.
func (w *bodyWalk) fault(message string, octets []byte) {
	d := &huma.ErrorDetail{Message: message, Location: string(w.path)}
	if octets != nil {
		d.Value = rawText(octets)
	}
	w.result.Errors = append(w.result.Errors, d)
}

// rawText is JSON of a client, in a fault.
type rawText []byte

// String returns the text for an answer: a short value in the form that this program would write,
// and otherwise the first octets.
func (t rawText) String() string {
	var v any
	if len(t) <= maxFieldText && json.Unmarshal(t, &v) == nil {
		return valueText(v)
	}
	return clip(string(t[:min(len(t), maxFieldText)]), maxValueText)
}

// space skips white space.
func (w *bodyWalk) space() {
	for w.at < len(w.b) {
		switch w.b[w.at] {
		case ' ', '\t', '\r', '\n':
			w.at++
		default:
			return
		}
	}
}

// next skips white space behind a member or element, and the comma.
func (w *bodyWalk) next() {
	w.space()
	if w.b[w.at] == ',' {
		w.at++
	}
	w.space()
}

// skip skips a value, and returns its octets.
func (w *bodyWalk) skip() []byte {
	from, depth := w.at, 0
	for {
		switch w.b[w.at] {
		case '"':
			w.text()
		case '{', '[':
			depth++
			w.at++
		case '}', ']':
			depth--
			w.at++
		case ' ', '\t', '\r', '\n', ',', ':':
			w.at++
		default:
			w.literal()
		}
		if depth == 0 {
			return w.b[from:w.at]
		}
	}
}

// literal skips a number, true, false or null.
func (w *bodyWalk) literal() {
	for w.at < len(w.b) {
		switch w.b[w.at] {
		case ' ', '\t', '\r', '\n', ',', ']', '}':
			return
		}
		w.at++
	}
}

// text skips a string, and returns its octets with the quotes.
func (w *bodyWalk) text() []byte {
	from := w.at
	for w.at++; w.b[w.at] != '"'; w.at++ {
		if w.b[w.at] == '\\' {
			w.at++
		}
	}
	w.at++
	return w.b[from:w.at]
}

// textOf decodes a string.
func textOf(octets []byte) string {
	if inside := octets[1 : len(octets)-1]; bytes.IndexByte(inside, '\\') < 0 {
		return string(inside)
	}
	var text string
	_ = json.Unmarshal(octets, &text) // it is valid
	return text
}

// value walks a value of a schema.
func (w *bodyWalk) value(s *huma.Schema) {
	if !w.step() {
		return
	}
	for s.Ref != "" {
		s = w.schemas.SchemaFromRef(s.Ref)
	}
	first := w.b[w.at]
	switch {
	case s.Type == "": // of any type: nobody looks at it
		blank(w.skip())
	case first == '{' && s.Type == huma.TypeObject:
		w.object(s)
	case first == '[' && s.Type == huma.TypeArray:
		partial := w.partial
		w.partial = false // arrays are replaced whole
		w.array(s)
		w.partial = partial
	case first == '{' || first == '[':
		w.fault(typeFaults[s.Type], w.skip())
	default:
		w.scalar(s)
	}
}

// blank makes a value null. A shorter one does no harm.
func blank(value []byte) {
	if len(value) < len("null") {
		return
	}
	for i := copy(value, "null"); i < len(value); i++ {
		value[i] = ' '
	}
}

// scalar checks a value that is neither an object nor an array.
func (w *bodyWalk) scalar(s *huma.Schema) {
	octets := w.skip()
	if octets[0] == '"' && s.Type == huma.TypeString {
		most := maxLength
		if s.MaxLength != nil {
			most = *s.MaxLength
		}
		// Rules that cost more than looking at a text once are for texts of the right length. A
		// character takes twelve octets at most: the two escapes of a surrogate pair.
		if long := len(octets) - 2; long > most &&
			(long > 12*most || utf8.RuneCountInString(textOf(octets)) > most) {
			w.fault(fmt.Sprintf(validation.MsgExpectedMaxLength, most), octets)
			return
		}
	}
	if octets[0] != '"' && len(octets) > maxNumber {
		w.fault(fmt.Sprintf("a number has %d characters, of %d at most", len(octets), maxNumber), octets)
		return
	}
	var v any
	if err := json.Unmarshal(octets, &v); err != nil { // a number that no float64 can be
		w.fault(err.Error(), octets)
		return
	}
	if v == nil && w.partial {
		return
	}
	had := len(w.result.Errors)
	huma.Validate(w.schemas, s, &w.empty, huma.ModeWriteToServer, v, &w.result)
	for _, err := range w.result.Errors[had:] {
		err.(*huma.ErrorDetail).Location = string(w.path)
	}
}

// array walks an array.
func (w *bodyWalk) array(s *huma.Schema) {
	from, n, most, at := w.at, 0, maxItems, len(w.path)
	if s.MaxItems != nil {
		most = *s.MaxItems
	}
	w.at++
	for w.space(); w.b[w.at] != ']'; w.next() {
		if n == most { // the rest makes no difference
			w.fault(fmt.Sprintf(validation.MsgExpectedMaxItems, most), w.b[from:])
			w.ended = true
			return
		}
		w.path = fmt.Appendf(w.path, "[%d]", n)
		w.value(s.Items)
		if w.ended {
			return
		}
		w.path = w.path[:at]
		n++
	}
	w.at++
	if s.MinItems != nil && n < *s.MinItems {
		w.fault(fmt.Sprintf(validation.MsgExpectedMinItems, *s.MinItems), w.b[from:w.at])
	}
}

// object walks an object.
func (w *bodyWalk) object(s *huma.Schema) {
	seen, at := make(map[string]bool, len(s.Properties)), len(w.path)
	w.at++
	for w.space(); w.b[w.at] != '}'; w.next() {
		name := textOf(w.text())
		w.space()
		w.at++ // the colon
		w.space()
		if !w.step() {
			return
		}
		w.path = append(append(w.path, '.'), clip(name, maxFieldText)...)
		w.member(s, name, seen)
		if w.ended {
			return
		}
		w.path = w.path[:at]
	}
	w.at++
	if w.partial {
		return
	}
	for _, name := range s.Required {
		if p := s.Properties[name]; !seen[name] && !p.ReadOnly {
			w.fault(fmt.Sprintf(validation.MsgExpectedRequiredProperty, name), nil)
		}
	}
}

// member walks a field of an object.
func (w *bodyWalk) member(s *huma.Schema, name string, seen map[string]bool) {
	of := s.Properties[name]
	switch {
	case of == nil:
		w.fault(validation.MsgUnexpectedProperty, nil)
		w.skip()
		return
	case seen[name]:
		w.fault(msgTwice, nil)
		w.skip()
	case w.b[w.at] == 'n' && (w.partial || s.Nullable || !slices.Contains(s.Required, name)): // null
		w.skip()
	default:
		w.value(of)
	}
	seen[name] = true
}

// walkable panics on a body schema with rules unknown to the body walk: a bug of this program.
func walkable(schemas huma.Registry, s *huma.Schema, at string) {
	for s.Ref != "" {
		s = schemas.SchemaFromRef(s.Ref)
	}
	extra, closed := s.AdditionalProperties.(bool)
	switch {
	case len(s.OneOf)+len(s.AnyOf)+len(s.AllOf)+len(s.DependentRequired) > 0, s.Not != nil ||
		s.UniqueItems,
		s.MinProperties != nil || s.MaxProperties != nil,
		s.Type == "" && !s.ReadOnly, s.Type == huma.TypeObject && (!closed || extra):
		panic("northbound: " + at + ": the schema has rules that bodies are not checked by")
	}
	if s.Items != nil {
		walkable(schemas, s.Items, at+"[]")
	}
	for name, p := range s.Properties {
		walkable(schemas, p, at+"."+name)
	}
}
