package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// leastMemory is the smallest bound: below it the program itself takes most.
const leastMemory = 128 << 20

// assumedMemory is the machine's where it does not tell.
const assumedMemory = 8 << 30

// parseSize reads a number of bytes: 512MiB, 2GiB, 500MB, 1G; a unit without an i
// is decimal only if it ends in B.
func parseSize(text string) (int64, error) {
	t := strings.ToLower(strings.TrimSpace(text))
	digits := strings.TrimRight(t, "bikmgt ")
	unit := strings.TrimSpace(t[len(digits):])
	factor := map[string]float64{
		"": 1, "b": 1,
		"k": 1 << 10, "kib": 1 << 10, "kb": 1e3, "m": 1 << 20, "mib": 1 << 20, "mb": 1e6,
		"g": 1 << 30, "gib": 1 << 30, "gb": 1e9, "t": 1 << 40, "tib": 1 << 40, "tb": 1e12,
	}[unit]
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil || factor == 0 || !(n > 0) || n*factor >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a size", text)
	}
	return int64(n * factor), nil
}

// sizeText is a size in the largest binary unit that leaves it whole, or nearly.
func sizeText(n int64) string {
	switch {
	case n >= 1<<30:
		return strconv.FormatFloat(math.Round(float64(n)/(1<<30)*10)/10, 'f', -1, 64) + "GiB"
	case n >= 1<<20:
		return strconv.FormatInt(n>>20, 10) + "MiB"
	}
	return strconv.FormatInt(n, 10)
}

// limitMemory has the garbage collector keep the process below a bound, together
// with what does not lie in its heap: the program's text, stacks, what the system
// caches for it. A GOMEMLIMIT of the user's that is smaller stays.
func limitMemory(n int64) {
	limit := n - max(n/16, 40<<20)
	if old := debug.SetMemoryLimit(-1); limit < old {
		debug.SetMemoryLimit(limit)
	}
}

// defaultMemory is half of what the machine has, or what this process' group may
// take, if that is less.
func defaultMemory() int64 {
	return max(machineMemory(os.DirFS("/"))/2, leastMemory)
}

// machineMemory reads the machine's memory and the limits of the process' control
// groups, versions 1 and 2, below root.
func machineMemory(root fs.FS) int64 {
	memory := int64(0)
	if f, err := root.Open("proc/meminfo"); err == nil {
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			if rest, ok := strings.CutPrefix(s.Text(), "MemTotal:"); ok {
				kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
				memory = kb << 10
				break
			}
		}
	}
	if memory <= 0 {
		memory = assumedMemory
	}
	limit := func(name string) {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			memory = min(memory, n)
		}
	}
	limit("sys/fs/cgroup/memory.max")
	limit("sys/fs/cgroup/memory/memory.limit_in_bytes")
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for _, line := range strings.Split(string(groups), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		base, name := "sys/fs/cgroup", "memory.max"
		if parts[1] == "memory" {
			base, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		} else if parts[1] != "" {
			continue
		}
		for at := path.Clean("/" + parts[2]); at != "/"; at = path.Dir(at) { // a parent's limit holds too
			limit(base + at + "/" + name)
		}
	}
	return memory
}
