package bgpls

import "errors"

var (
	// ErrConfig says that a Config or Peer has a value that cannot be used.
	ErrConfig = errors.New("bgpls: bad configuration")
	// ErrClosed says that the speaker has stopped.
	ErrClosed = errors.New("bgpls: speaker is closed")
	// ErrObject says that an object cannot be expressed in BGP-LS.
	ErrObject = errors.New("bgpls: object cannot be advertised")
	// errSetup says that GoBGP did not take up a session.
	errSetup = errors.New("bgpls: session is not taken up")
)
