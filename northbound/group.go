package northbound

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/weft-sdn/weft/controller"
	"github.com/weft-sdn/weft/controller/intent"
)

const (
	groupsPath = "/v1/multicast-groups"
	groupPath  = groupsPath + "/{name}"
)

// groupRequest is what clients send: a whole group, as they got it, or just name
// and spec.
type groupRequest struct {
	Name    string      `json:"name,omitempty" maxLength:"63" doc:"Name of the group: letters, digits, '.', '_' and '-'. In the body of a PUT it may be left out."`
	Version uint64      `json:"version,omitempty" doc:"In a PUT: the version the group has to have, as If-Match. 0 is any."`
	Spec    intent.Spec `json:"spec"`
	Created time.Time   `json:"created,omitzero" readOnly:"true" doc:"Ignored."`
	Status  any         `json:"status,omitempty" readOnly:"true" doc:"Ignored: the controller writes it."`
}

// group is what clients get.
type group struct {
	Name    string        `json:"name" doc:"Name of the group."`
	Version uint64        `json:"version" doc:"Changes with every change of the spec; also the ETag."`
	Created time.Time     `json:"created,omitzero" doc:"When the group was created."`
	Spec    intent.Spec   `json:"spec" doc:"What a client wants, defaults filled in."`
	Status  intent.Status `json:"status" doc:"What the controller says."`
}

type groupList struct {
	Items    []group `json:"items" nullable:"false" doc:"Ordered by name."`
	Continue string  `json:"continue,omitempty" doc:"Ask with this for the next page; absent on the last."`
}

// NameParam is exported because huma passes over other embedded types.
type NameParam struct {
	Name string `path:"name" maxLength:"63" doc:"Name of the group."`
}

// Conditions of a write (RFC 9110 section 13). It is exported because huma passes
// over other embedded types.
type Conditions struct {
	IfMatch     string `header:"If-Match" doc:"The ETag the group has to have; 412 when it has another."`
	IfNoneMatch string `header:"If-None-Match" doc:"* only: the group must not exist."`
}

type groupOutput struct {
	Status   int
	ETag     string `header:"ETag" doc:"The group's version, for If-Match."`
	Location string `header:"Location"`
	Body     group
}

type listOutput struct{ Body groupList }

func (s *Server) registerGroups() {
	tags := []string{"multicast groups"}
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "list-multicast-groups", Method: http.MethodGet, Path: groupsPath, Tags: tags,
		Summary: "List the multicast groups", Errors: []int{422},
	}), s.listGroups)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "create-multicast-group", Method: http.MethodPost, Path: groupsPath, Tags: tags, DefaultStatus: http.StatusCreated,
		Summary: "Create a multicast group", Description: "Returns as soon as the group is accepted; status says how far it is.",
		Errors: []int{400, 409, 413, 415, 422},
	}), s.createGroup)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "get-multicast-group", Method: http.MethodGet, Path: groupPath, Tags: tags,
		Summary: "Get a multicast group", Errors: []int{404},
	}), s.getGroup)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "put-multicast-group", Method: http.MethodPut, Path: groupPath, Tags: tags,
		Summary: "Create or replace a multicast group", Description: "Idempotent: the same spec again changes nothing.",
		Errors: []int{400, 409, 412, 413, 415, 422}, Responses: map[string]*huma.Response{"201": {Description: "Created"}},
	}), s.putGroup)
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "patch-multicast-group", Method: http.MethodPatch, Path: groupPath, Tags: tags,
		Summary: "Change parts of a multicast group", Description: "A JSON merge patch (RFC 7386) of the group. null sets a field back to its default; arrays are replaced whole.",
		Errors: []int{400, 404, 409, 412, 413, 415, 422},
	}), s.patchGroup)
	s.describePatch()
	huma.Register(s.api, s.operation(huma.Operation{
		OperationID: "delete-multicast-group", Method: http.MethodDelete, Path: groupPath, Tags: tags, DefaultStatus: http.StatusNoContent,
		Summary: "Delete a multicast group", Description: "The group is gone at once; what the switches hold of it goes after that.",
		Errors: []int{404, 412},
	}), s.deleteGroup)
}

