package queuewait

import "testing"

func TestReleasesOfASampleStandForAll(t *testing.T) {
	// Of 200 waits a tenth ended with a call that was kept too, where chance gives 1 %: with a tenth kept, all did.
	h := HandOver{Waits: 200, Share: 0.10, Chance: 0.01}
	if got := h.ofAll(0.1); got < 0.9 {
		t.Errorf("%.2f of all, want nearly all", got)
	}
	if got := h.ofAll(1); got != h.Excess() {
		t.Errorf("%.3f where all are kept, want what was seen: %.3f", got, h.Excess())
	}
	// The look-alikes: what chance gives, and too few to tell.
	for _, h := range []HandOver{{Waits: 200, Share: 0.10, Chance: 0.09}, {Waits: 20, Share: 0.10, Chance: 0}} {
		if got := h.ofAll(0.1); got != h.Excess() {
			t.Errorf("%+v is scaled to %.2f", h, got)
		}
	}
}
