package otlp

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// readHeaders reads a file of headers; without a name there are none.
func readHeaders(file string) (map[string]string, error) {
	if file == "" {
		return nil, nil
	}
	if info, err := os.Stat(file); err == nil && info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("%w: %s has mode %#o: want one that others cannot use, such as 0600",
			ErrHeaders, file, info.Mode().Perm())
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	out := make(map[string]string)
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fmt.Errorf("%w: %s, line %d: want NAME: VALUE", ErrHeaders, file, n)
		}
		out[strings.ToLower(name)] = value
	}
	return out, nil
}

// headers are the metadata of gRPC calls.
type headers struct{ cfg *Config }

func (h headers) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return readHeaders(h.cfg.HeadersFile)
}

// RequireTransportSecurity reports false: plain text is the operator's choice.
func (headers) RequireTransportSecurity() bool { return false }

// headed adds the headers to HTTP requests.
type headed struct {
	cfg  *Config
	next http.RoundTripper
}

func (h *headed) RoundTrip(r *http.Request) (*http.Response, error) {
	all, err := readHeaders(h.cfg.HeadersFile)
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	for name, value := range all {
		r.Header.Set(name, value)
	}
	return h.next.RoundTrip(r)
}
