package northbound

import (
	"net/http"
	"strconv"
	"time"
)

// deprecation defines when clients were told to leave an operation, and when that operation will be
// gone, which is one minor version later or more.
type deprecation struct {
	since, sunset time.Time
}

// deprecations lists the deprecated operations by id. docs/api.md#deprecations has the promise.
var deprecations = map[string]deprecation{}

// tell sets the fields Deprecation (RFC 9745) and Sunset (RFC 8594) of an answer.
func (d deprecation) tell(h http.Header) {
	h.Set("Deprecation", "@"+strconv.FormatInt(d.since.Unix(), 10))
	h.Set("Sunset", d.sunset.UTC().Format(http.TimeFormat))
}
