package nccl

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// NIC has the facts about a NIC.
type NIC struct {
	Rail  int // from 0
	Plane int // from 1; 0: it is in several
}

// attributes are those that Annotate sets.
var attributes = regexp.MustCompile(`\s+(?:rail|plane)\s*=\s*(?:"[^"]*"|'[^']*')`)

// Annotate returns a topology file of NCCL with the rails and planes of NICs, by the names of their
// devices in NCCL ("mlx5_0"). All else is as it was. A device that the file lacks is an error.
func Annotate(topology []byte, nics map[string]NIC) ([]byte, error) {
	d := xml.NewDecoder(bytes.NewReader(topology))
	var out bytes.Buffer
	found := make(map[string]bool)
	var names []string
	copied, root := int64(0), ""
	for {
		begin := d.InputOffset()
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("no topology of NCCL: %w", err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if root == "" {
			root = element.Name.Local
		}
		name := nameOf(&element)
		if element.Name.Local != "net" || name == "" {
			continue
		}
		names = append(names, name)
		nic, ok := nics[name]
		if !ok {
			continue
		}
		found[name] = true
		end := d.InputOffset()
		out.Write(topology[copied:begin])
		tag := attributes.ReplaceAll(topology[begin:end], nil)
		set := fmt.Sprintf(` rail="%d"`, nic.Rail)
		if nic.Plane > 0 {
			set += fmt.Sprintf(` plane="%d"`, nic.Plane)
		}
		out.WriteString("<net" + set)
		out.Write(bytes.TrimPrefix(tag, []byte("<net")))
		copied = end
	}
	if root != "system" {
		return nil, fmt.Errorf("no topology of NCCL: its root is %q: want system", root)
	}
	for _, name := range slices.Sorted(maps.Keys(nics)) {
		if !found[name] {
			return nil, fmt.Errorf("the topology has no net %q: want one of %s", name,
				strings.Join(names, ", "))
		}
	}
	out.Write(topology[copied:])
	return out.Bytes(), nil
}

func nameOf(e *xml.StartElement) string {
	for _, a := range e.Attr {
		if a.Name.Local == "name" {
			return a.Value
		}
	}
	return ""
}
