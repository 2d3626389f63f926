package northbound

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/resource"
)

// Conditions of a write (RFC 9110 section 13). It is exported because huma passes
// over other embedded types.
type Conditions struct {
	IfMatch     string `header:"If-Match" doc:"The ETag the resource has to have; 412 when it has another."`
	IfNoneMatch string `header:"If-None-Match" doc:"* only: no client has written the resource."`
	DryRun
}

// DryRun makes a write a dry run. It is exported because huma passes over other embedded types.
type DryRun struct {
	DryRun bool `query:"dryRun" doc:"Check and plan the write, and change nothing. The answer is what the write would give; changes has the updates of switches that it would cause."`
}

// trial returns where the outcome of a dry run goes; nil: it is none.
func (d DryRun) trial() *resource.Trial {
	if d.DryRun {
		return &resource.Trial{}
	}
	return nil
}

// Match is the condition of a DELETE and of custom methods.
type Match struct {
	IfMatch string `header:"If-Match" doc:"The ETag the resource has to have; 412 when it has another."`
}

// Patch is a merge patch and its conditions.
type Patch struct {
	Conditions
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte `contentType:"application/merge-patch+json"`
}

// precondition returns what a write depends on: the headers, and the version in
// the body.
func (c Conditions) precondition(body uint64) (resource.Precondition, error) {
	pre := resource.Precondition{Version: body, Absent: c.IfNoneMatch == "*", Trial: c.trial()}
	if c.IfNoneMatch != "" && !pre.Absent {
		return pre, headerProblem("If-None-Match", c.IfNoneMatch, "*")
	}
	if c.IfMatch == "" || c.IfMatch == "*" {
		return pre, nil
	}
	tag, ok := strings.CutPrefix(c.IfMatch, `"`)
	tag, closed := strings.CutSuffix(tag, `"`)
	version, err := strconv.ParseUint(tag, 10, 64)
	if !ok || !closed || err != nil || version == 0 || pre.Absent {
		return pre, headerProblem("If-Match", c.IfMatch,
			"one ETag as the API gave it, or *, and no If-None-Match")
	}
	if body != 0 && body != version {
		return pre, headerProblem("If-Match", c.IfMatch, "the version in the body, or none there")
	}
	pre.Version = version
	return pre, nil
}

func (m Match) precondition() (resource.Precondition, error) {
	return Conditions{IfMatch: m.IfMatch}.precondition(0)
}

func headerProblem(name, value, want string) *api.Problem {
	return newProblem(string(api.CodeInvalid), "the request's condition makes no sense",
		api.FieldError{
			Field: "header." + name, Code: api.CodeInvalid, Value: valueText(value), Want: want,
		})
}

// etag returns the entity tag of a version; empty if no client has written the resource.
func etag(version uint64) string {
	if version == 0 {
		return ""
	}
	return strconv.Quote(strconv.FormatUint(version, 10))
}

func sameName(path, body string) error {
	if body == "" || body == path {
		return nil
	}
	return newProblem(string(api.CodeInvalid), "names do not change", api.FieldError{
		Field: "name", Code: api.CodeInvalid, Value: valueText(body),
		Want: strconv.Quote(path) + ", the name in the path",
	})
}

// missed turns the error of a PUT with If-None-Match into a failed precondition (RFC 9110 section
// 13.1.2).
func missed(err error, pre resource.Precondition) error {
	if errors.Is(err, api.ErrExists) && pre.Absent {
		return newProblem(string(api.CodeVersion), err.Error())
	}
	return problemOf(err)
}

// maxAttempts bounds how often an unconditional patch starts over because of
// another's write.
const maxAttempts = 8

// patchable is a resource that clients can patch: D is the document that a client writes.
type patchable[D any] struct {
	noun string // with the name
	// request is the type of a body, bare a draft as such without version and status, and decode
	// reads one.
	request reflect.Type
	bare    func(D) any
	decode  func(body []byte) (D, error)
	// version returns the version that the resource has to have, 0 for any.
	version func(D) uint64
	// now returns what is there.
	now func() (D, error)
}

