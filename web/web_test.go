package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// limit bounds the compressed size of all built files in octets, atFirst the size of the files that
// a browser loads with the address of the dashboard.
const limit, atFirst = 600_000, 300_000

func get(t *testing.T, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest("GET", path, nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w
}

var reference = regexp.MustCompile(`(?:src|href)="([^"]*)"`)

// TestPage: the server has the page and every file named in the page, in types for browsers, and
// the page does nothing against its own policy.
func TestPage(t *testing.T) {
	page := get(t, "/")
	text := page.Body.String()
	if page.Code != 200 || !strings.HasPrefix(text, "<!doctype html>") {
		t.Fatalf("%d %.100s", page.Code, text)
	}
	if regexp.MustCompile(`<script[^>]*>[^<]|<style|\sstyle=|\son[a-z]+=`).MatchString(text) {
		t.Errorf("the page has inline script or style:\n%s", text)
	}
	types := map[string]string{".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
	seen := map[string]bool{}
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		at, ok := strings.CutPrefix(m[1], "./assets/")
		if !ok {
			t.Errorf("the page loads %s", m[1])
			continue
		}
		w := get(t, "/assets/"+at)
		ext := filepath.Ext(at)
		if seen[ext] = true; w.Code != 200 || !strings.HasPrefix(w.Header().Get("Content-Type"),
			types[ext]) || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d, %v", at, w.Code, w.Header())
		}
	}
	if len(seen) != len(types) {
		t.Errorf("the page loads files of types %v only", seen)
	}
	for _, want := range []string{"default-src 'none'", "script-src 'self';", "frame-ancestors 'none'",
		"base-uri 'none'", "form-action 'none'"} {
		if got := page.Header().Get("Content-Security-Policy"); !strings.Contains(got, want) ||
			strings.Contains(got, "unsafe") {
			t.Errorf("the policy lacks %q: %s", want, got)
		}
	}
	if w := get(t, "/index.html"); w.Code != 404 {
		t.Errorf("/index.html: %d: the page has one address", w.Code)
	}
}

// TestFirstLoad: a browser loads little with the address of the dashboard, the typeface included.
// Each page has a file, and a browser loads the file when somebody opens the page.
func TestFirstLoad(t *testing.T) {
	text, first := get(t, "/").Body.String(), 0
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		first += get(t, strings.TrimPrefix(m[1], "."), "Accept-Encoding", "gzip").Body.Len()
	}
	faces, err := fs.Glob(dist, "dist/assets/*.woff2.gz")
	if err != nil || len(faces) != 1 {
		t.Fatalf("want the one typeface, got %v, %v", faces, err)
	}
	face := strings.TrimSuffix(strings.TrimPrefix(faces[0], "dist"), ".gz")
	w := get(t, face, "Accept-Encoding", "gzip")
	if first += w.Body.Len(); w.Header().Get("Content-Type") != "font/woff2" || first > atFirst {
		t.Errorf("%d octets at first, want at most %d; %s is %s", first, atFirst, face,
			w.Header().Get("Content-Type"))
	}
	source, err := os.ReadFile("src/pages/index.ts")
	pages := regexp.MustCompile(`import\('\./(\w+)'\)`).FindAllSubmatch(source, -1)
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages come when they are opened; %v", len(pages), err)
	}
	for _, m := range pages {
		name := string(m[1])
		files, err := fs.Glob(dist, "dist/assets/"+name+"-????????.js.gz")
		if err != nil || len(files) == 0 || strings.Contains(text, "/"+name+"-") {
			t.Errorf("page %s has the files %v, and is loaded at first: %t; %v", name, files,
				strings.Contains(text, "/"+name+"-"), err)
		}
	}
}

// TestEncoding: a client gets gzip when it takes it, the plain file otherwise, and each by an ETag
// of its own.
func TestEncoding(t *testing.T) {
	plain, packed := get(t, "/"), get(t, "/", "Accept-Encoding", "br, gzip;q=0.5")
	unpacked, err := unpack(packed.Body.Bytes())
	if err != nil || !bytes.Equal(unpacked, plain.Body.Bytes()) ||
		packed.Header().Get("Content-Encoding") != "gzip" ||
		plain.Header().Get("Content-Encoding") != "" {
		t.Fatalf("%v; %v, %v", err, plain.Header(), packed.Header())
	}
	if plain.Header().Get("ETag") == packed.Header().Get("ETag") {
		t.Errorf("one ETag for two representations: %s", plain.Header().Get("ETag"))
	}
	for accept, want := range map[string]string{"": "", "br": "", "gzip": "gzip", "GZIP": "gzip",
		"*": "gzip", "gzip;q=0": "", "gzip; q=0.000": "", "gzip; q=0.001": "gzip",
		"identity, gzip ;q=1": "gzip"} {
		if got := get(t, "/", "Accept-Encoding", accept).Header().Get("Content-Encoding"); got != want {
			t.Errorf("Accept-Encoding %q: %q, want %q", accept, got, want)
		}
	}
	again := get(t, "/", "Accept-Encoding", "gzip", "If-None-Match", packed.Header().Get("ETag"))
	if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
		t.Errorf("If-None-Match: %d, %d octets", again.Code, again.Body.Len())
	}
}

// inputs are what determines the built files; build/sources.mjs has the same list.
var inputs = []string{"build", "index.html", "package-lock.json", "package.json", "src",
	"tsconfig.json", "vite.config.ts"}

// TestBuilt: the built files are small enough, and built from the present sources. "make web" makes
// them.
func TestBuilt(t *testing.T) {
	total := 0
	err := fs.WalkDir(dist, "dist", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		total += int(info.Size())
		return err
	})
	if err != nil || total > limit {
		t.Errorf("%d octets, want at most %d; %v", total, limit, err)
	}
	var files []string
	for _, input := range inputs {
		err := filepath.WalkDir(input, func(at string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() && !strings.HasSuffix(at, ".test.ts") &&
				!strings.HasSuffix(at, "/schema.d.ts") && !strings.HasSuffix(at, "api/kinds.ts") {
				files = append(files, filepath.ToSlash(at))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(files)
	sum := sha256.New()
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(sum, "%x  %s\n", sha256.Sum256(text), name)
	}
	want, err := fs.ReadFile(dist, "dist/sources.sha256")
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != strings.TrimSpace(string(want)) {
		t.Errorf("web/dist was built from other sources: run make web, and commit what it makes")
	}
}
