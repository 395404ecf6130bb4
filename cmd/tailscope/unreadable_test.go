//go:build unix

package main

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tailscope/tailscope/trace/tracetest"
)

// A file that may not be read is an error if it was named, and counted if it was
// found in a directory. Root may read everything, so the command runs as nobody
// if the test runs as root.
func TestUnreadableFile(t *testing.T) {
	dir, err := os.MkdirTemp("", "tailscope")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	spans, err := tracetest.OTLP("web GET /a 0..100ms server")
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "tailscope") // by this name the test binary is the command
	for _, err := range []error{
		os.Chmod(dir, 0o755),
		copyFile(bin, "/proc/self/exe"),
		os.WriteFile(filepath.Join(dir, "good.jsonl"), spans, 0o644),
		os.WriteFile(filepath.Join(dir, "secret.jsonl"), spans, 0o000),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	command := func(args ...string) (stdout, stderr string, code int) {
		c := exec.Command(bin, args...)
		c.Dir = "/"
		if os.Getuid() == 0 {
			c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		var out, errs strings.Builder
		c.Stdout, c.Stderr = &out, &errs
		err := c.Run()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		return out.String(), errs.String(), c.ProcessState.ExitCode()
	}

	secret := filepath.Join(dir, "secret.jsonl")
	out, errs, code := command("analyze", secret)
	if code != 2 || out != "" || !strings.Contains(errs, secret+": permission denied; make it readable") {
		t.Errorf("named: exit %d, stdout %q, stderr %q", code, out, errs)
	}
	out, errs, code = command("analyze", filepath.Join(dir, "*.jsonl"), "--format", "json")
	if code != 0 || errs != "" || !strings.Contains(out, `"errors_total": 1`) || !strings.Contains(out, `permission denied`) {
		t.Errorf("found: exit %d, stderr %q, stdout %q", code, errs, out)
	}
}

func copyFile(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		return err
	}
	return dst.Close()
}
