package northbound

import (
	"encoding/base64"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/natural"
)

// PageParams are the parameters of every list. It is exported because huma passes over
// other embedded types.
type PageParams struct {
	Limit    int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"Items in a page at most."`
	Continue string `query:"continue" maxLength:"2048" doc:"The continue of the page before."`
}

// page returns the items of a sorted list that follow a token, and the token of
// the next page, "" for the last. A token holds the key of the last item seen, so
// that items which come and go between pages neither hide nor repeat others.
func page[T any](in PageParams, items []T, key func(*T) string) ([]T, string, error) {
	after, err := decodeToken(in.Continue)
	if err != nil {
		return nil, "", err
	}
	start := 0
	if in.Continue != "" {
		for start < len(items) && natural.Compare(key(&items[start]), after) <= 0 {
			start++
		}
	}
	end := min(len(items), start+in.Limit)
	out := append(make([]T, 0, end-start), items[start:end]...)
	if end == len(items) {
		return out, "", nil
	}
	return out, encodeToken(key(&items[end-1])), nil
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
		Field: "query.continue", Code: api.CodeInvalid, Value: valueText(token), Want: "the continue of a page",
	})
}