// describePatch says what the body of a PATCH is. huma, which would check it
// against that, has not been told: its shape is checked once it is merged.
func (s *Server) describePatch() {
	body := s.api.OpenAPI().Paths[groupPath].Patch.RequestBody
	body.Description = "The parts to change."
	body.Content[mergePatchType].Schema = &huma.Schema{
		Type: huma.TypeObject, AdditionalProperties: true, Description: "A GroupRequest with any of its fields; null removes one.",
		Examples: []any{map[string]any{"spec": map[string]any{"cnpWindow": "50us"}}},
	}
}

const mergePatchType = "application/merge-patch+json"

func (s *Server) listGroups(ctx context.Context, in *PageParams) (*listOutput, error) {
	all, err := s.controller.Groups(ctx)
	if err != nil {
		return nil, problemOf(err)
	}
	all = slices.SortedFunc(slices.Values(all), func(a, b intent.MulticastGroup) int { return strings.Compare(a.Name, b.Name) })
	items, next, err := page(*in, all, func(g *intent.MulticastGroup) string { return g.Name })
	if err != nil {
		return nil, err
	}
	out := &listOutput{Body: groupList{Items: make([]group, 0, len(items)), Continue: next}}
	for i := range items {
		out.Body.Items = append(out.Body.Items, group(items[i]))
	}
	return out, nil
}

func (s *Server) createGroup(ctx context.Context, in *struct{ Body groupRequest }) (*groupOutput, error) {
	if in.Body.Name == "" {
		return nil, newProblem(string(intent.CodeInvalid), "the group has no name", intent.FieldError{
			Field: "name", Code: intent.CodeInvalid, Value: "missing", Want: "a name",
		})
	}
	g, _, err := s.controller.PutGroup(ctx, in.Body.Name, in.Body.Spec, controller.Precondition{Absent: true})
	return created(g, err)
}

func created(g intent.MulticastGroup, err error) (*groupOutput, error) {
	out, err := output(g, err)
	if err != nil {
		return nil, err
	}
	out.Status, out.Location = http.StatusCreated, groupsPath+"/"+url.PathEscape(g.Name)
	return out, nil
}

func output(g intent.MulticastGroup, err error) (*groupOutput, error) {
	if err != nil {
		return nil, problemOf(err)
	}
	return &groupOutput{Status: http.StatusOK, ETag: strconv.Quote(strconv.FormatUint(g.Version, 10)), Body: group(g)}, nil
}

func (s *Server) getGroup(ctx context.Context, in *NameParam) (*groupOutput, error) {
	return output(s.controller.Group(ctx, in.Name))
}

func (s *Server) putGroup(ctx context.Context, in *struct {
	NameParam
	Conditions
	Body groupRequest
}) (*groupOutput, error) {
	if err := sameName(in.Name, in.Body.Name); err != nil {
		return nil, err
	}
	pre, err := in.precondition(in.Body.Version)
	if err != nil {
		return nil, err
	}
	g, isNew, err := s.controller.PutGroup(ctx, in.Name, in.Body.Spec, pre)
	switch {
	case errors.Is(err, intent.ErrExists) && pre.Absent, errors.Is(err, intent.ErrNotFound) && pre.Version != 0:
		return nil, newProblem(string(intent.CodeVersion), err.Error())
	case err == nil && isNew:
		return created(g, nil)
	}
	return output(g, err)
}

// maxAttempts bounds how often an unconditional patch starts over because of
// another's write.
const maxAttempts = 8

func (s *Server) patchGroup(ctx context.Context, in *struct {
	NameParam
	Conditions
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte `contentType:"application/merge-patch+json"`
}) (*groupOutput, error) {
	if err := patchType(in.ContentType); err != nil {
		return nil, err
	}
	pre, err := in.precondition(0)
	if err != nil {
		return nil, err
	}
	if pre.Absent {
		return nil, headerProblem("If-None-Match", in.IfNoneMatch, "nothing: a PATCH needs a group that exists")
	}
	for range maxAttempts {
		now, err := s.controller.Group(ctx, in.Name)
		if err != nil {
			return nil, problemOf(err)
		}
		want, err := s.patched(now, in.RawBody)
		if err != nil {
			return nil, err
		}
		version := cmp.Or(pre.Version, want.Version, now.Version)
		g, _, err := s.controller.PutGroup(ctx, in.Name, want.Spec, controller.Precondition{Version: version})
		if errors.Is(err, intent.ErrVersion) && pre.Version == 0 && want.Version == 0 {
			continue
		}
		return output(g, err)
	}
	return nil, newProblem(string(intent.CodeConflict), fmt.Sprintf("group %q is being changed by others", in.Name))
}