// patch merges a patch with the present resource, and put writes the result. A write in between is
// not lost.
func patch[D, R any](
	ctx context.Context, s *Server, in Patch, of *patchable[D],
	put func(D, resource.Precondition) (R, error),
) (R, error) {
	var none R
	if err := patchType(in.ContentType); err != nil {
		return none, err
	}
	pre, err := in.precondition(0)
	if err != nil {
		return none, err
	}
	if pre.Absent {
		return none, headerProblem("If-None-Match", in.IfNoneMatch,
			"nothing: a PATCH needs something that is there")
	}
	for range maxAttempts {
		before, err := of.now()
		if err != nil {
			return none, problemOf(err)
		}
		had := of.version(before)
		want, err := of.patched(ctx, s, before, in.RawBody)
		if err != nil {
			return none, err
		}
		try := resource.Precondition{Version: cmp.Or(pre.Version, of.version(want)), Trial: pre.Trial}
		free := try.Version == 0
		if free {
			try = resource.Precondition{Version: had, Absent: had == 0, Trial: pre.Trial}
		}
		r, err := put(want, try)
		if free && (errors.Is(err, api.ErrVersion) || had == 0 && errors.Is(err, api.ErrExists)) {
			continue
		}
		return r, missed(err, try)
	}
	return none, newProblem(string(api.CodeConflict), of.noun+" is being changed by others")
}

const mergePatchType = "application/merge-patch+json"

// patchType refuses patches that are not merge patches (RFC 5789 section 2.2). A
// raw body's type is not huma's business.
func patchType(contentType string) error {
	kind, _, err := mime.ParseMediaType(contentType)
	if contentType == "" || err == nil && (kind == mergePatchType || kind == "application/json") {
		return nil
	}
	return newProblem(codeMediaType, "the body has to be a JSON merge patch, "+mergePatchType)
}

// patched returns a draft as the patch makes it, checked like any body.
func (of *patchable[D]) patched(
	ctx context.Context, s *Server, now D, patch []byte,
) (want D, err error) {
	schema := s.api.OpenAPI().Components.Schemas.Schema(of.request, true, "")
	if p := s.shaped(ctx, schema, patch, true); p != nil {
		return want, p
	}
	target, err := json.Marshal(of.bare(now))
	if err != nil {
		return want, problemOf(err)
	}
	merged, err := mergePatch(target, patch)
	if err != nil {
		return want, newProblem(string(api.CodeMalformed), "the patch is not JSON: "+err.Error())
	}
	if p := s.shaped(ctx, schema, merged, false); p != nil {
		return want, p
	}
	if want, err = of.decode(merged); err != nil {
		return want, shapeProblem(http.StatusUnprocessableEntity, "", 0,
			[]error{&huma.ErrorDetail{Location: "body", Message: err.Error()}})
	}
	return want, nil
}

// describePatch documents the body of a PATCH. huma does not validate the body: the server checks
// the merged resource.
func (s *Server) describePatch(path, of string, example any) {
	body := s.api.OpenAPI().Paths[path].Patch.RequestBody
	body.Description = "The parts to change."
	body.Content[mergePatchType].Schema = &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true,
		Description: fmt.Sprintf("Any of the fields of %s; null removes one.", of),
		Examples:    []any{map[string]any{"spec": example}},
	}
}

// describeDelete describes the answers of a DELETE that can be a dry run.
func (s *Server) describeDelete(path string) {
	answers := s.api.OpenAPI().Paths[path].Delete.Responses
	answers["200"] = &huma.Response{Description: "Of a dry run: the resource, which stays.",
		Content: answers["204"].Content}
	answers["204"] = &huma.Response{Description: "Deleted"}
}
