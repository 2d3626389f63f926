package northbound

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/weft-sdn/weft/access"
	"github.com/weft-sdn/weft/access/oidc"
	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller"
)

// Codes of this package; package api has all other codes.
const (
	// The controller's log has the cause, under the id at the end of the problem's instance.
	codeInternal = "internal"
	// The request has no credentials, or wrong, expired or revoked ones.
	codeUnauthorized = "unauthorized"
	// The path has no such method.
	codeNotAllowed = "method_not_allowed"
	// The body is longer than the path takes.
	codeTooLarge = "body_too_large"
	// The body has another media type than the path takes.
	codeMediaType = "unsupported_media_type"
	// A switch did not answer in time.
	codeTimeout = "timeout"
	// The controller cannot store changes now. The detail has the reason.
	codeStore = "store_unavailable"
	// The disk of the store is full at the controller that the detail names. Deletions, sign-ins and
	// dry runs are carried out.
	codeNoRoom = "no_room"
	// No controller decides now, or the deciding controller ended before it answered, or may have been
	// replaced.
	codeNoDecider = "no_decider"
	// The configuration lacks the section of this request, or there is no store to back up.
	codeNoSection = "not_configured"
	// The client has too many concurrent requests, event streams, or requests a second (api.limits).
	codeTooMany = "too_many_requests"
	// A page of another origin made a browser send the change.
	codeForbidden = "forbidden_origin"
	// The request names another server than api.hosts.
	codeHost = "misdirected"
	// The principal may not do that.
	codeDenied = "forbidden"
	// The sign-in of a device was not confirmed yet.
	codePending = "pending"
	// The OpenID Connect provider cannot be used now.
	codeProvider = "provider_unavailable"
	// A session changed something without its CSRF header.
	codeCSRF = "csrf"
)

// kinds has the status and the title of each code.
var kinds = map[string]struct {
	status int
	title  string
}{
	string(api.CodeMalformed):   {http.StatusBadRequest, "The request is not well formed"},
	string(api.CodeInvalid):     {http.StatusUnprocessableEntity, "A field is not acceptable"},
	string(api.CodeLimit):       {http.StatusUnprocessableEntity, "A limit is exceeded"},
	string(api.CodeUnreachable): {http.StatusUnprocessableEntity, "A receiver cannot be reached"},
	string(api.CodeNotPlannable): {http.StatusUnprocessableEntity,
		"The network lacks what the resource needs"},
	string(api.CodeConflict):    {http.StatusConflict, "Another resource is in the way"},
	string(api.CodeExists):      {http.StatusConflict, "The resource exists"},
	string(api.CodeNotFound):    {http.StatusNotFound, "Not found"},
	string(api.CodeVersion):     {http.StatusPreconditionFailed, "The resource has another version"},
	string(api.CodeUnavailable): {http.StatusServiceUnavailable, "A switch cannot be reached"},
	string(api.CodeLastPath):    {http.StatusConflict, "It is the last path"},
	string(api.CodeSettling):    {http.StatusServiceUnavailable, "It is too early to say"},
	string(api.CodeUnknown): {http.StatusGatewayTimeout,
		"Whether the change was kept is not known"},
	codeNoSection: {http.StatusNotImplemented,
		"The controller is not configured for it"},
	codeInternal:     {http.StatusInternalServerError, "The controller failed"},
	codeUnauthorized: {http.StatusUnauthorized, "Not authorized"},
	codeNotAllowed:   {http.StatusMethodNotAllowed, "Method not allowed"},
	codeTooLarge:     {http.StatusRequestEntityTooLarge, "The body is too large"},
	codeMediaType:    {http.StatusUnsupportedMediaType, "Unsupported media type"},
	codeTimeout:      {http.StatusGatewayTimeout, "It took too long"},
	codeTooMany:      {http.StatusTooManyRequests, "The client asks too much at a time"},
	codeForbidden:    {http.StatusForbidden, "A page of another origin sent the request"},
	codePending:      {http.StatusConflict, "The sign-in was not confirmed yet"},
	codeProvider: {http.StatusServiceUnavailable,
		"The OpenID Connect provider cannot be used now"},
	codeDenied: {http.StatusForbidden, "The principal may not do that"},
	codeCSRF:   {http.StatusForbidden, "The request may be forged"},
	codeHost:   {http.StatusMisdirectedRequest, "The server has another name"},
	codeStore: {http.StatusServiceUnavailable,
		"The controller cannot keep changes now"},
	codeNoRoom:    {http.StatusInsufficientStorage, "The disk of the store is full"},
	codeNoDecider: {http.StatusServiceUnavailable, "No controller decides now"},
}

// Limits for the answer about a request, because a request can be as long as a body: number of
// field errors, octets of a field's name or value, and octets of the whole detail.
const (
	maxFieldErrors = 32
	maxFieldText   = 256
	maxDetail      = 4096
)

