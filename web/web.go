// Package web is the dashboard: the files that a browser loads, built from the TypeScript sources
// beside it by "make web" and committed in dist, so that nobody needs Node to build or install
// Weft. The dashboard asks the REST API for everything on a page.
package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed dist
var dist embed.FS

// policy is the Content-Security-Policy of the dashboard: files and API of the same server, and
// nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"font-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for " +
	"'script'; trusted-types 'none'"

// contentTypes has the types of the files that a build makes. The types of package mime depend on
// the machine.
var contentTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".woff2": "font/woff2",
}

// file is a file of the dashboard.
type file struct {
	name   string // its extension gives the type
	etag   string
	packed []byte // by gzip
}

// Handler returns a handler of GET and HEAD at / and below /assets/.
func Handler() http.Handler {
	files, err := load(dist)
	if err != nil {
		panic(err) // the files are in the binary: a test loads them
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve(w, r, files) })
}

// load returns the files of dist by their path on the server.
func load(dist fs.FS) (map[string]*file, error) {
	files := make(map[string]*file)
	err := fs.WalkDir(dist, "dist", func(at string, entry fs.DirEntry, err error) error {
		name, packed := strings.CutSuffix(at, ".gz")
		if err != nil || entry.IsDir() || !packed {
			return err
		}
		octets, err := fs.ReadFile(dist, at)
		if err != nil {
			return err
		}
		digest := sha256.Sum256(octets)
		f := &file{name: path.Base(name), etag: hex.EncodeToString(digest[:8]), packed: octets}
		files[strings.TrimPrefix(name, "dist")] = f
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("dashboard: %w", err)
	}
	index, ok := files["/index.html"]
	if !ok {
		return nil, fmt.Errorf("dashboard: dist has no index.html.gz")
	}
	delete(files, "/index.html")
	files["/"] = index
	return files, nil
}

func serve(w http.ResponseWriter, r *http.Request, files map[string]*file) {
	f := files[r.URL.Path]
	if f == nil {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Content-Type", contentTypes[path.Ext(f.name)])
	h.Set("Vary", "Accept-Encoding")
	// The name of an asset has its digest; the page that names the assets is asked for anew.
	if r.URL.Path == "/" {
		h.Set("Cache-Control", "no-cache")
	} else {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	content, etag := f.packed, f.etag+"-gzip"
	if acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
	} else {
		var err error
		if content, err = unpack(f.packed); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		etag = f.etag
	}
	h.Set("ETag", `"`+etag+`"`)
	h.Set("Accept-Ranges", "none")
	r.Header.Del("Range") // of a compressed form, a range means little
	http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(content))
}

// acceptsGzip reports whether a client takes gzip (RFC 9110, section 12.5.3).
func acceptsGzip(r *http.Request) bool {
	for _, value := range r.Header.Values("Accept-Encoding") {
		for item := range strings.SplitSeq(value, ",") {
			coding, weight, _ := strings.Cut(item, ";")
			coding = strings.TrimSpace(coding)
			weight = strings.ReplaceAll(weight, " ", "")
			refused := weight == "q=0" || strings.HasPrefix(weight, "q=0.") &&
				strings.Trim(weight[4:], "0") == ""
			if (strings.EqualFold(coding, "gzip") || coding == "*") && !refused {
				return true
			}
		}
	}
	return false
}

func unpack(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