// patchType refuses patches that are not merge patches (RFC 5789 section 2.2). A
// raw body's type is not huma's business.
func patchType(contentType string) error {
	kind, _, err := mime.ParseMediaType(contentType)
	if contentType == "" || err == nil && (kind == mergePatchType || kind == "application/json") {
		return nil
	}
	return newProblem(codeMediaType, "the body has to be a JSON merge patch, "+mergePatchType)
}

// patched returns the group as the patch makes it, checked like any body.
func (s *Server) patched(now intent.MulticastGroup, patch []byte) (groupRequest, error) {
	target, err := json.Marshal(groupRequest{Name: now.Name, Spec: now.Spec})
	if err != nil {
		return groupRequest{}, problemOf(err)
	}
	merged, err := mergePatch(target, patch)
	if err != nil {
		return groupRequest{}, newProblem(string(intent.CodeMalformed), "the patch is not JSON: "+err.Error())
	}
	var want groupRequest
	if err := s.check(merged, &want); err != nil {
		return groupRequest{}, err
	}
	return want, sameName(now.Name, want.Name)
}

// check decodes a body that huma has not seen, under the same rules.
func (s *Server) check(b []byte, into *groupRequest) error {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return shapeProblem(http.StatusBadRequest, err.Error(), 0, nil)
	}
	registry := s.api.OpenAPI().Components.Schemas
	schema := registry.Schema(reflect.TypeFor[groupRequest](), true, "")
	path, result := huma.NewPathBuffer(make([]byte, 0, 128), 0), &huma.ValidateResult{}
	path.Push("body")
	huma.Validate(registry, schema, path, huma.ModeWriteToServer, v, result)
	if len(result.Errors) == 0 {
		if err := json.Unmarshal(b, into); err != nil {
			result.Errors = append(result.Errors, &huma.ErrorDetail{Location: "body", Message: err.Error()})
		}
	}
	if len(result.Errors) > 0 {
		return shapeProblem(http.StatusUnprocessableEntity, "", 0, result.Errors)
	}
	return nil
}

func (s *Server) deleteGroup(ctx context.Context, in *struct {
	NameParam
	IfMatch string `header:"If-Match" doc:"The ETag the group has to have; 412 when it has another."`
}) (*struct{}, error) {
	pre, err := Conditions{IfMatch: in.IfMatch}.precondition(0)
	if err != nil {
		return nil, err
	}
	return nil, problemOf(s.controller.DeleteGroup(ctx, in.Name, pre))
}

func sameName(path, body string) error {
	if body == "" || body == path {
		return nil
	}
	return newProblem(string(intent.CodeInvalid), "groups are not renamed", intent.FieldError{
		Field: "name", Code: intent.CodeInvalid, Value: valueText(body), Want: strconv.Quote(path) + ", the name in the path",
	})
}

// precondition returns what a write depends on: the headers, and the version in
// the body.
func (c Conditions) precondition(body uint64) (controller.Precondition, error) {
	pre := controller.Precondition{Version: body, Absent: c.IfNoneMatch == "*"}
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
		return pre, headerProblem("If-Match", c.IfMatch, "one ETag as the API gave it, or *, and no If-None-Match")
	}
	if body != 0 && body != version {
		return pre, headerProblem("If-Match", c.IfMatch, "the version in the body, or none there")
	}
	pre.Version = version
	return pre, nil
}

func headerProblem(name, value, want string) *Problem {
	return newProblem(string(intent.CodeInvalid), "the request's condition makes no sense", intent.FieldError{
		Field: "header." + name, Code: intent.CodeInvalid, Value: valueText(value), Want: want,
	})
}
