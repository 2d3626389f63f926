package api

// List is one page of a list.
type List[T any] struct {
	Items    []T    `json:"items" doc:"Ordered by name or id where the operation names no other order."`
	Continue string `json:"continue,omitempty" doc:"Ask with this for the next page; absent on the last."`
}