func newProblem(code, detail string, fields ...api.FieldError) *api.Problem {
	k, ok := kinds[code]
	if !ok {
		k = kinds[codeInternal]
	}
	fields = slices.Clone(fields[:min(len(fields), maxFieldErrors)])
	for i := range fields {
		f := &fields[i]
		f.Field, f.Value = clip(f.Field, maxFieldText), clip(f.Value, maxFieldText)
	}
	p := &api.Problem{Type: "urn:weft:problem:" + code, Title: k.title, Status: k.status, Code: code,
		Detail: clip(detail, maxDetail), Errors: fields}
	if len(fields) > 0 {
		p.Field, p.Value, p.Limit = fields[0].Field, fields[0].Value, fields[0].Limit
	}
	return p
}

// problemOf returns the problem of an error of the controller. Errors that are
// not the client's keep their text for the log.
func problemOf(err error) error {
	var known *api.Error
	var problem *api.Problem
	switch {
	case err == nil:
		return nil
	case errors.As(err, &problem):
		return problem
	case errors.As(err, &known):
		p := newProblem(string(known.Code), known.Error(), known.Fields...)
		p.Version = known.Version
		return p
	case errors.Is(err, controller.ErrUnknown), errors.Is(err, access.ErrUnknown):
		return newProblem(string(api.CodeUnknown),
			"the change may have been kept, or not: "+err.Error()+". GET what it was to change")
	case errors.Is(err, controller.ErrStopped):
		return newProblem(codeNoDecider, "the controller stopped deciding; the request did nothing")
	case errors.Is(err, controller.ErrDeposed):
		return newProblem(codeNoDecider, err.Error())
	case errors.Is(err, controller.ErrStore):
		return storeProblem(err)
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem(codeTimeout, "the controller or a switch did not answer in time")
	}
	return &internalError{Problem: newProblem(codeInternal,
		"see the controller's log for this request"), cause: err}
}

// storeProblem is the problem of a store that keeps nothing now.
func storeProblem(err error) *api.Problem {
	if errors.Is(err, controller.ErrNoRoom) {
		return newProblem(codeNoRoom, err.Error())
	}
	return newProblem(codeStore, err.Error())
}

// internalError is a Problem that keeps from the client what went wrong.
type internalError struct {
	*api.Problem
	cause error
}

func (e *internalError) Unwrap() error { return e.cause }

// init makes huma report errors as Problems, and tell "cnpLimit" from "CNPLimit":
// in a merge patch they are two fields. Nothing else in the program uses huma.
func init() {
	huma.ValidateStrictCasing = true
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return shapeProblem(status, message, 0, errs)
	}
	huma.NewErrorWithContext = func(ctx huma.Context, status int, message string,
		errs ...error) huma.StatusError {
		return shapeProblem(status, message, ctx.Operation().MaxBodyBytes, errs)
	}
}

// shapeProblem returns the problem for a request that huma rejects for its shape.
func shapeProblem(status int, message string, maxBody int64, errs []error) *api.Problem {
	code := codeInternal
	switch {
	case status == http.StatusRequestEntityTooLarge:
		p := newProblem(codeTooLarge, fmt.Sprintf("the body has %d octets or more", maxBody))
		p.Limit = &maxBody
		return p
	case status == http.StatusUnsupportedMediaType:
		return newProblem(codeMediaType, "the body has to be JSON")
	case status == http.StatusRequestTimeout:
		code = codeTimeout
	case status == http.StatusUnprocessableEntity, status == http.StatusBadRequest,
		status == http.StatusNotAcceptable:
		code = string(api.CodeMalformed)
	case status == 0:
		return &api.Problem{} // huma asks for the type
	}
	fields := shapeErrors(errs)
	if code == string(api.CodeMalformed) && len(fields) > 0 && fields[0].Code != api.CodeMalformed {
		code = string(api.CodeInvalid) // well formed, and not acceptable
	}
	p := newProblem(code, message, fields...)
	if len(p.Errors) > 0 {
		p.Detail = p.Errors[0].Error()
		if n := len(fields) - 1; n > 0 {
			least := ""
			if len(fields) == maxShapeFaults {
				least = "at least "
			}
			p.Detail += fmt.Sprintf("; and %s%d more", least, n)
		}
	}
	return p
}

// wrongType has huma's words for a value of another JSON type.
var wrongType = map[string]bool{
	validation.MsgExpectedBoolean: true, validation.MsgExpectedNumber: true,
	validation.MsgExpectedInteger: true,
	validation.MsgExpectedString:  true, validation.MsgExpectedArray: true,
	validation.MsgExpectedObject: true,
}

