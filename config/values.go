package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// A Duration is a time such as 300ms or 1.5s. Its unit is always stated.
type Duration time.Duration

func (d Duration) String() string { return time.Duration(d).String() }

// Milliseconds is d as a number.
func (d Duration) Milliseconds() float64 { return float64(d) / 1e6 }

// UnmarshalYAML reads a duration.
func (d *Duration) UnmarshalYAML(n ast.Node) error {
	text := scalar(n)
	v, err := time.ParseDuration(text)
	if err != nil || v < 0 {
		return at(n, fmt.Sprintf("%q is not a duration such as 300ms or 1.5s", text))
	}
	*d = Duration(v)
	return nil
}

// A Share is a part of a whole, 0 to 1; it is written as 8% or 0.08.
type Share float64

func (s Share) String() string {
	return strconv.FormatFloat(float64(s)*100, 'g', 6, 64) + "%"
}

// UnmarshalYAML reads a share.
func (s *Share) UnmarshalYAML(n ast.Node) error {
	text := scalar(n)
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) {
		return at(n, fmt.Sprintf("%q is not a share such as 8%% or 0.08", text))
	}
	*s = Share(v)
	return nil
}

// scalar is the text of a value as it stands in the file.
func scalar(n ast.Node) string {
	if s, ok := n.(ast.ScalarNode); ok {
		if t := s.GetToken(); t != nil {
			return t.Value
		}
	}
	return n.String()
}

// at is an error about a node.
func at(n ast.Node, message string) error {
	return &yaml.SyntaxError{Message: message, Token: n.GetToken()}
}
