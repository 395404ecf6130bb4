package ingest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An InputError is input that cannot be used at all.
type InputError struct {
	Path    string // empty if it is not about one path
	Problem string
	Cure    string // what to do about it; may be empty
	Err     error  // the cause, if the system gave one
}

func (e *InputError) Error() string {
	s := e.Problem
	if e.Path != "" {
		s = e.Path + ": " + s
	}
	if e.Cure != "" {
		s += "; " + e.Cure
	}
	return s
}

func (e *InputError) Unwrap() error { return e.Err }

// Accepted names what can be read, for messages.
const Accepted = "OTLP JSON or protobuf (traces, metrics), Jaeger JSON, Zipkin JSON or Tempo JSON, plain or compressed with gzip or zstd"

// An input is one file to read.
type input struct {
	path  string
	size  int64 // 0 if unknown
	open  func() (io.ReadCloser, error)
	found bool // in a directory or by a glob, so that trouble with it is counted and not fatal
}

// expand is the files that paths stand for, each once, by path.
func expand(paths []string, o *Options, limits *Limits) ([]input, error) {
	if len(paths) == 0 {
		return nil, &InputError{Problem: "no input", Cure: "name a file, a directory, a glob or - for the standard input"}
	}
	byPath := map[string]input{}
	add := func(in input) error {
		key := filepath.Clean(in.path)
		if old, ok := byPath[key]; ok && !old.found {
			return nil
		}
		byPath[key] = in
		if len(byPath) > limits.Files {
			return &InputError{Problem: fmt.Sprintf("more than %d files", limits.Files), Cure: "name fewer"}
		}
		return nil
	}
	for _, p := range paths {
		if p == "-" {
			if o.Stdin == nil {
				return nil, &InputError{Path: "-", Problem: "there is no standard input"}
			}
			in := o.Stdin
			if err := add(input{path: p, open: func() (io.ReadCloser, error) { return io.NopCloser(in), nil }}); err != nil {
				return nil, err
			}
			continue
		}
		info, err := os.Stat(p)
		if errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(p, "*?[") {
			if err := expandGlob(p, add); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, unusable(p, err)
		}
		if info.IsDir() {
			if err := expandDir(p, add); err != nil {
				return nil, err
			}
			continue
		}
		f, err := os.Open(p)
		if err != nil {
			return nil, unusable(p, err)
		}
		in := input{path: p, size: info.Size(), open: func() (io.ReadCloser, error) { return os.Open(p) }}
		if info.Mode().IsRegular() {
			f.Close()
		} else { // a pipe can be opened once
			in.size = 0
			in.open = func() (io.ReadCloser, error) { return f, nil }
		}
		if err := add(in); err != nil {
			return nil, err
		}
	}
	inputs := make([]input, 0, len(byPath))
	for _, in := range byPath {
		inputs = append(inputs, in)
	}
	slices.SortFunc(inputs, func(a, b input) int { return strings.Compare(a.path, b.path) })
	return inputs, nil
}

func unusable(path string, err error) *InputError {
	e := &InputError{Path: path, Err: err, Problem: "cannot be read: " + cause(err)}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Problem, e.Cure = "no such file or directory", "check the path; quote a glob or give the directory"
	case errors.Is(err, fs.ErrPermission):
		e.Problem, e.Cure = "permission denied", "make it readable"
	}
	return e
}

// cause is an error without the path that the caller says anyway.
func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

func regular(path string, size int64) input {
	return input{path: path, size: size, found: true, open: func() (io.ReadCloser, error) { return os.Open(path) }}
}

func expandGlob(pattern string, add func(input) error) error {
	names, err := filepath.Glob(pattern)
	if err != nil {
		return &InputError{Path: pattern, Problem: "not a valid glob", Err: err}
	}
	n := 0
	for _, name := range names {
		info, err := os.Stat(name)
		if err == nil && info.IsDir() {
			if err := expandDir(name, add); err != nil {
				return err
			}
			n++
			continue
		}
		var size int64
		if err == nil {
			size = info.Size()
		}
		if err := add(regular(name, size)); err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		return &InputError{Path: pattern, Problem: "no file matches", Cure: "check the glob, or give the directory"}
	}
	return nil
}

// expandDir adds the files below a directory but hidden ones. A file or folder
// that cannot be looked at is counted when it is read.
func expandDir(dir string, add func(input) error) error {
	if _, err := os.ReadDir(dir); err != nil {
		return unusable(dir, err)
	}
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if path != dir && strings.HasPrefix(filepath.Base(path), ".") {
			if d != nil && d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		if err != nil {
			n++
			return add(input{path: path, found: true, open: func() (io.ReadCloser, error) { return nil, err }})
		}
		if d.IsDir() {
			return nil
		}
		info, err := os.Stat(path) // follows a link to a file
		if err == nil && !info.Mode().IsRegular() {
			return nil
		}
		n++
		var size int64
		if err == nil {
			size = info.Size()
		}
		return add(regular(path, size))
	})
	if err == nil && n == 0 {
		return &InputError{Path: dir, Problem: "the directory holds no files", Cure: "give one with " + Accepted}
	}
	return err
}

// nothingUsable says why nothing of the set can be analysed.
func nothingUsable(set *Set) *InputError {
	e := &InputError{Problem: "nothing to analyse: no spans and no metric points in the input", Cure: "give " + Accepted}
	if len(set.Files) == 1 {
		e.Path = set.Files[0].Path
	}
	for i := range set.Files {
		f := &set.Files[i]
		if len(f.Errors) == 0 {
			continue
		}
		first := f.Errors[0]
		e.Problem += ": "
		if e.Path == "" {
			e.Problem += f.Path + ": "
		}
		if first.Where != "" {
			e.Problem += first.Where + ": "
		}
		e.Problem += first.Message
		if strings.Contains(first.Message, Accepted) {
			e.Cure = ""
		}
		if n := set.errorsTotal() - 1; n > 0 {
			e.Problem += fmt.Sprintf(" (and %d more)", n)
		}
		return e
	}
	switch {
	case set.LogRecords > 0:
		e.Problem = fmt.Sprintf("only %d log records, which are not used", set.LogRecords)
	case len(set.Files) == 1 && set.Files[0].Format == "":
		e.Problem = "the input is empty"
	}
	return e
}

func (s *Set) errorsTotal() (n int64) {
	for i := range s.Files {
		n += s.Files[i].ErrorsTotal
	}
	return n
}
