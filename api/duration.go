package api

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a time.Duration, written as a string like "50us" in JSON and YAML.
type Duration time.Duration

// D returns the standard library's type.
func (d Duration) D() time.Duration { return time.Duration(d) }

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes the duration as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Wanted reports what UnmarshalText takes.
func (*Duration) Wanted() string { return "a duration such as 50us or 1.5ms" }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as \"50us\" or \"1.5ms\"", b)
	}
	*d = Duration(v)
	return nil
}

// UnmarshalJSON takes strings only: a bare number has no unit.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("%s is not a duration such as \"50us\" or \"1.5ms\"", b)
	}
	return d.UnmarshalText([]byte(s))
}
