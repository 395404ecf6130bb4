package text

import (
	"os"
	"testing"

	"github.com/tailscope/tailscope/report/reporttest"
)

func TestShow(t *testing.T) {
	f, _ := os.Create("/tmp/show/m.txt")
	Write(f, reporttest.Mercury(), Options{Width: 100})
	f, _ = os.Create("/tmp/show/m60.txt")
	Write(f, reporttest.Mercury(), Options{Width: 60})
	f, _ = os.Create("/tmp/show/m80.txt")
	Write(f, reporttest.Mercury(), Options{Width: 80})
	f, _ = os.Create("/tmp/show/m40.txt")
	Write(f, reporttest.Mercury(), Options{Width: 40})
	f, _ = os.Create("/tmp/show/t.txt")
	WriteTrace(f, reporttest.Trace(), Options{Width: 100})
	f, _ = os.Create("/tmp/show/wide.txt")
	WriteTrace(f, reporttest.WideTrace(120000), Options{Width: 100})
	f, _ = os.Create("/tmp/show/deep.txt")
	WriteTrace(f, reporttest.DeepTrace(20000), Options{Width: 100})
	f, _ = os.Create("/tmp/show/h.txt")
	WriteTrace(f, reporttest.HostileTrace(), Options{Width: 80})
	Write(f, reporttest.Hostile(), Options{Width: 80})
}
