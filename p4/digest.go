package p4

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"strings"
)

// SourceDigest returns the SHA-256, in hex, over the names and contents of every .p4 file below
// dir, in the order of their names. fabric.digest holds that of the sources the committed
// program was compiled from.
func SourceDigest(dir fs.FS) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(dir, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".p4") {
			return err
		}
		text, err := fs.ReadFile(dir, path)
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s %d\n", path, len(text))
		sum.Write(text)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("p4: digest of the sources: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// valueName names an enum's value.
func valueName[T ~uint8 | ~uint16](names map[T]string, v T) string {
	if name, ok := names[v]; ok {
		return name
	}
	return fmt.Sprintf("%d", uint16(v))
}