// shapeErrors translates the findings of huma or a [bodyWalk]; of many findings, only the first.
// Malformed fields come first. Only findings in the answer turn their value into text, because huma
// passes the whole object around a fault.
func shapeErrors(errs []error) []api.FieldError {
	var out []api.FieldError
	errs = errs[:min(len(errs), maxShapeFaults)]
	for _, err := range errs {
		var d *huma.ErrorDetail
		if !errors.As(err, &d) {
			d = &huma.ErrorDetail{Location: "body", Message: err.Error()}
		}
		f := api.FieldError{Field: fieldOf(d.Location), Code: api.CodeInvalid}
		name, missing := between(d.Message, "expected required property ", " to be present")
		switch {
		case missing:
			f.Field, f.Value, f.Want = joinField(f.Field, name), "missing", "a value"
		case d.Message == msgTwice:
			f.Code, f.Value, f.Want = api.CodeMalformed, "given twice", "it once"
		case d.Message == validation.MsgUnexpectedProperty, d.Message == "unknown query parameter":
			f.Code, f.Value, f.Want = api.CodeMalformed, "given", "no such field"
		case wrongType[d.Message]:
			f.Code, f.Value, f.Want = api.CodeMalformed, valueText(d.Value),
				strings.TrimPrefix(d.Message, "expected ")
		case strings.HasPrefix(d.Message, "expected "):
			f.Value = valueText(d.Value)
			f.Want, f.Limit = want(strings.TrimPrefix(d.Message, "expected "))
		case d.Message == "invalid integer":
			f.Value, f.Want = valueText(d.Value), "a whole number"
		case d.Message == "invalid boolean":
			f.Value, f.Want = valueText(d.Value), "true or false"
		default: // the decoder's words
			f.Code, f.Value, f.Want = api.CodeMalformed, "not what it should be",
				"JSON of the right form: "+d.Message
		}
		out = append(out, f)
	}
	slices.SortStableFunc(out, func(a, b api.FieldError) int {
		order := func(c api.Code) int {
			if c == api.CodeMalformed {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(order(a.Code), order(b.Code)), cmp.Compare(a.Field, b.Field))
	})
	return out
}

// wants are huma's words for what it expects, and ours. A number follows where
// limit says so: one that the value exceeds, or just one.
var wants = []struct {
	theirs, ours, unit string
	limit              bool
}{
	{"number <= ", "at most ", "", true},
	{"number >= ", "at least ", "", false},
	{"length <= ", "at most ", " characters", true},
	{"length >= ", "at least ", " characters", false},
	{"array length <= ", "at most ", " of them", true},
	{"array length >= ", "at least ", " of them", false},
}

// want returns what huma expects in words, and the limit that was exceeded.
func want(expected string) (text string, limit *int64) {
	for _, w := range wants {
		n, err := strconv.ParseFloat(strings.TrimPrefix(expected, w.theirs), 64)
		if err != nil || n != math.Trunc(n) {
			continue
		}
		bound := int64(n)
		if w.limit {
			limit = &bound
		}
		return w.ours + strconv.FormatInt(bound, 10) + w.unit, limit
	}
	if list, ok := strings.CutPrefix(expected, "value to be one of "); ok {
		return "one of " + strings.Trim(list, `"`), nil
	}
	switch expected {
	case "string to be RFC 2373 ipv6":
		return "an IPv6 address", nil
	case "string to be either RFC 2673 ipv4 or RFC 2373 ipv6":
		return "an IP address", nil
	}
	return strings.TrimPrefix(expected, "string to be "), nil
}

// fieldOf turns huma's location into a field: body.spec.x is spec.x, and
// query.limit stays.
func fieldOf(location string) string {
	if location == "body" || location == "" {
		return "body"
	}
	return strings.TrimPrefix(location, "body.")
}

func joinField(at, name string) string {
	if at == "body" {
		return name
	}
	return at + "." + name
}

func between(s, before, after string) (string, bool) {
	s, ok := strings.CutPrefix(s, before)
	if !ok {
		return "", false
	}
	return strings.CutSuffix(s, after)
}

// maxValueText bounds what of a client's value is sent back.
const maxValueText = 64

func valueText(v any) string {
	var text string
	switch v := v.(type) {
	case nil:
		text = "null"
	case string:
		text = v
	case rawText:
		text = v.String()
	default:
		b, err := json.Marshal(v)
		if err != nil {
			return "something else"
		}
		text = string(b)
	}
	return clip(text, maxValueText)
}

// clip returns the first octets of a text that is longer.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// identifyProblem completes a problem with the id of its request, and keeps the
// cause of an internal one for the log.
func (s *Server) identifyProblem(ctx huma.Context, _ string, v any) (any, error) {
	c := exchangeOf(ctx.Context())
	switch p := v.(type) {
	case *internalError:
		c.cause = p.cause
		c.note(p.Problem)
		return p.Problem, nil
	case *api.Problem:
		if p.Status == http.StatusInternalServerError {
			c.cause = errors.New(p.Detail)
		}
		c.note(p)
	}
	return v, nil
}

// accessProblem is the problem of an error of package access.
func accessProblem(err error) error {
	var pause *access.Pause
	switch {
	case errors.Is(err, access.ErrCredentials):
		return newProblem(codeUnauthorized, err.Error())
	case errors.Is(err, oidc.ErrPending):
		return newProblem(codePending, err.Error())
	case errors.Is(err, oidc.ErrProvider):
		return newProblem(codeProvider, err.Error())
	case errors.As(err, &pause):
		return huma.ErrorWithHeaders(newProblem(codeTooMany, err.Error()),
			http.Header{"Retry-After": {strconv.Itoa(pause.Seconds())}})
	case errors.Is(err, access.ErrStore):
		return storeProblem(err)
	}
	return problemOf(err)
}
