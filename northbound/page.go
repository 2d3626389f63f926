package northbound

import (
	"encoding/base64"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/controller/kind"
)

// PageParams are the parameters of every list. It is exported because huma passes over
// other embedded types.
type PageParams struct {
	Limit    int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Items in a page at most."`
	Continue string `query:"continue" maxLength:"2048" doc:"The continue of the page before."`
}

// query returns the page that a client asks for. A token holds the name of the last item seen, so
// that items which come and go between pages neither hide nor repeat others.
func (p PageParams) query() (kind.Query, error) {
	after, err := decodeToken(p.Continue)
	return kind.Query{After: after, Limit: p.Limit}, err
}

// pageOf returns a page with the token of the next one.
func pageOf[T any](p kind.Page[T], name func(*T) string) api.List[T] {
	out := api.List[T]{Items: append([]T{}, p.Items...)}
	if p.More {
		out.Continue = encodeToken(name(&p.Items[len(p.Items)-1]))
	}
	return out
}

// page returns the items of a list that follow a token, in the order of their keys, and the token
// of the next page, "" for the last.
func page[T any](in PageParams, items []T, key func(*T) string) ([]T, string, error) {
	q, err := in.query()
	if err != nil {
		return nil, "", err
	}
	out := pageOf(kind.Select(items, q, key, nil), key)
	return out.Items, out.Continue, nil
}

// tokenForm distinguishes tokens from text that happens to be base64.
const tokenForm = "k1:"

func encodeToken(key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(tokenForm + key))
}

func decodeToken(token string) (string, error) {
	if token == "" {
		return "", nil
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) < len(tokenForm) || string(b[:len(tokenForm)]) != tokenForm {
		return "", badToken(token)
	}
	return string(b[len(tokenForm):]), nil
}

func badToken(token string) error {
	return newProblem(string(api.CodeInvalid), "the page token is not one of ours", api.FieldError{
		Field: "query.continue", Code: api.CodeInvalid, Value: valueText(token),
		Want: "the continue of a page",
	})
}
