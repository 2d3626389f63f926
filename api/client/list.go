package client

import (
	"context"
	"encoding/json"
	"net/url"
)

// pageSize is the longest page the API gives.
const pageSize = "1000"

// Items are the members of a list, as the server wrote them.
type Items struct {
	Items []json.RawMessage `json:"items"`
	// Stale is the staleness of the oldest page; nil: all pages have every change acknowledged before
	// the read.
	Stale *Stale `json:"-"`
}

// List reads a list, all its pages.
func (c *Client) List(ctx context.Context, path string, query url.Values) (*Items, error) {
	items := &Items{Items: []json.RawMessage{}}
	var page []json.RawMessage
	err := c.pages(ctx, path, query, &page, func(a *Answer) bool {
		if s := a.Stale(); s != nil && (items.Stale == nil || s.Age > items.Stale.Age) {
			items.Stale = s
		}
		items.Items = append(items.Items, page...)
		return true
	})
	if err != nil {
		return nil, err
	}
	return items, nil
}

// DecodeItems reads every item.
func DecodeItems[T any](items *Items) ([]T, error) {
	out := make([]T, len(items.Items))
	for i, raw := range items.Items {
		if err := (&Answer{Body: raw}).Decode(&out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}
