package figure

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestBroken: a broken promise is an error that says what was seen, with the result; a figure that
// cannot be shown is an error without a result.
func TestBroken(t *testing.T) {
	var out strings.Builder
	f := Figure{Name: "x", Where: "a draft", run: func(_ context.Context, s *sight) error {
		s.see(true, "sent", 3, "three packets leave")
		s.see(false, "lost", 2, "none is lost")
		return nil
	}}
	r, err := f.Run(t.Context(), &out)
	if err == nil || err.Error() != "demo: x: lost is 2: want that none is lost" {
		t.Errorf("%v", err)
	}
	if r == nil || r.Promises != 2 || r.Broken != 1 || r.Seen["sent"] != 3 || r.Seen["lost"] != 2 {
		t.Errorf("%+v", r)
	}
	for _, line := range []string{"holds   three packets leave: sent 3",
		"BROKEN  none is lost: lost 2"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q lacks %q", out.String(), line)
		}
	}
	cause := errors.New("no network")
	f.run = func(context.Context, *sight) error { return cause }
	if r, err := f.Run(t.Context(), &out); r != nil || !errors.Is(err, cause) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestExample shows the shortest figure. cmd/weft.TestFigures shows all.
func TestExample(t *testing.T) {
	f, ok := Find("mrc-figure2")
	if !ok {
		t.Fatal("there is no mrc-figure2")
	}
	var out strings.Builder
	r, err := f.Run(t.Context(), &out)
	if err != nil || r.Promises != 6 || len(r.Seen) != 6 {
		t.Errorf("%+v, %v\n%s", r, err, out.String())
	}
}
