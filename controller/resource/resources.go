package resource

// Resources are the resources of one kind as a core has them: Clients write S, and read R. Errors
// are *api.Error, and a change that is refused changes nothing.
type Resources[S, R any] interface {
	// List returns all, in the order of the kind.
	List() []R
	// Get returns the one with a name.
	Get(name string) (R, error)
	// Put creates a resource or replaces its spec. The spec that a resource has
	// already changes nothing, the version included.
	Put(name string, spec S, pre Precondition) (r R, created bool, err error)
	// Delete removes a resource that nothing refers to.
	Delete(name string, pre Precondition) error
}
