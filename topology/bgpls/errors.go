package bgpls

import "errors"

var (
	// ErrConfig reports an unusable value in a Config or Peer.
	ErrConfig = errors.New("bgpls: bad configuration")
	// ErrClosed reports that the speaker has stopped.
	ErrClosed = errors.New("bgpls: speaker is closed")
	// ErrObject reports that an object cannot be expressed in BGP-LS.
	ErrObject = errors.New("bgpls: object cannot be advertised")
	// errSetup reports that GoBGP did not take up a session.
	errSetup = errors.New("bgpls: session is not taken up")
)
