package html
import ("io";"errors";"github.com/tailscope/tailscope/report")
func Write(io.Writer, *report.Report) error { return errors.New("later") }
