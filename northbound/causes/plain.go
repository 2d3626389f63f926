package causes

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/weft-sdn/weft/api"
	"github.com/weft-sdn/weft/internal/plain"
)

var humps = regexp.MustCompile(`([a-z])([A-Z])`)

// sentence writes an error, or the message of a condition, as a sentence.
func sentence(err string) string { return api.Sentence(plain.Text(err)) }

// words writes a reason of one word as words.
func words(reason string) string {
	return strings.ToLower(humps.ReplaceAllString(reason, "$1 $2"))
}

// Count writes a number of things; the noun is that of one.
func Count(n int, noun string) string {
	if n != 1 {
		switch {
		case noun == "more":
		case strings.HasSuffix(noun, "y"):
			noun = noun[:len(noun)-1] + "ies"
		case strings.HasSuffix(noun, "ch"), strings.HasSuffix(noun, "x"):
			noun += "es"
		case strings.Contains(noun, " of "):
			noun = strings.Replace(noun, " of ", "s of ", 1)
		default:
			noun += "s"
		}
	}
	return fmt.Sprintf("%d %s", n, noun)
}
