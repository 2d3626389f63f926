package notification

import (
	"crypto/sha256"
	"encoding/hex"
)

// digest returns the SHA-256 of a text in hexadecimal digits.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
