package main

import (
	"testing"
	"testing/fstest"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"512MiB": 512 << 20, "2GiB": 2 << 30, "1.5g": 3 << 29, "300mb": 300e6, " 1 GB ": 1e9, "1T": 1 << 40, "200000000": 200e6, "64k": 64 << 10, "7b": 7,
	} {
		if got, err := parseSize(text); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1GiB", "0", "12XB", "1e300GiB", "nan", "inf", "1 2", "10%"} {
		if got, err := parseSize(text); err == nil {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func TestSizeText(t *testing.T) {
	for n, want := range map[int64]string{128 << 20: "128MiB", 3 << 29: "1.5GiB", 12 << 30: "12GiB", 1000: "1000"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// The least of the machine's memory and the limits of the process' group and of
// those that it is in.
func TestMachineMemory(t *testing.T) {
	const meminfo = "MemTotal:       16384 kB\nMemFree:  1 kB\n"
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		want  int64
	}{
		{"the machine says nothing", fstest.MapFS{}, assumedMemory},
		{"no groups", fstest.MapFS{"proc/meminfo": file(meminfo)}, 16 << 20},
		{"a container, version 2", fstest.MapFS{"proc/meminfo": file(meminfo), "sys/fs/cgroup/memory.max": file("8388608\n")}, 8 << 20},
		{"no limit", fstest.MapFS{"proc/meminfo": file(meminfo), "sys/fs/cgroup/memory.max": file("max\n")}, 16 << 20},
		{"a limit beyond the machine", fstest.MapFS{"proc/meminfo": file(meminfo), "sys/fs/cgroup/memory/memory.limit_in_bytes": file("9223372036854771712\n")}, 16 << 20},
		{"the parent's limit, version 2", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("0::/a/b\n"),
			"sys/fs/cgroup/a/memory.max": file("4194304\n"), "sys/fs/cgroup/a/b/memory.max": file("max\n"),
		}, 4 << 20},
		{"version 1", fstest.MapFS{
			"proc/meminfo": file(meminfo), "proc/self/cgroup": file("5:cpu:/x\n4:memory:/a\n"),
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes": file("2097152\n"), "sys/fs/cgroup/memory/x/memory.limit_in_bytes": file("1048576\n"),
		}, 2 << 20},
	} {
		if got := machineMemory(c.files); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
