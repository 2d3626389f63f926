//go:build linux

package uverbs

import (
	"slices"
	"testing"
	"time"

	"github.com/weft-sdn/weft/api/hostapi"
	"github.com/weft-sdn/weft/host/nic"
)

// TestSeen: the controller is told of the queue pairs of programs: their peer, profiles and hints.
func TestSeen(t *testing.T) {
	p, _ := chosen(t, func(a *app) {
		a.stev()
		a.explicit(7, 1001)
		if err := a.goTo(7, profileOnline); err != nil {
			t.Fatal(err)
		}
		a.must(opCtlModifyCC, nscc(5, maskState|ccAlgorithm|ccConfig, profileOffline), nil)
		a.must(opCtlModifyCC, nscc(5, maskState, profileOnline), nil)
	}, 7, 5)
	a := p.apps[0]
	h := hint{QPsPerPeer: 2, SendPeers: 3, RemoteReceivePeers: 1 << 30}
	a.must(opCreateHint, &h, &h)
	second := a.qp(p.qps[0].cq, nil)
	second.connect(1, p.qps[1].is.QPN)
	a.must(opModifyQP, &qpAttr{Handle: second.is.Handle, MRCMask: mrcHint, Hint: h.Handle}, nil)
	seen := func() (got []hostapi.QueuePairGroup) {
		_ = p.bed.do(func(time.Duration) { got = p.bed.nics[0].QueuePairs() })
		return got
	}
	key := func(profile, cc string, hints hostapi.QPHints) hostapi.QueuePairGroup {
		return hostapi.QueuePairGroup{Count: 1, QueuePairKey: hostapi.QueuePairKey{Peer: addr(1),
			Profile: profile, CC: cc, Hints: hints}}
	}
	want := []hostapi.QueuePairGroup{
		key("", "", hostapi.QPHints{QPsPerPeer: 2, SendPeers: 3, RemotePeers: hostapi.MaxQPHint}),
		key(nic.LocalName(7), nic.LocalName(5), hostapi.QPHints{})}
	if got := seen(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	a.must(opModifyQP, &qpAttr{Handle: second.is.Handle, Mask: attrState, State: stateError}, nil)
	if got := seen(); got[0].Failed != 1 {
		t.Errorf("%+v", got)
	}
	a.must(opDestroyQP, &object{second.is.Handle}, nil)
	if got := seen(); !slices.Equal(got, want[1:]) {
		t.Errorf("%+v, want %+v", got, want[1:])
	}
}
