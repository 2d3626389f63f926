package northbound

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// mergePatch applies a JSON merge patch (RFC 7396) and returns the result.
func mergePatch(target, patch []byte) ([]byte, error) {
	t, err := decodeJSON(target)
	if err != nil {
		return nil, err
	}
	p, err := decodeJSON(patch)
	if err != nil {
		return nil, err
	}
	return json.Marshal(merged(t, p))
}

// merged is the function MergePatch of RFC 7396 section 2.
func merged(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
		t = make(map[string]any)
	}
	for name, value := range p {
		if value == nil {
			delete(t, name)
		} else {
			t[name] = merged(t[name], value)
		}
	}
	return t
}

var errTrailing = errors.New("there is more after the JSON value")

// decodeJSON decodes one value and keeps numbers as they are written.
func decodeJSON(b []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	return v, nil
}
