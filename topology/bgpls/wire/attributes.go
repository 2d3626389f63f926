package wire

import "fmt"

// Attributes are the content of a BGP-LS Attribute. Which parts have a meaning
// depends on the NLRI it comes with.
type Attributes struct {
	Node   NodeAttributes
	Link   LinkAttributes
	Prefix PrefixAttributes
	SID    SIDAttributes
}

// ParseAttributes reads the value of a BGP-LS Attribute (type 29) and returns
// how many TLVs and sub-TLVs of it are not known. An error makes the whole
// attribute void.
func ParseAttributes(b []byte) (a *Attributes, unknown int, err error) {
	a = new(Attributes)
	for len(b) > 0 {
		typ, value, rest, err := nextTLV(b)
		if err != nil {
			return nil, unknown, err
		}
		b = rest
		known := false
		for _, parse := range [...]func(uint16, []byte, *int) (bool, error){
			a.Node.parse, a.Link.parse, a.Prefix.parse, a.SID.parse} {
			if known, err = parse(typ, value, &unknown); known {
				break
			}
		}
		if err != nil {
			return nil, unknown, fmt.Errorf("attribute: %w", err)
		}
		if !known {
			unknown++
		}
	}
	return a, unknown, nil
}

// Append appends the value of a BGP-LS Attribute.
func (a *Attributes) Append(b []byte) []byte {
	b = a.Node.append(b)
	b = a.Link.append(b)
	b = a.Prefix.append(b)
	return a.SID.append(b)
}
